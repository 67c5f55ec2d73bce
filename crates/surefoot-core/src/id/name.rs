//! Names and keys as types: a text of one of these was checked at the border, and is not checked again further in.

use std::fmt;
use std::str::FromStr;

use super::time_ordered;
use crate::time::Timestamp;

/// A name or key that does not fit its bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty where at least one character is needed.
    #[error("{what} is empty; give 1 to {bytes_max} bytes")]
    Empty {
        /// Which name.
        what: &'static str,
        /// The limit in bytes.
        bytes_max: usize,
    },
    /// Longer than the limit.
    #[error(
        "{what} has {bytes} bytes, at most {bytes_max} are taken; shorten it or use a digest of it"
    )]
    TooLong {
        /// Which name.
        what: &'static str,
        /// How many bytes it had.
        bytes: usize,
        /// The limit in bytes.
        bytes_max: usize,
    },
    /// A character that the name must not hold.
    #[error("{what} holds the character {found:?} at byte {at}; use {allowed}")]
    Character {
        /// Which name.
        what: &'static str,
        /// The character.
        found: char,
        /// Its byte offset.
        at: usize,
        /// What is allowed, in words.
        allowed: &'static str,
    },
}

#[derive(Clone, Copy)]
enum Alphabet {
    /// Letters, digits and `_ . : / -`: safe in URLs, metrics labels and configuration keys.
    Word,
    /// Any character but control characters.
    Printable,
}

impl Alphabet {
    fn holds(self, c: char) -> bool {
        match self {
            Self::Word => c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '/' | '-'),
            Self::Printable => !c.is_control(),
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::Word => "letters, digits and _ . : / -",
            Self::Printable => "any character but control characters",
        }
    }
}

fn check(
    what: &'static str,
    text: &str,
    bytes_max: usize,
    alphabet: Alphabet,
) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what, bytes_max });
    }
    if text.len() > bytes_max {
        return Err(NameError::TooLong {
            what,
            bytes: text.len(),
            bytes_max,
        });
    }
    match text.char_indices().find(|(_, c)| !alphabet.holds(*c)) {
        Some((at, found)) => Err(NameError::Character {
            what,
            found,
            at,
            allowed: alphabet.in_words(),
        }),
        None => Ok(()),
    }
}

macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $what:literal, $bytes_max:literal, $alphabet:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The most bytes it may have.
            pub const BYTES_MAX: usize = $bytes_max;

            /// Checks the text.
            ///
            /// # Errors
            /// A [`NameError`] that says what is wrong with it and what is allowed.
            pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
                let text = text.into();
                check($what, &text, Self::BYTES_MAX, $alphabet)?;
                Ok(Self(text))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = NameError;

            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }
    };
}

checked_text!(
    /// Whose intent it is; part of its identity. 1 to 128 bytes of letters, digits and `_ . : / -`.
    Tenant, "tenant", 128, Alphabet::Word
);
checked_text!(
    /// What a job does, such as `refund` or `mail.send`. 1 to 128 bytes of letters, digits and `_ . : / -`.
    Kind, "kind", 128, Alphabet::Word
);
checked_text!(
    /// Where a job waits. 1 to 128 bytes of letters, digits and `_ . : / -`.
    Queue, "queue", 128, Alphabet::Word
);
checked_text!(
    /// Who runs an attempt: unique for each start of a node or pull worker. 1 to 128 bytes.
    Worker, "worker", 128, Alphabet::Word
);
checked_text!(
    /// What a handler calls one of its effects, such as `psp.refund`. 1 to 128 bytes.
    EffectName, "effect", 128, Alphabet::Word
);
checked_text!(
    /// Something that we call. 1 to 128 bytes of letters, digits and `_ . : / -`.
    DependencyName, "dependency", 128, Alphabet::Word
);
checked_text!(
    /// Who did something by hand. 1 to 128 printable bytes.
    Actor, "actor", 128, Alphabet::Printable
);
checked_text!(
    /// What makes an intent one intent: the same key is never started twice. 1 to 255 printable bytes.
    Key, "key", 255, Alphabet::Printable
);
checked_text!(
    /// Jobs of one order key run one at a time, messages are delivered one at a time, first in first out. 1 to 255 printable
    /// bytes.
    OrderKey, "order_key", 255, Alphabet::Printable
);
checked_text!(
    /// What a message is about, such as `order.paid`. 1 to 128 bytes of letters, digits and `_ . : / -`.
    Topic, "topic", 128, Alphabet::Word
);
checked_text!(
    /// Where messages are delivered to. 1 to 128 bytes of letters, digits and `_ . : / -`.
    SinkName, "sink", 128, Alphabet::Word
);
checked_text!(
    /// Where a message that was received came from. 1 to 128 bytes of letters, digits and `_ . : / -`.
    Source, "source", 128, Alphabet::Word
);
checked_text!(
    /// Who processes a message that was received. 1 to 128 bytes of letters, digits and `_ . : / -`.
    Consumer, "consumer", 128, Alphabet::Word
);
checked_text!(
    /// What makes a message one message: the same one, however often it is sent. 1 to 255 printable bytes.
    MessageId, "message id", 255, Alphabet::Printable
);
checked_text!(
    /// Jobs of one concurrency key share their kind's limit per key. 1 to 255 printable bytes.
    ConcurrencyKey, "concurrency_key", 255, Alphabet::Printable
);

impl Tenant {
    /// The tenant of a single-tenant installation: `default`.
    #[must_use]
    pub fn single() -> Self {
        Self("default".to_owned())
    }
}

impl Source {
    /// The outbox of the same database: `outbox`.
    #[must_use]
    pub fn outbox() -> Self {
        Self("outbox".to_owned())
    }
}

impl MessageId {
    /// An id from the time of its making and 10 random bytes: a UUID version 7, so ids of later messages sort later.
    #[must_use]
    pub fn made(now: Timestamp, random: [u8; 10]) -> Self {
        Self(time_ordered::uuid(now, random).to_string())
    }
}

impl Queue {
    /// The queue of a job that names none: `default`.
    #[must_use]
    pub fn standard() -> Self {
        Self("default".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_and_say_what_is_wrong() {
        let cases = [
            (
                Kind::new("").map(|_| ()),
                Some("kind is empty; give 1 to 128 bytes"),
            ),
            (Kind::new("mail.send").map(|_| ()), None),
            (
                Kind::new("mail send").map(|_| ()),
                Some("kind holds the character ' ' at byte 4; use letters, digits and _ . : / -"),
            ),
            (
                Key::new("a\0b").map(|_| ()),
                Some(
                    "key holds the character '\\0' at byte 1; use any character but control characters",
                ),
            ),
            (
                Key::new("k".repeat(256)).map(|_| ()),
                Some("key has 256 bytes, at most 255 are taken; shorten it or use a digest of it"),
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(result.err().map(|e| e.to_string()).as_deref(), expected);
        }
    }
}

//! Names, keys, ids and epochs as types: a value of one of these has been checked at the border.
//! Nothing here is trusted again further in, and nothing here is made from a clock or a generator.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

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
        Self(JobId::new(now, random).to_string())
    }
}

impl Queue {
    /// The queue of a job that names none: `default`.
    #[must_use]
    pub fn standard() -> Self {
        Self("default".to_owned())
    }
}

/// A job's id: a UUID version 7, so ids of later jobs sort later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(Uuid);

impl JobId {
    /// An id from the time of its making and 10 random bytes.
    #[must_use]
    pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
        let millis = u64::try_from(now.as_micros() / 1000).unwrap_or(0);
        Self(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid())
    }

    /// An id that was read from a store.
    #[must_use]
    pub const fn from_uuid(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// As a UUID.
    #[must_use]
    pub const fn as_uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl FromStr for JobId {
    type Err = JobIdError;

    fn from_str(text: &str) -> Result<Self, JobIdError> {
        Uuid::try_parse(text).map(Self).map_err(|_| JobIdError)
    }
}

/// A text that is not a job id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a job id; it looks like 01890a5d-ac96-774b-bcce-b302099a8057")]
pub struct JobIdError;

/// The number that fences every write made under a lease. It rises with each claim of the job, never falls
/// and is never given twice, so a write under an earlier lease can be told from one under the present lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);

impl Epoch {
    /// The epoch of a job that was never claimed.
    pub const NEVER: Self = Self(0);

    /// The epoch of the next claim.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The key that the engine gives to a provider for one job's effect. It stays the same over all attempts,
/// crashes and nodes; only a replay as a *new* effect changes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProviderKey(String);

impl ProviderKey {
    /// The key of a job's first effect in its generation (1 at first).
    #[must_use]
    pub fn of(job: JobId, generation: u32) -> Self {
        Self::of_effect(job, generation, 0)
    }

    /// The key of a job's effect at a place, counted from 0.
    #[must_use]
    pub fn of_effect(job: JobId, generation: u32, place: u32) -> Self {
        Self(match (generation, place) {
            (0 | 1, 0) => job.to_string(),
            (generation, 0) => format!("{job}.{generation}"),
            (generation, place) => format!("{job}.{generation}.{place}"),
        })
    }

    /// The job, the generation and the place of a key that was made here; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<(JobId, u32, u32)> {
        let mut parts = text.split('.');
        let job = parts.next()?.parse().ok()?;
        let mut number = |otherwise| match parts.next() {
            None => Some(otherwise),
            Some(digits) => digits.parse().ok(),
        };
        let (generation, place) = (number(1)?, number(0)?);
        (Self::of_effect(job, generation, place).as_str() == text)
            .then_some((job, generation, place))
    }

    /// The key as it travels, for example in `Idempotency-Key`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProviderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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

    #[test]
    fn ids_of_later_jobs_sort_later_and_read_back() {
        let early = JobId::new(Timestamp::from_micros(1_000_000), [0xff; 10]);
        let late = JobId::new(Timestamp::from_micros(1_001_000), [0; 10]);
        assert!(early < late);
        assert_eq!(early.to_string().parse(), Ok(early));
        assert_eq!("nonsense".parse::<JobId>(), Err(JobIdError));
    }

    #[test]
    fn a_provider_key_changes_only_with_its_generation() {
        let job = JobId::new(Timestamp::from_micros(0), [7; 10]);
        assert_eq!(ProviderKey::of(job, 1), ProviderKey::of(job, 1));
        assert_ne!(ProviderKey::of(job, 1), ProviderKey::of(job, 2));
    }

    #[test]
    fn a_provider_key_names_its_effect_and_reads_back() {
        let job = JobId::new(Timestamp::from_micros(0), [7; 10]);
        let places = [(1, 0), (2, 0), (1, 1), (3, 12)];
        for (generation, place) in places {
            let key = ProviderKey::of_effect(job, generation, place);
            assert_eq!(
                ProviderKey::parse(key.as_str()),
                Some((job, generation, place))
            );
        }
        for other in [
            "",
            "key",
            &format!("{job}.1"),
            &format!("{job}.2.0"),
            &format!("{job}.2.1.4"),
        ] {
            assert_eq!(ProviderKey::parse(other), None, "{other}");
        }
    }
}

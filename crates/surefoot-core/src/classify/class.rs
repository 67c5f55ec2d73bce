//! The two answers about a failed call. Their variants carry no data: the evidence stays with the
//! attempt that recorded it.

use std::fmt;

/// Whether the same work, done again later, may succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The fault is expected to pass: the work is tried again after a delay.
    Transient,
    /// The same work fails the same way each time: it waits for a person.
    Permanent,
    /// Nobody knows whether the work was done: it is verified before it is tried again.
    Unknown,
    /// The work was stopped on request; that is no fault of it.
    Cancelled,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Unknown => "unknown",
            Self::Cancelled => "cancelled",
        })
    }
}

/// What may have happened at the other end of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Certainty {
    /// No byte of the call left: the name did not resolve, nobody listened, or we held it back.
    NotSent,
    /// The other end refused the call before it took effect.
    Rejected,
    /// The call left and no answer proves either way: the only case that needs a witness.
    MaybeApplied,
    /// The other end answered that the call took effect.
    Applied,
}

impl Certainty {
    /// Whether the call can be sent again with no risk of a second effect.
    #[must_use]
    pub const fn is_harmless(self) -> bool {
        match self {
            Self::NotSent | Self::Rejected => true,
            Self::MaybeApplied | Self::Applied => false,
        }
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSent => "not_sent",
            Self::Rejected => "rejected",
            Self::MaybeApplied => "maybe_applied",
            Self::Applied => "applied",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_glossary_word() {
        for (certainty, word, harmless) in [
            (Certainty::NotSent, "not_sent", true),
            (Certainty::Rejected, "rejected", true),
            (Certainty::MaybeApplied, "maybe_applied", false),
            (Certainty::Applied, "applied", false),
        ] {
            assert_eq!(certainty.to_string(), word);
            assert_eq!(certainty.is_harmless(), harmless, "{word}");
        }
        for (class, word) in [
            (Class::Transient, "transient"),
            (Class::Permanent, "permanent"),
            (Class::Unknown, "unknown"),
            (Class::Cancelled, "cancelled"),
        ] {
            assert_eq!(class.to_string(), word);
        }
    }
}

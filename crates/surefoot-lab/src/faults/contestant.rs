//! Who is measured.

use serde::{Serialize, Serializer};

use crate::node::Recovery;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contestant {
    /// Surefoot, which asks the provider when it does not know.
    Verify,
    /// Surefoot, which never sends again and asks a person.
    AtMostOnce,
    /// The plain retrying loop.
    Plain,
}

impl Contestant {
    /// All of them, as they are told.
    pub const ALL: [Self; 3] = [Self::Verify, Self::AtMostOnce, Self::Plain];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::AtMostOnce => "at_most_once",
            Self::Plain => "plain",
        }
    }

    /// Its name, for people.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Verify => "Surefoot, verify",
            Self::AtMostOnce => "Surefoot, at_most_once",
            Self::Plain => "plain retrying loop",
        }
    }

    /// Whether it is the one that must not do anything wrong.
    #[must_use]
    pub const fn is_surefoot(self) -> bool {
        self.recovery().is_some()
    }

    pub(super) const fn recovery(self) -> Option<Recovery> {
        match self {
            Self::Verify => Some(Recovery::Verify),
            Self::AtMostOnce => Some(Recovery::AtMostOnce),
            Self::Plain => None,
        }
    }
}

impl Serialize for Contestant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

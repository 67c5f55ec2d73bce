//! The faults.

use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::provider::{Manners, Whim};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9` with calls in flight, then a restart.
    Kill,
    /// The provider applies the call and then says nothing until past the time-out.
    Silent,
    /// The provider applies the call and closes the connection.
    Dropped,
    /// The worker is stopped past its lease with calls in flight while another one lives, and goes on afterwards.
    Frozen,
    /// The same key is handed in again with another payload.
    SameKey,
}

impl Fault {
    /// All of them, as they are told.
    pub const ALL: [Self; 5] = [
        Self::Kill,
        Self::Silent,
        Self::Dropped,
        Self::Frozen,
        Self::SameKey,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Silent => "silent",
            Self::Dropped => "dropped",
            Self::Frozen => "frozen",
            Self::SameKey => "same_key",
        }
    }

    /// What happens, for people.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Kill => "(a) kill -9 with calls in flight, restart",
            Self::Silent => "(b) applied, then silent past the time-out",
            Self::Dropped => "(c) applied, then the connection dropped",
            Self::Frozen => "(d) worker stopped past its lease, another lives, continued",
            Self::SameKey => "(e) same key with another payload",
        }
    }

    /// What becomes of answers: the first call of each intent meets the fault, later ones are answered.
    pub(super) fn manners(self) -> Manners {
        let first = match self {
            Self::Kill | Self::Frozen => Whim::Hold,
            Self::Silent => Whim::Silent,
            Self::Dropped => Whim::Drop(Duration::ZERO),
            Self::SameKey => Whim::AT_ONCE,
        };
        Box::new(move |_, number| if number == 1 { first } else { Whim::AT_ONCE })
    }
}

impl Serialize for Fault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

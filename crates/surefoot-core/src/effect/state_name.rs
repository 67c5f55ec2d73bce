//! The words for the states of an effect. A state's data is with [`EffectState`](super::EffectState).

use super::{Effect, EffectState};

/// The word for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the state with the same name")]
pub enum EffectStateName {
    Intended,
    Confirmed,
    Rejected,
    Unknown,
    Absent,
    NeedsHuman,
}

impl EffectStateName {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Intended,
        Self::Confirmed,
        Self::Rejected,
        Self::Unknown,
        Self::Absent,
        Self::NeedsHuman,
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intended => "intended",
            Self::Confirmed => "confirmed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
            Self::Absent => "absent",
            Self::NeedsHuman => "needs_human",
        }
    }
}

impl EffectState {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> EffectStateName {
        match self {
            Self::Intended { .. } => EffectStateName::Intended,
            Self::Confirmed { .. } => EffectStateName::Confirmed,
            Self::Rejected { .. } => EffectStateName::Rejected,
            Self::Unknown { .. } => EffectStateName::Unknown,
            Self::Absent { .. } => EffectStateName::Absent,
            Self::NeedsHuman { .. } => EffectStateName::NeedsHuman,
        }
    }

    /// The word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.name().as_str()
    }
}

impl Effect {
    /// The name of its state; what a person ordered to send once more is as unknown as before.
    #[must_use]
    pub const fn state_name(&self) -> EffectStateName {
        match self.state.name() {
            EffectStateName::Absent if self.in_doubt => EffectStateName::Unknown,
            name @ (EffectStateName::Intended
            | EffectStateName::Confirmed
            | EffectStateName::Rejected
            | EffectStateName::Unknown
            | EffectStateName::Absent
            | EffectStateName::NeedsHuman) => name,
        }
    }
}

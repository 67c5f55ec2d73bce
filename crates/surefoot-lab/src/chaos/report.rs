//! What a run came to.

use serde::Serialize;

use crate::count::Count;

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct ChaosReport {
    /// What it was drawn from.
    pub seed: u64,
    /// How often a node was killed.
    pub kills: usize,
    /// How many nodes there were.
    pub nodes: usize,
    /// Attempts whose holder was lost.
    pub attempts_lost: usize,
    /// Calls that took effect and were never answered.
    pub unanswered: usize,
    /// Look-ups that the provider was asked.
    pub asked: usize,
    /// Attempts without a record of how they ended.
    pub attempts_unrecorded: usize,
    /// By recovery.
    pub recoveries: Vec<RecoveryReport>,
    /// The intents that are not as they should be, at most [`WRONG_MAX`](Self::WRONG_MAX).
    pub wrong: Vec<String>,
}

/// What came of the intents with one recovery.
#[derive(Clone, Debug, Serialize)]
pub struct RecoveryReport {
    /// The recovery.
    pub recovery: &'static str,
    /// How many intents were acknowledged.
    pub intents: usize,
    /// What came of them.
    #[serde(flatten)]
    pub count: Count,
}

impl ChaosReport {
    /// How many intents are told by name.
    pub const WRONG_MAX: usize = 20;

    /// Whether every intent is as it should be.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.wrong.is_empty()
            && self.attempts_unrecorded == 0
            && self
                .recoveries
                .iter()
                .all(|recovery| recovery.count.is_clean())
    }
}

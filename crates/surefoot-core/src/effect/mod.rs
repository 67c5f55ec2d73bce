//! One external side effect of a job, from the intention to a known outcome. A row of it is durable before its call
//! leaves, and what follows from each piece of news is decided here: [`begin`] before a call, [`answered`] after it,
//! [`asked`] after a verification, [`witnessed`] when somebody else knows. Stores only keep what was decided, under the
//! effect's version. Nothing here sends, waits or reads a clock.
//!
//! A `step` is a local computation in the same table: it is only ever confirmed, and its result is kept.

mod answer;
mod begin;
mod doubt;
mod state_name;
mod terms;
mod verdict;

pub use answer::{Answer, answered};
pub use begin::{Begin, Declared, begin, remembered};
pub use doubt::{Doubt, doubt};
pub use state_name::EffectStateName;
pub use terms::{EffectRecovery, EffectTerms, VerifyPlan};
pub use verdict::{Asked, Verdict, Witnessed, asked, permitted, witnessed};

use crate::id::{Actor, DependencyName, EffectName, Epoch, JobId, ProviderKey};
use crate::payload::Payload;
use crate::port::By;
use crate::text::ErrorText;
use crate::time::Timestamp;

/// The most effects and steps of one job.
pub const EFFECTS_MAX: u32 = 1000;

/// The most disputes that one effect keeps, the first ones.
pub const DISPUTES_MAX: usize = 10;

/// What is on record about one effect of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Whose it is.
    pub job: JobId,
    /// Which of the job's effects, counted from 0 in the order in which the handler comes to them.
    pub place: u32,
    /// Its name in the handler, such as `psp.refund`.
    pub name: EffectName,
    /// What it calls, where that has a name.
    pub dependency: Option<DependencyName>,
    /// The job's generation in which its key was made.
    pub generation: u32,
    /// What its author declared when it was last begun.
    pub terms: EffectTerms,
    /// 1 when it is first written, one more with each change; a write that does not follow on the stored one is
    /// refused.
    pub version: u32,
    /// How many calls may have left under its key.
    pub sends: u32,
    /// When the first call under its key may have left: the provider's key retention counts from here.
    pub first_sent_at: Option<Timestamp>,
    /// No call that was begun so far leaves after this.
    pub leaves_by: Option<Timestamp>,
    /// A call under its key may have been applied and no witness has said what became of it.
    pub in_doubt: bool,
    /// How many verifications were asked since it is in doubt.
    pub asked: u32,
    /// What it costs.
    pub cost: Cost,
    /// What is known of it.
    pub state: EffectState,
    /// Witnesses that came later and said something else.
    pub disputes: Vec<Dispute>,
}

/// What is known of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectState {
    /// A call is about to leave or on its way, under this lease.
    Intended {
        /// The lease.
        epoch: Epoch,
        /// Since when.
        at: Timestamp,
    },
    /// It happened. It is never called again: this result is returned.
    Confirmed {
        /// Since when that is known.
        at: Timestamp,
        /// What the provider answered.
        result: Payload,
        /// Who said so.
        by: Witness,
    },
    /// The provider refused it: it did not happen.
    Rejected {
        /// When.
        at: Timestamp,
        /// What the provider said.
        error: ErrorText,
    },
    /// It may have happened.
    Unknown {
        /// Since when.
        since: Timestamp,
        /// When to ask what became of it.
        ask_at: Timestamp,
        /// Why nobody knows.
        error: ErrorText,
    },
    /// It did not happen: it is safe to send, under the same key. Or, while [`Effect::in_doubt`], a person ordered to send
    /// it once more, whatever became of it.
    Absent {
        /// Since when.
        at: Timestamp,
        /// Who said so.
        by: Witness,
    },
    /// It may have happened, and no question is left to ask: a person decides.
    NeedsHuman {
        /// Since when.
        since: Timestamp,
        /// Why.
        error: ErrorText,
    },
}

impl Effect {
    /// The key that the provider sees: the engine's, the same on every attempt.
    #[must_use]
    pub fn key(&self) -> ProviderKey {
        ProviderKey::of_effect(self.job, self.generation, self.place)
    }

    /// Whether it may have happened and no witness has said so or otherwise.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        match self.state {
            EffectState::Intended { .. }
            | EffectState::Unknown { .. }
            | EffectState::NeedsHuman { .. } => true,
            EffectState::Absent { .. } => self.in_doubt,
            EffectState::Confirmed { .. } | EffectState::Rejected { .. } => false,
        }
    }

    /// The same effect, changed once.
    fn next(&self, state: EffectState) -> Self {
        Self {
            version: self.version.saturating_add(1),
            state,
            ..self.clone()
        }
    }
}

/// Who says what became of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witness {
    /// The provider's answer to the call itself, or the handler's own result of a step.
    Answer,
    /// The provider's answer to a verification.
    Query,
    /// A webhook or another caller that the provider told.
    Caller(Actor),
    /// A person, with the reason.
    Person(By),
}

/// What an effect costs, in millionths of the account's currency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Booked when the call leaves, and booked for as long as it may have happened.
    pub reserved: u64,
    /// What it cost in the end; 0 once it is known that it did not happen.
    pub settled: Option<u64>,
    /// What earlier calls may have cost that were never heard of again. Only where each call is paid for by itself
    /// ([`EffectRecovery::Repeatable`]): under one key a provider charges once.
    pub earlier: u64,
}

impl Cost {
    /// What is booked at present: an unknown outcome is never free.
    #[must_use]
    pub fn booked(self) -> u64 {
        self.settled
            .unwrap_or(self.reserved)
            .saturating_add(self.earlier)
    }
}

/// A witness that came too late and said something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispute {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Witness,
    /// What was said.
    pub said: ErrorText,
}

#[cfg(test)]
mod tests;

//! What the call itself said.

use super::{Cost, Effect, EffectState, Witness};
use crate::payload::Payload;
use crate::text::ErrorText;
use crate::time::Timestamp;

/// What is known after a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was applied.
    Applied {
        /// What the provider answered.
        result: Payload,
        /// What it cost, where that is known.
        cost: Option<u64>,
    },
    /// The provider refused it before it did anything.
    Rejected(ErrorText),
    /// Nothing left: no connection, an open breaker, no room in the lease.
    NotSent(ErrorText),
    /// It may have been applied: a time-out, a reset after bytes left.
    MaybeApplied(ErrorText),
}

/// The effect after the call that [`begin`](super::begin) let leave. `left_at` is when it really left, where the caller
/// knows; nothing of it leaves later.
#[must_use]
pub fn answered(
    effect: &Effect,
    answer: Answer,
    left_at: Option<Timestamp>,
    now: Timestamp,
) -> Effect {
    // An earlier holder that was never heard of again may still send until the time that is on record.
    let only_call = effect.sends <= 1;
    let landed = Effect {
        leaves_by: left_at.filter(|_| only_call).or(effect.leaves_by),
        ..effect.clone()
    };
    match answer {
        Answer::Applied { result, cost } => landed.confirmed(result, cost, Witness::Answer, now),
        Answer::Rejected(error) if effect.in_doubt => landed.unknown(error, now),
        Answer::Rejected(error) => Effect {
            cost: free(effect.cost),
            ..landed.next(EffectState::Rejected { at: now, error })
        },
        Answer::NotSent(error) if effect.in_doubt => Effect {
            sends: effect.sends.saturating_sub(1),
            ..landed.unknown(error, now)
        },
        Answer::NotSent(_) => {
            let sends = effect.sends.saturating_sub(1);
            Effect {
                sends,
                first_sent_at: landed.first_sent_at.filter(|_| sends > 0),
                cost: free(effect.cost),
                ..landed.next(EffectState::Absent {
                    at: now,
                    by: Witness::Answer,
                })
            }
        }
        Answer::MaybeApplied(error) => landed.unknown(error, now),
    }
}

pub(super) const fn free(cost: Cost) -> Cost {
    Cost {
        settled: Some(0),
        ..cost
    }
}

impl Effect {
    pub(super) fn confirmed(
        &self,
        result: Payload,
        cost: Option<u64>,
        by: Witness,
        now: Timestamp,
    ) -> Self {
        Self {
            in_doubt: false,
            cost: Cost {
                settled: Some(cost.unwrap_or(self.cost.reserved)),
                ..self.cost
            },
            ..self.next(EffectState::Confirmed {
                at: now,
                result,
                by,
            })
        }
    }

    /// In doubt, where a second call would matter; the first question may be asked at once.
    pub(super) fn unknown(&self, error: ErrorText, now: Timestamp) -> Self {
        let ask_at = now;
        Self {
            in_doubt: self.terms.recovery.second_call_matters(),
            ..self.next(EffectState::Unknown {
                since: now,
                ask_at,
                error,
            })
        }
    }
}

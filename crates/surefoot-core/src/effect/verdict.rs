//! What a witness said: the provider when it was asked, a webhook, a person. The first one counts.

use super::answer::free;
use super::{DISPUTES_MAX, Dispute, Effect, EffectRecovery, EffectState, VerifyPlan, Witness};
use crate::payload::{Payload, PayloadError};
use crate::port::By;
use crate::text::ErrorText;
use crate::time::{Roll, Timestamp};
use serde::Serialize;
use std::time::Duration;

/// The answer of a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It happened, with this result.
    Happened {
        /// What the provider has on record.
        result: Payload,
        /// What it cost, where that is known.
        cost: Option<u64>,
    },
    /// The provider knows nothing of it.
    DidNotHappen,
    /// The provider cannot say yet.
    StillUnknown {
        /// When to ask again at the earliest; `None` leaves it to the plan.
        ask_again_in: Option<Duration>,
    },
    /// Only a person can tell.
    NeedsHuman(ErrorText),
}

impl Verdict {
    /// It happened, with this result.
    ///
    /// # Errors
    /// The result has no JSON form or is too large.
    pub fn happened<T: Serialize + ?Sized>(result: &T) -> Result<Self, PayloadError> {
        Ok(Self::Happened {
            result: Payload::from_serialize(result)?,
            cost: None,
        })
    }

    /// Every word of [`Verdict::as_str`].
    pub const WORDS: [&'static str; 4] =
        ["happened", "did_not_happen", "still_unknown", "needs_human"];

    /// The word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Happened { .. } => "happened",
            Self::DidNotHappen => "did_not_happen",
            Self::StillUnknown { .. } => "still_unknown",
            Self::NeedsHuman(_) => "needs_human",
        }
    }
}

/// What follows from a verification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It happened: return this result.
    Return(Payload),
    /// It did not happen: it may be sent, under the same key.
    Send,
    /// Ask again at this time.
    AskAt(Timestamp, ErrorText),
    /// A person decides.
    Person(ErrorText),
}

/// The effect after a verification that was asked at `asked_at` and answered at `now`, and what follows. What a provider
/// did not find it looked up when it was asked, or later: only of that time does it say anything.
#[must_use]
pub fn asked(
    effect: &Effect,
    verdict: Verdict,
    plan: &VerifyPlan,
    asked_at: Timestamp,
    now: Timestamp,
    roll: Roll,
) -> (Effect, Asked) {
    match verdict {
        Verdict::Happened { result, cost } => {
            let effect = effect.confirmed(result.clone(), cost, Witness::Query, now);
            (effect, Asked::Return(result))
        }
        Verdict::DidNotHappen if asked_at >= effect.settles_at() => {
            (effect.absent(Witness::Query, now), Asked::Send)
        }
        Verdict::DidNotHappen => {
            let until = effect.settles_at().since(now);
            effect.ask_again(
                Some(until),
                "not there yet; it could still take effect",
                plan,
                now,
                roll,
            )
        }
        Verdict::StillUnknown { ask_again_in } => effect.ask_again(
            ask_again_in,
            "the provider cannot say what became of it",
            plan,
            now,
            roll,
        ),
        Verdict::NeedsHuman(error) => {
            let effect = effect.needs_human(error.clone(), now);
            (effect, Asked::Person(error))
        }
    }
}

/// What became of the word of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Witnessed {
    /// Write this down: it settles the effect.
    Settled(Box<Effect>),
    /// Another witness said the same before.
    Same,
    /// Write this down: another witness said something else before, and a person is alerted.
    Disputed(Box<Effect>),
    /// A call may still be on its way, or still take effect: say it again after this time.
    TooEarly(Timestamp),
    /// A witness says what happened; this verdict says nothing.
    NoVerdict,
}

/// What follows from the word of somebody who was not asked.
#[must_use]
pub fn witnessed(effect: &Effect, verdict: &Verdict, by: Witness, now: Timestamp) -> Witnessed {
    match (verdict, &effect.state) {
        (Verdict::StillUnknown { .. } | Verdict::NeedsHuman(_), _) => Witnessed::NoVerdict,
        // Witnesses rarely have the very same document; what counts is that it happened.
        (Verdict::Happened { .. }, EffectState::Confirmed { .. }) => Witnessed::Same,
        (Verdict::DidNotHappen, EffectState::Absent { .. } | EffectState::Rejected { .. })
            if !effect.in_doubt =>
        {
            Witnessed::Same
        }
        (Verdict::DidNotHappen, EffectState::Confirmed { .. }) => Witnessed::Disputed(Box::new(
            effect.disputed(effect.state.clone(), verdict, by, now),
        )),
        (Verdict::Happened { .. }, EffectState::Absent { .. } | EffectState::Rejected { .. })
            if !effect.in_doubt =>
        {
            // It must not be sent again on the strength of a word that is in dispute.
            let error =
                ErrorText::from("one witness said that it did not happen, a later one that it did");
            let state = EffectState::NeedsHuman { since: now, error };
            Witnessed::Disputed(Box::new(effect.disputed(state, verdict, by, now)))
        }
        (
            Verdict::Happened { result, cost },
            EffectState::Intended { .. }
            | EffectState::Unknown { .. }
            | EffectState::NeedsHuman { .. }
            | EffectState::Absent { .. }
            | EffectState::Rejected { .. },
        ) => Witnessed::Settled(Box::new(effect.confirmed(result.clone(), *cost, by, now))),
        (
            Verdict::DidNotHappen,
            EffectState::Intended { .. }
            | EffectState::Unknown { .. }
            | EffectState::NeedsHuman { .. }
            | EffectState::Absent { .. }
            | EffectState::Rejected { .. },
        ) => match effect.settles_at().max(effect.landed_from()) {
            until if until > now => Witnessed::TooEarly(until),
            _ => Witnessed::Settled(Box::new(effect.absent(by, now))),
        },
    }
}

/// The effect after a person ordered to go on with it as the same one; `None` when that is not in question. Where the
/// provider can be asked it is asked, by a fresh plan. Else it is sent once more under the same key, and stays in doubt:
/// the order says nothing about what happened.
#[must_use]
pub fn permitted(effect: &Effect, by: By, now: Timestamp) -> Option<Effect> {
    match (&effect.state, effect.terms.recovery) {
        (EffectState::NeedsHuman { error, .. }, EffectRecovery::Verify { .. }) => Some(Effect {
            asked: 0,
            ..effect.next(EffectState::Unknown {
                since: now,
                ask_at: now,
                error: error.clone(),
            })
        }),
        (EffectState::NeedsHuman { .. }, _)
        | (
            EffectState::Unknown { .. } | EffectState::Intended { .. },
            EffectRecovery::AtMostOnce,
        ) => Some(Effect {
            in_doubt: true,
            asked: 0,
            ..effect.next(EffectState::Absent {
                at: now,
                by: Witness::Person(by),
            })
        }),
        (
            EffectState::Unknown { .. }
            | EffectState::Intended { .. }
            | EffectState::Confirmed { .. }
            | EffectState::Rejected { .. }
            | EffectState::Absent { .. },
            _,
        ) => None,
    }
}

impl Effect {
    /// From when on a "did not happen" counts.
    #[must_use]
    pub fn settles_at(&self) -> Timestamp {
        let (Some(leaves_by), settles_within) = (self.leaves_by, self.terms.settles_within())
        else {
            return Timestamp::MIN;
        };
        leaves_by.after(settles_within)
    }

    /// From when on nothing that was begun is on its way any more. When the next question is due says nothing about that.
    fn landed_from(&self) -> Timestamp {
        match self.state {
            EffectState::Intended { .. } => self.ask_from(),
            EffectState::Unknown { .. }
            | EffectState::NeedsHuman { .. }
            | EffectState::Confirmed { .. }
            | EffectState::Rejected { .. }
            | EffectState::Absent { .. } => Timestamp::MIN,
        }
    }

    /// Since when nobody knows; `None` where it is known.
    #[must_use]
    pub const fn open_since(&self) -> Option<Timestamp> {
        match &self.state {
            EffectState::Intended { at, .. } => Some(*at),
            EffectState::Unknown { since, .. } | EffectState::NeedsHuman { since, .. } => {
                Some(*since)
            }
            EffectState::Confirmed { .. }
            | EffectState::Rejected { .. }
            | EffectState::Absent { .. } => None,
        }
    }

    fn absent(&self, by: Witness, now: Timestamp) -> Self {
        Self {
            in_doubt: false,
            asked: 0,
            cost: free(self.cost),
            ..self.next(EffectState::Absent { at: now, by })
        }
    }

    fn needs_human(&self, error: ErrorText, now: Timestamp) -> Self {
        Self {
            in_doubt: true,
            ..self.next(EffectState::NeedsHuman { since: now, error })
        }
    }

    fn ask_again(
        &self,
        ask_again_in: Option<Duration>,
        why: &str,
        plan: &VerifyPlan,
        now: Timestamp,
        roll: Roll,
    ) -> (Self, Asked) {
        let asked = self.asked.saturating_add(1);
        let since = self.open_since().unwrap_or(now);
        let planned = plan.backoff.delay(asked, None, roll);
        let ask_at = now.after(ask_again_in.unwrap_or_default().max(planned));
        if asked >= plan.asks_max || ask_at > since.after(plan.give_up_after) {
            let error = ErrorText::from(format!("{why}, after {asked} questions"));
            let next = Self {
                asked,
                ..self.needs_human(error.clone(), now)
            };
            return (next, Asked::Person(error));
        }
        let error: ErrorText = why.into();
        let state = EffectState::Unknown {
            since,
            ask_at,
            error: error.clone(),
        };
        let next = Self {
            asked,
            in_doubt: true,
            ..self.next(state)
        };
        (next, Asked::AskAt(ask_at, error))
    }

    fn disputed(&self, state: EffectState, verdict: &Verdict, by: Witness, now: Timestamp) -> Self {
        let mut disputed = self.next(state);
        if disputed.disputes.len() < DISPUTES_MAX {
            disputed.disputes.push(Dispute {
                at: now,
                by,
                said: verdict.as_str().into(),
            });
        }
        disputed
    }
}

//! What a handler may do when it comes to an effect.

use super::{Cost, Effect, EffectRecovery, EffectState, EffectTerms, Witness};
use crate::id::{DependencyName, EffectName, Epoch};
use crate::job::LeasedJob;
use crate::payload::Payload;
use crate::text::ErrorText;
use crate::time::Timestamp;

/// An effect as the handler declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// Which of the job's effects, in the order in which the handler comes to them.
    pub place: u32,
    /// Its name.
    pub name: EffectName,
    /// What it calls, where that has a name.
    pub dependency: Option<DependencyName>,
    /// How it is carried out.
    pub terms: EffectTerms,
    /// What it may cost.
    pub cost: u64,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Write this down, then send.
    Send(Box<Effect>),
    /// It happened: return its result.
    Return(Payload),
    /// Ask the provider what became of it.
    Ask(Box<Effect>),
    /// Ask the provider, but not before this time: what is on its way has to land first.
    AskAt(Timestamp, ErrorText),
    /// A person decides.
    Person(ErrorText),
    /// The job was begun by other code: it had another effect at this place, of this name.
    Changed(EffectName),
}

/// Decides what to do about an effect whose record is `known`, if there is one. `leaves_by` is the latest time at which
/// the call may leave: the lease still has room then for its whole time-out.
#[must_use]
pub fn begin(
    known: Option<&Effect>,
    declared: &Declared,
    job: &LeasedJob,
    leaves_by: Timestamp,
    now: Timestamp,
) -> Begin {
    let Some(effect) = known else {
        return Begin::Send(Box::new(first(declared, job, leaves_by, now)));
    };
    if effect.name != declared.name {
        return Begin::Changed(effect.name.clone());
    }
    match &effect.state {
        EffectState::Confirmed { result, .. } => Begin::Return(result.clone()),
        // A person asked for a new effect, under a new key.
        _ if effect.generation < job.generation => {
            let renewed = first(declared, job, leaves_by, now);
            Begin::Send(Box::new(Effect {
                version: effect.version.saturating_add(1),
                disputes: effect.disputes.clone(),
                ..renewed
            }))
        }
        // What stays in doubt here is what a person ordered to send once more.
        EffectState::Rejected { .. } | EffectState::Absent { .. } => {
            Begin::Send(Box::new(again(effect, declared, job, leaves_by, now)))
        }
        EffectState::NeedsHuman { error, .. } => Begin::Person(error.clone()),
        EffectState::Intended { .. } | EffectState::Unknown { .. } => {
            doubtful(effect, declared, job, leaves_by, now)
        }
    }
}

/// The record of a step that was computed: it is written once, with its result.
#[must_use]
pub fn remembered(declared: &Declared, job: &LeasedJob, result: Payload, now: Timestamp) -> Effect {
    Effect {
        sends: 0,
        first_sent_at: None,
        leaves_by: None,
        cost: Cost {
            reserved: declared.cost,
            settled: Some(declared.cost),
            earlier: 0,
        },
        state: EffectState::Confirmed {
            at: now,
            result,
            by: Witness::Answer,
        },
        ..first(declared, job, now, now)
    }
}

fn doubtful(
    effect: &Effect,
    declared: &Declared,
    job: &LeasedJob,
    leaves_by: Timestamp,
    now: Timestamp,
) -> Begin {
    match declared.terms.recovery {
        EffectRecovery::Step | EffectRecovery::Repeatable => {
            Begin::Send(Box::new(again(effect, declared, job, leaves_by, now)))
        }
        EffectRecovery::AtMostOnce => Begin::Person(effect.why_unknown()),
        EffectRecovery::SameKey { ttl } => {
            let kept_until = match (ttl, effect.first_sent_at) {
                (Some(ttl), Some(first)) => first.after(ttl),
                (None, _) | (_, None) => Timestamp::MAX,
            };
            // The call may leave as late as `leaves_by` and take its whole time-out to arrive, and the provider must still
            // know the key then.
            if leaves_by.after(declared.terms.timeout) < kept_until {
                Begin::Send(Box::new(again(effect, declared, job, leaves_by, now)))
            } else {
                Begin::Person(
                    format!(
                        "{}; the provider may have forgotten the key, so it cannot be sent again",
                        effect.why_unknown()
                    )
                    .into(),
                )
            }
        }
        EffectRecovery::Verify { .. } => match effect.ask_from() {
            from if from > now => Begin::AskAt(from, effect.why_unknown()),
            _ => Begin::Ask(Box::new(effect.clone())),
        },
    }
}

fn first(declared: &Declared, job: &LeasedJob, leaves_by: Timestamp, now: Timestamp) -> Effect {
    Effect {
        job: job.id,
        place: declared.place,
        name: declared.name.clone(),
        dependency: declared.dependency.clone(),
        generation: job.generation,
        terms: declared.terms,
        version: 1,
        sends: 1,
        first_sent_at: Some(now),
        leaves_by: Some(leaves_by),
        in_doubt: false,
        asked: 0,
        cost: Cost {
            reserved: declared.cost,
            settled: None,
            earlier: 0,
        },
        state: intended(job.state.epoch, now),
        disputes: Vec::new(),
    }
}

/// The same effect, sent once more under the same key.
fn again(
    effect: &Effect,
    declared: &Declared,
    job: &LeasedJob,
    leaves_by: Timestamp,
    now: Timestamp,
) -> Effect {
    Effect {
        terms: declared.terms,
        sends: effect.sends.saturating_add(1),
        first_sent_at: effect.first_sent_at.or(Some(now)),
        leaves_by: effect.leaves_by.max(Some(leaves_by)),
        in_doubt: declared.terms.recovery.second_call_matters()
            && (effect.in_doubt || effect.is_open()),
        cost: cost_again(effect, declared),
        ..effect.next(intended(job.state.epoch, now))
    }
}

/// Under one key a provider charges once, however often it is called. What may simply be repeated is paid for each time,
/// so a call of which nobody heard stays booked beside the next one.
fn cost_again(effect: &Effect, declared: &Declared) -> Cost {
    let Cost {
        reserved, earlier, ..
    } = effect.cost;
    match declared.terms.recovery {
        EffectRecovery::Repeatable if effect.is_open() => Cost {
            reserved: declared.cost,
            settled: None,
            earlier: earlier.saturating_add(reserved),
        },
        EffectRecovery::Repeatable => Cost {
            reserved: declared.cost,
            settled: None,
            earlier,
        },
        EffectRecovery::Step
        | EffectRecovery::Verify { .. }
        | EffectRecovery::SameKey { .. }
        | EffectRecovery::AtMostOnce => Cost {
            reserved: declared.cost.max(reserved),
            settled: None,
            earlier,
        },
    }
}

fn intended(epoch: Epoch, now: Timestamp) -> EffectState {
    EffectState::Intended { epoch, at: now }
}

impl Effect {
    /// When a verification may be asked at the earliest: what was begun has left by then and its time-out is over, and
    /// the last question said not to ask before.
    #[must_use]
    pub fn ask_from(&self) -> Timestamp {
        match (&self.state, self.leaves_by) {
            (EffectState::Intended { .. }, Some(leaves_by)) => leaves_by
                .after(self.terms.timeout)
                .after(EffectTerms::MARGIN),
            (EffectState::Unknown { ask_at, .. }, _) => *ask_at,
            (
                EffectState::Intended { .. }
                | EffectState::Confirmed { .. }
                | EffectState::Rejected { .. }
                | EffectState::Absent { .. }
                | EffectState::NeedsHuman { .. },
                _,
            ) => Timestamp::MIN,
        }
    }

    pub(super) fn why_unknown(&self) -> ErrorText {
        match &self.state {
            EffectState::Unknown { error, .. } | EffectState::NeedsHuman { error, .. } => {
                error.clone()
            }
            EffectState::Intended { .. }
            | EffectState::Confirmed { .. }
            | EffectState::Rejected { .. }
            | EffectState::Absent { .. } => {
                format!("{} was on its way when its holder was lost", self.name).into()
            }
        }
    }
}

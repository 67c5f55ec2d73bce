//! A worker: where it stands between two steps, and what it holds there. Between any two of them it may be frozen for any
//! time, crash, or find that its lease is gone. It decides nothing that the core decides.

use surefoot_core::effect::{Effect, EffectState};
use surefoot_core::id::Epoch;
use surefoot_core::job::LeasedJob;
use surefoot_core::settle::{Next, Settlement};
use surefoot_core::time::Timestamp;

use super::provider::Fate;

/// Where a worker stands.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// It holds nothing.
    Idle,
    /// It claimed the job and has not looked at its effect.
    Claimed(LeasedJob),
    /// It will write this intention down, then call.
    Intending(LeasedJob, Effect),
    /// The intention is durable and the call may leave.
    Intended(LeasedJob, Effect),
    /// It looked at the clock for the last time, and was told to go. Only where a freeze here is part of the model.
    Cleared(LeasedJob, Effect),
    /// Its call left.
    Calling(LeasedJob, Effect, Call),
    /// It will ask the provider what became of an earlier call.
    Asking(LeasedJob, Effect),
    /// It will write down what it heard, and then go on.
    Telling(LeasedJob, Effect, Then),
    /// It will settle an attempt: its own, or one that it found lost.
    Settling(Settlement),
}

/// A call that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) left_at: Timestamp,
    pub(super) fate: Fate,
}

/// What a worker does after it wrote down what it heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The handler returns the result of the effect.
    Succeed,
    /// The handler fails, in a way that may pass.
    Fail,
    /// The handler fails, in a way that does not pass.
    FailForGood,
    /// The handler says that nobody knows.
    Doubt,
    /// The handler swallows the doubt and returns a result.
    Swallow,
    /// The handler asked only, and nobody knows yet.
    StillUnknown,
    /// It looks at the effect again: it may be sent.
    Again,
}

impl Stage {
    /// The epoch under which the worker acts.
    pub(super) fn epoch(&self) -> Option<Epoch> {
        match self {
            Self::Settling(settlement) => Some(settlement.fence.epoch),
            other => other.job().map(|job| job.state.epoch),
        }
    }

    /// The job that it runs, as it knows it.
    pub(super) fn job(&self) -> Option<&LeasedJob> {
        match self {
            Self::Idle | Self::Settling(_) => None,
            Self::Claimed(job)
            | Self::Intending(job, _)
            | Self::Intended(job, _)
            | Self::Cleared(job, _)
            | Self::Calling(job, ..)
            | Self::Asking(job, _)
            | Self::Telling(job, ..) => Some(job),
        }
    }

    /// The same, to be changed.
    pub(super) fn job_mut(&mut self) -> Option<&mut LeasedJob> {
        match self {
            Self::Idle | Self::Settling(_) => None,
            Self::Claimed(job)
            | Self::Intending(job, _)
            | Self::Intended(job, _)
            | Self::Cleared(job, _)
            | Self::Calling(job, ..)
            | Self::Asking(job, _)
            | Self::Telling(job, ..) => Some(job),
        }
    }

    fn effect(&self) -> Option<&Effect> {
        match self {
            Self::Idle | Self::Claimed(_) | Self::Settling(_) => None,
            Self::Intending(_, effect)
            | Self::Intended(_, effect)
            | Self::Cleared(_, effect)
            | Self::Calling(_, effect, _)
            | Self::Asking(_, effect)
            | Self::Telling(_, effect, _) => Some(effect),
        }
    }

    /// What tells one worker from another that would do something else. Under a stale epoch that is only whether its call
    /// may still leave: its writes are refused, whatever they say.
    pub(super) fn print(&self, record: &OnRecord, relative: &Relative) -> Vec<i64> {
        let stale = self.epoch().is_some_and(|own| own != record.epoch);
        let mut print = vec![self.place(), i64::from(stale)];
        if stale {
            if let Self::Intended(_, effect) | Self::Cleared(_, effect) = self {
                print.push(
                    effect
                        .leaves_by
                        .map_or(i64::MIN, |time| relative.call(time)),
                );
            }
            return print;
        }
        print.push(i64::from(
            self.job().is_some_and(|job| job.state.cancel_requested),
        ));
        if let Some(effect) = self.effect() {
            print_effect(effect, record.epoch, record.version, relative, &mut print);
        }
        match self {
            Self::Idle
            | Self::Claimed(_)
            | Self::Intending(..)
            | Self::Intended(..)
            | Self::Cleared(..)
            | Self::Asking(..) => {}
            Self::Calling(_, _, call) => {
                let (kind, after) = match call.fate {
                    Fate::Lands(after) => (0, i64::from(after)),
                    Fate::Refused => (1, 0),
                    Fate::Vanishes => (2, 0),
                    Fate::NotSent => (3, 0),
                };
                print.extend([relative.call(call.left_at), kind, after]);
            }
            Self::Telling(_, _, then) => print.push(*then as i64),
            Self::Settling(settlement) => {
                print_settlement(settlement, relative, record.lease_until, &mut print);
            }
        }
        print
    }

    const fn place(&self) -> i64 {
        match self {
            Self::Idle => 0,
            Self::Claimed(_) => 1,
            Self::Intending(..) => 2,
            Self::Intended(..) => 3,
            Self::Cleared(..) => 4,
            Self::Calling(..) => 5,
            Self::Asking(..) => 6,
            Self::Telling(..) => 7,
            Self::Settling(_) => 8,
        }
    }
}

/// What is on record that a worker's own knowledge is compared with.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnRecord {
    /// The epoch of the latest claim.
    pub(super) epoch: Epoch,
    /// The effect's version.
    pub(super) version: u32,
    /// The end of the lease, while there is one.
    pub(super) lease_until: Option<Timestamp>,
}

/// Times as they matter: how far from now, in microseconds, and alike when they are longer past than anything that is
/// compared with them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relative {
    pub(super) now: Timestamp,
    /// How long ago a first call may have been sent and still matter, in microseconds: the time a provider keeps keys.
    pub(super) keys_kept: i64,
}

impl Relative {
    /// How long ago a call may have left and still matter: longer than every `settles_within` and every time-out with
    /// its margin, in microseconds.
    const CALLS_KEPT: i64 = 4_000_000;

    /// A time that matters only until it comes.
    pub(super) fn due(self, time: Timestamp) -> i64 {
        self.back_to(time, 0)
    }

    /// The end of a lease, which has lapsed when it is earlier than now.
    pub(super) fn lease(self, time: Timestamp) -> i64 {
        self.back_to(time, 1_000_000)
    }

    /// When a call left, or leaves at the latest.
    pub(super) fn call(self, time: Timestamp) -> i64 {
        self.back_to(time, Self::CALLS_KEPT)
    }

    /// When a key was first used.
    pub(super) fn key(self, time: Option<Timestamp>) -> i64 {
        time.map_or(i64::MIN, |time| self.back_to(time, self.keys_kept))
    }

    fn back_to(self, time: Timestamp, longest: i64) -> i64 {
        (time.as_micros() - self.now.as_micros()).max(-longest)
    }
}

pub(super) fn print_effect(
    effect: &Effect,
    epoch: Epoch,
    version: u32,
    relative: &Relative,
    into: &mut Vec<i64>,
) {
    let (word, detail) = match &effect.state {
        EffectState::Intended { epoch: under, .. } => (0, i64::from(*under != epoch)),
        EffectState::Confirmed { .. } => (1, 0),
        EffectState::Rejected { .. } => (2, 0),
        EffectState::Unknown { ask_at, .. } => (3, relative.due(*ask_at)),
        EffectState::Absent { .. } => (4, 0),
        EffectState::NeedsHuman { .. } => (5, 0),
    };
    let leaves_by = effect
        .leaves_by
        .map_or(i64::MIN, |time| relative.call(time));
    into.extend([
        word,
        detail,
        i64::from(effect.version) - i64::from(version),
        i64::from(effect.sends),
        i64::from(effect.asked),
        i64::from(effect.in_doubt),
        relative.key(effect.first_sent_at),
        leaves_by,
        i64::try_from(effect.disputes.len()).unwrap_or(i64::MAX),
    ]);
}

fn print_settlement(
    settlement: &Settlement,
    relative: &Relative,
    lease_until: Option<Timestamp>,
    into: &mut Vec<i64>,
) {
    let lapsed = settlement.fence.lapsed_before;
    let holds = lapsed.is_none_or(|lapsed| lease_until.is_some_and(|until| until < lapsed));
    let (word, due) = match &settlement.next {
        Next::Pending { due_at } => (0, relative.due(*due_at)),
        Next::Retrying { due_at, .. } => (1, relative.due(*due_at)),
        Next::Verifying { due_at, .. } => (2, relative.due(*due_at)),
        Next::Succeeded { .. } => (3, 0),
        Next::Dead(death) => (4 + death.reason as i64, 0),
        Next::Cancelled { .. } => (3, 1),
    };
    into.extend([
        word,
        due,
        i64::from(lapsed.is_some()),
        i64::from(holds),
        settlement.outcome as i64,
        i64::from(settlement.counts.failed),
        i64::from(settlement.counts.crashed),
        i64::from(settlement.counts.unknown),
    ]);
}

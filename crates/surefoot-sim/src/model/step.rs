//! The steps that are possible in a state: what each worker may do next, what may go wrong with it, and what happens
//! around them.

use surefoot_core::job::JobState;
use surefoot_core::time::Timestamp;

use super::provider::Fate;
use super::setup::{Setup, ticks};
use super::worker::{Call, Stage};
use super::world::World;

/// One step. `worker` is its place among the workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A tick of time passes.
    Tick,
    /// A worker claims the job; where `lost`, it never hears that it did.
    Claim {
        /// Who.
        worker: usize,
        /// Whether the answer is lost.
        lost: bool,
    },
    /// A worker looks at the effect on record and has the core decide.
    Look {
        /// Who.
        worker: usize,
    },
    /// A worker writes; where `lost`, the write takes effect and the worker tries again.
    Write {
        /// Who.
        worker: usize,
        /// Whether the answer is lost.
        lost: bool,
    },
    /// A worker looks at the clock and lets its call leave, or does not.
    Send {
        /// Who.
        worker: usize,
        /// What becomes of the call.
        meets: Fate,
    },
    /// A worker looks at the clock for the last time before its call leaves.
    Clear {
        /// Who.
        worker: usize,
    },
    /// The answer to a call arrives.
    Answer {
        /// Who waits for it.
        worker: usize,
    },
    /// A worker gives its call up: a time-out, or the connection is gone.
    GiveUp {
        /// Who.
        worker: usize,
        /// Whether its handler returns a result all the same.
        swallows: bool,
    },
    /// A worker asks the provider.
    Ask {
        /// Who.
        worker: usize,
        /// Whether the provider answers.
        answered: bool,
    },
    /// A worker extends its lease.
    Beat {
        /// Who.
        worker: usize,
    },
    /// A worker loses all it holds.
    Crash {
        /// Who.
        worker: usize,
    },
    /// A worker finds the lease lapsed and decides what follows.
    Reap {
        /// Who.
        worker: usize,
    },
    /// A webhook says what the provider knows at present.
    Hook,
    /// Somebody asks to cancel the job.
    Cancel,
}

/// Every step that is possible.
pub(super) fn possible(setup: &Setup, world: &World, into: &mut Vec<Step>) {
    if world.is_over() {
        return;
    }
    into.push(Step::Tick);
    for worker in 0..world.workers.len() {
        of_worker(setup, world, worker, into);
    }
    if world.record.effect.is_some() && world.memory.hooks < setup.hooks_max {
        into.push(Step::Hook);
    }
    if setup.cancels && !world.memory.cancelled && !world.record.job.state.name().is_settled() {
        into.push(Step::Cancel);
    }
}

fn of_worker(setup: &Setup, world: &World, worker: usize, into: &mut Vec<Step>) {
    let stage = &world.workers[worker];
    if matches!(stage, Stage::Idle) {
        into.extend(of_idle(world, worker));
        return;
    }
    match stage {
        Stage::Idle => {}
        Stage::Claimed(_) => into.push(Step::Look { worker }),
        Stage::Intending(..) | Stage::Telling(..) | Stage::Settling(_) => {
            into.extend([false, true].map(|lost| Step::Write { worker, lost }));
        }
        Stage::Intended(..) if setup.limits.freeze_before_the_first_byte => {
            into.push(Step::Clear { worker });
        }
        Stage::Intended(..) | Stage::Cleared(..) => {
            into.extend(calls(setup).map(|meets| Step::Send { worker, meets }));
        }
        Stage::Calling(_, _, call) => {
            if answered(call, world.now) {
                into.push(Step::Answer { worker });
            }
            into.extend([false, true].map(|swallows| Step::GiveUp { worker, swallows }));
        }
        Stage::Asking(..) => {
            into.extend([true, false].map(|answered| Step::Ask { worker, answered }));
        }
    }
    into.push(Step::Crash { worker });
    if may_beat(setup, world, stage) {
        into.push(Step::Beat { worker });
    }
}

pub(super) fn of_idle(world: &World, worker: usize) -> Vec<Step> {
    match &world.record.job.state {
        JobState::Pending { due_at }
        | JobState::Retrying { due_at, .. }
        | JobState::Verifying { due_at, .. }
            if *due_at <= world.now =>
        {
            [false, true]
                .map(|lost| Step::Claim { worker, lost })
                .to_vec()
        }
        JobState::Running(run) if run.lease_until < world.now => vec![Step::Reap { worker }],
        JobState::Pending { .. }
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Running(_)
        | JobState::Succeeded { .. }
        | JobState::Dead(_)
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => Vec::new(),
    }
}

fn calls(setup: &Setup) -> impl Iterator<Item = Fate> {
    (0..=setup.lands_within()).map(Fate::Lands).chain([
        Fate::Refused,
        Fate::Vanishes,
        Fate::NotSent,
    ])
}

/// Whether the provider has answered a call by now.
pub(super) fn answered(call: &Call, now: Timestamp) -> bool {
    match call.fate {
        Fate::Lands(after) => now >= call.left_at.after(ticks(after)),
        Fate::Refused | Fate::NotSent => true,
        Fate::Vanishes => false,
    }
}

/// A heartbeat comes when half of the lease is over; a stale one comes to be refused.
fn may_beat(setup: &Setup, world: &World, stage: &Stage) -> bool {
    let (Some(job), JobState::Running(run)) = (stage.job(), &world.record.job.state) else {
        return false;
    };
    job.state.epoch != run.epoch || run.lease_until <= world.now.after(setup.lease() / 2)
}

//! All that a [`MemoryStore`](super::MemoryStore) remembers. A row is one job with its records, from its enqueue
//! until it leaves history.

use std::collections::BTreeMap;

use surefoot_core::effect::Effect;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Attempt, Job, JobState, Run};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Action, ActionVerb, By, Pause, Revision};
use surefoot_core::settle::Fence;
use surefoot_core::time::Timestamp;

use super::messages::MessageTable;
use super::requests::RequestTable;

#[derive(Clone, Default)]
pub(super) struct Table {
    pub(super) rows: BTreeMap<JobId, Row>,
    pub(super) keys: BTreeMap<(Tenant, Kind, Key), JobId>,
    pub(super) pauses: BTreeMap<Queue, Pause>,
    pub(super) messages: MessageTable,
    pub(super) requests: RequestTable,
    pub(super) arrivals: u64,
}

#[derive(Clone)]
pub(super) struct Row {
    pub(super) job: Job,
    /// The job's place in the order of enqueuing.
    pub(super) arrival: u64,
    /// What was enqueued, which an edit does not change: it is what a repeated key is compared with.
    pub(super) original: Payload,
    /// The epoch of the latest claim.
    pub(super) epoch: Epoch,
    /// Somebody asked to cancel the job while it waits and an effect of it may have happened.
    pub(super) stop_asked: bool,
    pub(super) effects: BTreeMap<u32, Effect>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) revisions: Vec<Revision>,
    pub(super) actions: Vec<Action>,
}

impl Row {
    /// The lease, when the job is running.
    pub(super) fn run(&self) -> Option<&Run> {
        match &self.job.state {
            JobState::Running(run) => Some(run),
            JobState::Pending { .. }
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Succeeded { .. }
            | JobState::Dead(_)
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. } => None,
        }
    }

    /// The same, to be changed.
    pub(super) fn run_mut(&mut self) -> Option<&mut Run> {
        match &mut self.job.state {
            JobState::Running(run) => Some(run),
            JobState::Pending { .. }
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Succeeded { .. }
            | JobState::Dead(_)
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. } => None,
        }
    }

    /// When the job is due, while it waits.
    pub(super) fn waits_until(&self) -> Option<Timestamp> {
        match &self.job.state {
            JobState::Pending { due_at }
            | JobState::Retrying { due_at, .. }
            | JobState::Verifying { due_at, .. } => Some(*due_at),
            JobState::Running(_)
            | JobState::Succeeded { .. }
            | JobState::Dead(_)
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. } => None,
        }
    }

    /// When the job came to its final state, if it did.
    pub(super) fn finished_at(&self) -> Option<Timestamp> {
        match &self.job.state {
            JobState::Succeeded { at, .. }
            | JobState::Cancelled { at, .. }
            | JobState::Ignored { at, .. } => Some(*at),
            JobState::Pending { .. }
            | JobState::Running(_)
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Dead(_) => None,
        }
    }

    /// Whether the job runs under this epoch and, where the fence says so, its lease ended.
    pub(super) fn holds(&self, fence: Fence) -> bool {
        self.run().is_some_and(|run| {
            run.epoch == fence.epoch
                && fence
                    .lapsed_before
                    .is_none_or(|time| run.lease_until < time)
        })
    }

    pub(super) fn act(&mut self, verb: ActionVerb, by: &By, now: Timestamp) {
        self.actions.push(Action {
            verb,
            at: now,
            by: by.clone(),
        });
    }
}

//! Leases and their ends: settle, extend, lapsed, expire. Every write here asks for the epoch first.

use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{AttemptOutcome, JobState, LeasedJob};
use surefoot_core::port::{ExpiredJob, Extended, Extension, Settled};
use surefoot_core::settle::{Next, Settlement, expired};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::table::{Row, Table};

impl Table {
    pub(super) fn settle(&mut self, settlement: &Settlement) -> Settled {
        let Some(row) = self.rows.get_mut(&settlement.job) else {
            return Settled::Stale;
        };
        if row.holds(settlement.fence) {
            row.end(settlement);
            Settled::Applied
        } else if row.ended_so(settlement) {
            Settled::Already
        } else {
            Settled::Stale
        }
    }

    pub(super) fn extend(&mut self, extension: &Extension) -> Extended {
        let run = self.rows.get_mut(&extension.job).and_then(Row::run_mut);
        let Some(run) = run.filter(|run| run.epoch == extension.epoch) else {
            return Extended::Lost;
        };
        run.lease_until = run.lease_until.max(extension.until);
        Extended::Held {
            until: run.lease_until,
            cancel_requested: run.cancel_requested,
        }
    }

    pub(super) fn late(&mut self, job: JobId, epoch: Epoch, said: &ErrorText) -> bool {
        let attempts = self
            .rows
            .get_mut(&job)
            .map(|row| row.attempts.as_mut_slice());
        let lost = attempts.unwrap_or_default().iter_mut().find(|attempt| {
            attempt.epoch == epoch && attempt.outcome == Some(AttemptOutcome::Lost)
        });
        let Some(attempt) = lost else { return false };
        attempt.late.get_or_insert_with(|| said.clone());
        true
    }

    pub(super) fn lapsed(&self, now: Timestamp, limit: u32) -> Vec<LeasedJob> {
        let running = self
            .rows
            .values()
            .filter_map(|row| row.job.clone().into_leased().ok());
        let mut lapsed: Vec<_> = running.filter(|job| job.state.lease_until < now).collect();
        lapsed.sort_by_key(|job| (job.state.lease_until, job.id));
        lapsed.truncate(limit as usize);
        lapsed
    }

    pub(super) fn expire(&mut self, now: Timestamp, limit: u32) -> Vec<ExpiredJob> {
        let over = |row: &&mut Row| {
            matches!(
                row.job.state,
                JobState::Pending { .. } | JobState::Retrying { .. }
            ) && row.job.deadline_at.is_some_and(|deadline| deadline <= now)
        };
        let mut all = Vec::new();
        for row in self.rows.values_mut().filter(over).take(limit as usize) {
            let unknown = row.job.counts.unknown;
            let death = expired(&row.job.kind, unknown, last_error(&row.job.state), now);
            all.push(ExpiredJob {
                job: row.job.id,
                kind: row.job.kind.clone(),
                reason: death.reason,
            });
            row.job.state = JobState::Dead(death);
        }
        all
    }
}

impl Row {
    fn end(&mut self, settlement: &Settlement) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.ended_at = Some(settlement.ended_at);
            attempt.outcome = Some(settlement.outcome);
            attempt.error.clone_from(&settlement.error);
        }
        self.job.counts = settlement.counts;
        let asked_to_stop =
            matches!(&self.job.state, JobState::Running(run) if run.cancel_requested);
        let waits = matches!(
            settlement.next,
            Next::Pending { .. } | Next::Retrying { .. } | Next::Verifying { .. }
        );
        self.stop_asked = waits && asked_to_stop;
        let withdrawn = asked_to_stop && settlement.counts.unknown == 0;
        self.job.state = match settlement.next.clone() {
            Next::Pending { .. } | Next::Retrying { .. } if withdrawn => JobState::Cancelled {
                at: settlement.ended_at,
                reason: settlement
                    .error
                    .clone()
                    .unwrap_or_else(|| "cancelled on request".into()),
            },
            Next::Pending { due_at } => JobState::Pending { due_at },
            Next::Retrying { due_at, error } => JobState::Retrying { due_at, error },
            Next::Verifying { due_at, error } => JobState::Verifying { due_at, error },
            Next::Succeeded { at, result } => JobState::Succeeded { at, result },
            Next::Dead(death) => JobState::Dead(death),
            Next::Cancelled { at, reason } => JobState::Cancelled { at, reason },
        };
    }

    fn ended_so(&self, settlement: &Settlement) -> bool {
        let same = |outcome: Option<AttemptOutcome>| outcome == Some(settlement.outcome);
        self.attempts
            .iter()
            .any(|attempt| attempt.epoch == settlement.fence.epoch && same(attempt.outcome))
    }
}

fn last_error(state: &JobState) -> Option<&ErrorText> {
    match state {
        JobState::Retrying { error, .. } => Some(error),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Verifying { .. }
        | JobState::Succeeded { .. }
        | JobState::Dead(_)
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => None,
    }
}

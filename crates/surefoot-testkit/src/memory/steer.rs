//! What people do to jobs: cancel, replay, ignore, edit. Each order that changes something leaves an action.

use surefoot_core::id::JobId;
use surefoot_core::job::{Counts, Death, JobState};
use surefoot_core::payload::Payload;
use surefoot_core::port::{ActionVerb, By, Cancelled, Replay, ReplayEffect, Revision, Steered};
use surefoot_core::time::Timestamp;

use super::table::{Row, Table};

impl Table {
    pub(super) fn cancel(&mut self, job: JobId, by: &By, now: Timestamp) -> Cancelled {
        let Some(row) = self.rows.get_mut(&job) else {
            return Cancelled::NotFound;
        };
        match &mut row.job.state {
            JobState::Pending { .. } | JobState::Retrying { .. } if row.job.counts.unknown == 0 => {
                row.job.state = JobState::Cancelled {
                    at: now,
                    reason: by.reason.clone(),
                };
                row.act(ActionVerb::Cancel, by, now);
                Cancelled::Done
            }
            JobState::Running(run) => {
                if !std::mem::replace(&mut run.cancel_requested, true) {
                    row.act(ActionVerb::Cancel, by, now);
                }
                Cancelled::Requested
            }
            JobState::Pending { .. } | JobState::Retrying { .. } | JobState::Verifying { .. } => {
                if !std::mem::replace(&mut row.stop_asked, true) {
                    row.act(ActionVerb::Cancel, by, now);
                }
                Cancelled::Requested
            }
            JobState::Succeeded { .. }
            | JobState::Dead(_)
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. } => Cancelled::Refused(row.job.state.name()),
        }
    }

    pub(super) fn replay(&mut self, job: JobId, replay: &Replay, now: Timestamp) -> Steered {
        let (row, death) = match self.dead(job) {
            Ok(found) => found,
            Err(refusal) => return refusal,
        };
        let verb = match replay.effect {
            None if death.reason.needs_effect_choice() => return Steered::NeedsEffectChoice,
            None | Some(ReplayEffect::Same) => ActionVerb::Replay,
            Some(ReplayEffect::New) => {
                row.job.generation += 1;
                ActionVerb::ReplayNew
            }
        };
        row.job.counts = Counts {
            starts: row.job.counts.starts,
            unknown: if replay.effect == Some(ReplayEffect::New) {
                0
            } else {
                row.job.counts.unknown
            },
            ..Counts::default()
        };
        row.stop_asked = false;
        row.job.deadline_at = row.job.deadline_at.filter(|deadline| *deadline > now);
        row.job.state = JobState::Pending { due_at: now };
        row.act(verb, &replay.by, now);
        Steered::Done
    }

    pub(super) fn ignore(&mut self, job: JobId, by: &By, now: Timestamp) -> Steered {
        let row = match self.dead(job) {
            Ok((row, _)) => row,
            Err(refusal) => return refusal,
        };
        row.job.state = JobState::Ignored {
            at: now,
            reason: by.reason.clone(),
        };
        row.act(ActionVerb::Ignore, by, now);
        Steered::Done
    }

    pub(super) fn edit(
        &mut self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Steered {
        let row = match self.dead(job) {
            Ok((row, _)) => row,
            Err(refusal) => return refusal,
        };
        let before = std::mem::replace(&mut row.job.payload, payload.clone());
        row.revisions.push(Revision {
            number: row.job.revision,
            payload: before,
            replaced_at: now,
            by: by.clone(),
        });
        row.job.revision += 1;
        row.act(ActionVerb::Edit, by, now);
        Steered::Done
    }

    /// The dead letter, or why there is none to steer.
    fn dead(&mut self, job: JobId) -> Result<(&mut Row, Death), Steered> {
        let Some(row) = self.rows.get_mut(&job) else {
            return Err(Steered::NotFound);
        };
        match row.job.state.clone() {
            JobState::Dead(death) => Ok((row, death)),
            other @ (JobState::Pending { .. }
            | JobState::Running(_)
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Succeeded { .. }
            | JobState::Cancelled { .. }
            | JobState::Ignored { .. }) => Err(Steered::Refused(other.name())),
        }
    }
}

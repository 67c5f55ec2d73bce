//! What is known of effects. A write asks for the effect's version, and one under a lease for the epoch too.

use surefoot_core::effect::Effect;
use surefoot_core::id::JobId;
use surefoot_core::job::JobState;
use surefoot_core::port::{EffectWrite, EffectWritten};
use surefoot_core::time::Timestamp;

use super::table::Table;

impl Table {
    pub(super) fn write_effect(&mut self, write: &EffectWrite) -> EffectWritten {
        let effect = &write.effect;
        let Some(row) = self.rows.get_mut(&effect.job) else {
            return EffectWritten::NotFound;
        };
        let known = row.effects.get(&effect.place);
        if known == Some(effect) {
            return EffectWritten::Already;
        }
        let holds = |epoch| row.run().is_some_and(|run| run.epoch == epoch);
        if !write.fence.is_none_or(holds) {
            return EffectWritten::Stale;
        }
        if known.map_or(0, |known| known.version).checked_add(1) != Some(effect.version) {
            return EffectWritten::Changed(known.cloned().map(Box::new));
        }
        row.effects.insert(effect.place, effect.clone());
        // A witness has no lease to extend.
        if let (Some(_), Some(until), Some(run)) = (write.fence, write.lease_until, row.run_mut()) {
            run.lease_until = run.lease_until.max(until);
        }
        EffectWritten::Applied
    }

    pub(super) fn effects(&self, jobs: &[JobId]) -> Vec<Effect> {
        let rows = jobs.iter().filter_map(|job| self.rows.get(job));
        rows.flat_map(|row| row.effects.values().cloned()).collect()
    }

    pub(super) fn hasten(&mut self, job: JobId, now: Timestamp) -> bool {
        match self.rows.get_mut(&job).map(|row| &mut row.job.state) {
            Some(JobState::Verifying { due_at, .. }) => {
                *due_at = now.min(*due_at);
                true
            }
            Some(
                JobState::Pending { .. }
                | JobState::Running(_)
                | JobState::Retrying { .. }
                | JobState::Succeeded { .. }
                | JobState::Dead(_)
                | JobState::Cancelled { .. }
                | JobState::Ignored { .. },
            )
            | None => false,
        }
    }
}

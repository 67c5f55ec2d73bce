//! What people look at, job, pages, dead letters and depth; and what leaves history at last.

use std::collections::BTreeMap;
use std::time::Duration;

use surefoot_core::id::JobId;
use surefoot_core::job::{Death, Job, JobState};
use surefoot_core::port::{
    BATCH_MAX, DeadGroup, Depth, DepthCount, JOB_RECORDS_MAX, JobFilter, JobRecord, Maintained,
    PAGE_MAX,
};
use surefoot_core::time::Timestamp;

use super::table::{Row, Table};

impl Table {
    pub(super) fn job(&self, job: JobId) -> Option<JobRecord> {
        let row = self.rows.get(&job)?;
        Some(JobRecord {
            job: row.job.clone(),
            attempts: latest(&row.attempts),
            revisions: latest(&row.revisions),
            actions: latest(&row.actions),
        })
    }

    pub(super) fn jobs(&self, filter: &JobFilter, before: Option<JobId>, limit: u32) -> Vec<Job> {
        let below = |row: &&Row| before.is_none_or(|before| row.job.id < before);
        let matching = self
            .rows
            .values()
            .rev()
            .filter(below)
            .filter(|row| matches(filter, &row.job));
        matching
            .map(|row| row.job.clone())
            .take(limit.min(PAGE_MAX) as usize)
            .collect()
    }

    pub(super) fn dead_groups(&self) -> Vec<DeadGroup> {
        let mut letters: Vec<_> = self.rows.values().filter_map(dead_letter).collect();
        letters.sort_by_key(|(job, death)| (death.at, job.id));
        let mut groups = BTreeMap::new();
        for (job, death) in letters {
            let group = groups
                .entry((&job.kind, death.reason, death.fingerprint))
                .or_insert(DeadGroup {
                    kind: job.kind.clone(),
                    reason: death.reason,
                    fingerprint: death.fingerprint,
                    error: death.error.clone(),
                    latest: job.id,
                    count: 0,
                    oldest_at: death.at,
                    latest_at: death.at,
                });
            group.error = death.error.clone();
            group.latest = job.id;
            group.latest_at = death.at;
            group.count += 1;
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        groups.sort_by_key(|group| std::cmp::Reverse(group.count));
        groups.truncate(PAGE_MAX as usize);
        groups
    }

    pub(super) fn depth(&self, now: Timestamp) -> Depth {
        let mut counts = BTreeMap::new();
        for row in self.rows.values().filter(|row| row.finished_at().is_none()) {
            let line = (
                row.job.queue.clone(),
                row.job.kind.clone(),
                row.job.state.name(),
            );
            *counts.entry(line).or_insert(0) += 1;
        }
        let counts = counts
            .into_iter()
            .map(|((queue, kind, state), count)| DepthCount {
                queue,
                kind,
                state,
                count,
            });
        Depth {
            counts: counts.collect(),
            oldest_due: self
                .rows
                .values()
                .filter_map(Row::waits_until)
                .filter(|due| *due <= now)
                .min(),
            oldest_dead: self
                .rows
                .values()
                .filter_map(dead_letter)
                .map(|(_, death)| death.at)
                .min(),
        }
    }

    /// Drops what ended more than `keep` ago, at most [`BATCH_MAX`] jobs in one call.
    pub(super) fn maintain(&mut self, keep: Duration, now: Timestamp) -> Maintained {
        let over = |row: &&Row| row.finished_at().is_some_and(|at| now.since(at) > keep);
        let ids: Vec<_> = self
            .rows
            .values()
            .filter(over)
            .map(|row| row.job.id)
            .take(BATCH_MAX)
            .collect();
        for id in &ids {
            self.rows.remove(id);
        }
        self.keys.retain(|_, id| self.rows.contains_key(id));
        let more = self.rows.values().any(|row| over(&row));
        Maintained {
            jobs_dropped: ids.len() as u64,
            more,
        }
    }
}

fn latest<T: Clone>(records: &[T]) -> Vec<T> {
    records[records.len().saturating_sub(JOB_RECORDS_MAX)..].to_vec()
}

fn dead_letter(row: &Row) -> Option<(&Job, &Death)> {
    match &row.job.state {
        JobState::Dead(death) => Some((&row.job, death)),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Succeeded { .. }
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => None,
    }
}

fn matches(filter: &JobFilter, job: &Job) -> bool {
    fn asked<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
        wanted.is_none() || wanted == found
    }
    let fingerprint = match &job.state {
        JobState::Dead(death) => Some(&death.fingerprint),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Succeeded { .. }
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => None,
    };
    asked(filter.tenant.as_ref(), Some(&job.tenant))
        && asked(filter.state.as_ref(), Some(&job.state.name()))
        && asked(filter.kind.as_ref(), Some(&job.kind))
        && asked(filter.queue.as_ref(), Some(&job.queue))
        && asked(filter.key.as_ref(), job.key.as_ref())
        && asked(filter.fingerprint.as_ref(), fingerprint)
}

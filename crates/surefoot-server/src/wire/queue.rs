//! Queues: what waits in each, and which are paused.

use std::collections::BTreeMap;

use serde::Serialize;
use surefoot_core::id::Queue;
use surefoot_core::job::StateName;
use surefoot_core::port::{Depth, DepthCount, Pause};
use utoipa::ToSchema;

use super::time::WireTime;

/// The most queues of one answer.
const QUEUES_MAX: usize = 1000;

/// The queues that have jobs or are paused, by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueList {
    /// At most 1000 queues.
    queues: Vec<QueueRecord>,
    /// There are more queues than are shown.
    more: bool,
    /// The due time of the job that is due the longest.
    #[schema(required)]
    oldest_due_at: Option<WireTime>,
    /// When the oldest dead letter died.
    #[schema(required)]
    oldest_dead_at: Option<WireTime>,
}

/// One queue.
#[derive(Serialize, ToSchema)]
#[schema(as = Queue)]
struct QueueRecord {
    /// Its name.
    queue: String,
    /// How many jobs it holds by state; finished ones are not counted.
    counts: QueueCounts,
    /// Who paused it, if somebody did.
    #[schema(required)]
    paused: Option<PauseRecord>,
}

/// How many jobs of a queue are in which state.
#[derive(Default, Serialize, ToSchema)]
struct QueueCounts {
    pending: u64,
    running: u64,
    retrying: u64,
    verifying: u64,
    dead: u64,
}

/// A paused queue.
#[derive(Serialize, ToSchema)]
#[schema(as = Pause)]
struct PauseRecord {
    /// Since when.
    at: WireTime,
    /// Who.
    actor: String,
    /// Why.
    reason: String,
}

/// A queue that claims go on from.
#[derive(Serialize, ToSchema)]
pub(crate) struct Resumed {
    /// Whether it was paused.
    pub(crate) was_paused: bool,
}

pub(crate) fn queue_list(depth: &Depth, pauses: &[Pause]) -> QueueList {
    let mut queues: BTreeMap<&Queue, QueueRecord> = BTreeMap::new();
    let empty = |queue: &Queue| QueueRecord {
        queue: queue.to_string(),
        counts: QueueCounts::default(),
        paused: None,
    };
    for line in &depth.counts {
        queues
            .entry(&line.queue)
            .or_insert_with(|| empty(&line.queue))
            .counts
            .add(line);
    }
    for pause in pauses {
        let record = queues
            .entry(&pause.queue)
            .or_insert_with(|| empty(&pause.queue));
        record.paused = Some(PauseRecord {
            at: pause.at.into(),
            actor: pause.by.actor.to_string(),
            reason: pause.by.reason.to_string(),
        });
    }
    QueueList {
        more: queues.len() > QUEUES_MAX,
        queues: queues.into_values().take(QUEUES_MAX).collect(),
        oldest_due_at: depth.oldest_due.map(WireTime),
        oldest_dead_at: depth.oldest_dead.map(WireTime),
    }
}

impl QueueCounts {
    fn add(&mut self, line: &DepthCount) {
        match line.state {
            StateName::Pending => self.pending += line.count,
            StateName::Running => self.running += line.count,
            StateName::Retrying => self.retrying += line.count,
            StateName::Verifying => self.verifying += line.count,
            StateName::Dead => self.dead += line.count,
            // A depth counts none of these.
            StateName::Succeeded | StateName::Cancelled | StateName::Ignored => {}
        }
    }
}

//! `[engine]` and `[queue.NAME]`: how much runs at once, and the engine's own times. Defaults are the engine's; what
//! stands here are only the values that differ from them.

use std::collections::BTreeMap;
use std::time::Duration;

use surefoot_core::id::Queue;

use super::section::{Field, Section};

/// The highest concurrency that may be asked for.
const CONCURRENCY_MAX: u32 = 100_000;

/// `[engine]` and `[queue.NAME]`; `None` leaves a value to the engine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EngineSection {
    /// The most jobs that this node runs at once.
    pub(crate) concurrency: Option<u32>,
    /// The queues that this node serves.
    pub(crate) queues: Option<Vec<Queue>>,
    /// The longest time between two looks for work.
    pub(crate) poll: Option<Duration>,
    /// How long running jobs may go on after a request to stop.
    pub(crate) drain_grace: Option<Duration>,
    /// How long finished jobs are kept.
    pub(crate) retention: Option<Duration>,
    /// How many jobs of a queue run at once over all nodes.
    pub(crate) queue_limits: BTreeMap<Queue, u32>,
}

/// Reads `[engine]`; `None` when something of it is wrong.
pub(super) fn read(section: &Section<'_>) -> Option<EngineSection> {
    let concurrency = section.count("concurrency", 1..=CONCURRENCY_MAX).optional();
    let queues = queues(section);
    let poll = section.duration("poll").optional();
    let drain_grace = section.duration("drain_grace").optional();
    let retention = section.duration("retention").optional();
    section.finish();
    Some(EngineSection {
        concurrency: concurrency?,
        queues: queues?,
        poll: poll?,
        drain_grace: drain_grace?,
        retention: retention?,
        queue_limits: BTreeMap::new(),
    })
}

/// Reads `[queue.NAME]`: its limit.
pub(super) fn read_queue(section: &Section<'_>) -> Option<u32> {
    let concurrency = section.count("concurrency", 1..=CONCURRENCY_MAX);
    if concurrency == Field::Absent {
        section.missing(
            "concurrency",
            "add how many of its jobs may run at once, such as concurrency = 10",
        );
    }
    section.finish();
    concurrency.optional()?
}

fn queues(section: &Section<'_>) -> Option<Option<Vec<Queue>>> {
    let (listed, span) = match section.texts("queues") {
        Field::Absent => return Some(None),
        Field::Faulty => return None,
        Field::Given(listed, span) => (listed, span),
    };
    if listed.is_empty() {
        section.faults.note(
            span,
            "queues is empty, so nothing could run",
            "name the queues, or remove the line",
        );
        return None;
    }
    let count = listed.len();
    let mut queues = Vec::new();
    for (text, span) in listed {
        match Queue::new(text) {
            Ok(queue) => queues.push(queue),
            Err(refusal) => section.faults.note_text(span, &refusal.to_string()),
        }
    }
    (queues.len() == count).then_some(Some(queues))
}

//! `[engine]` and `[queue.NAME]`: how much runs at once, and the engine's own times. Defaults are the engine's; what
//! stands here are only the values that differ from them.

use std::collections::BTreeMap;
use std::time::Duration;

use surefoot::EngineOptions;
use surefoot_core::id::Queue;
use surefoot_core::port::Queues;

use super::duration::written;
use super::section::{Field, Section};

/// The highest concurrency of one node that may be asked for: one batch of claims.
pub(super) const NODE_CONCURRENCY_MAX: u32 = 1000;
/// The highest concurrency of a queue that may be asked for.
pub(super) const QUEUE_CONCURRENCY_MAX: u32 = 100_000;

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

impl EngineSection {
    /// The engine's options: its defaults, and over them what the file says.
    pub(crate) fn options(&self) -> EngineOptions {
        let standard = EngineOptions::default();
        EngineOptions {
            concurrency: self.concurrency.unwrap_or(standard.concurrency),
            queues: self.queues.clone().map_or(standard.queues, Queues::Only),
            queue_limits: self.queue_limits.clone(),
            poll: self.poll.unwrap_or(standard.poll),
            drain_grace: self.drain_grace.unwrap_or(standard.drain_grace),
            keep: self.retention.unwrap_or(standard.keep),
            ..standard
        }
    }
}

/// Reads `[engine]`; `None` when something of it is wrong.
pub(super) fn read(section: &Section<'_>) -> Option<EngineSection> {
    let concurrency = section
        .count("concurrency", 1..=NODE_CONCURRENCY_MAX)
        .optional();
    let queues = queues(section);
    let poll = section
        .duration("poll")
        .check(section.faults, interval)
        .optional();
    let drain_grace = section
        .duration("drain_grace")
        .check(section.faults, |grace| bounded("drain_grace", grace))
        .optional();
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
    let concurrency = section.count("concurrency", 1..=QUEUE_CONCURRENCY_MAX);
    if concurrency == Field::Absent {
        section.missing(
            "concurrency",
            "add how many of its jobs may run at once, such as concurrency = 10",
        );
    }
    section.finish();
    concurrency.optional()?
}

fn interval(poll: Duration) -> Result<Duration, String> {
    let min = EngineOptions::INTERVAL_MIN;
    if poll >= min {
        bounded("poll", poll)
    } else {
        Err(format!(
            "poll is shorter than {0}; give {0} or more",
            written(min)
        ))
    }
}

/// Within the longest time that the engine takes.
fn bounded(key: &str, time: Duration) -> Result<Duration, String> {
    let max = EngineOptions::TIME_MAX;
    if time <= max {
        Ok(time)
    } else {
        Err(format!(
            "{key} is longer than {0}; give at most {0}",
            written(max)
        ))
    }
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

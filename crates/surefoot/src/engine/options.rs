//! What a node may be told about its loops, with defaults that need no thought.

use std::collections::BTreeMap;
use std::time::Duration;

use surefoot_core::id::{Queue, Worker};
use surefoot_core::port::{BATCH_MAX, Queues};

use crate::bounded::STORE_TIMEOUT;
use crate::holder;

/// How many of [`EngineOptions::times`] are intervals of a loop or of a call.
const INTERVALS: usize = 3;

/// How a node works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// The name of this start of the node, never used twice, at most 123 bytes. Default: 20 random hexadecimal digits.
    /// On record [`NODE_PREFIX`](crate::NODE_PREFIX) stands before it, so that no pull worker can pass for a node.
    pub worker: Option<Worker>,
    /// How many attempts run at once on this node, 1 to [`BATCH_MAX`]. Default 64.
    pub concurrency: u32,
    /// Which queues it serves. Default: all.
    pub queues: Queues,
    /// How many jobs of a queue run at once over all nodes; give every node the same. Default: no limits.
    pub queue_limits: BTreeMap<Queue, u32>,
    /// How often it looks for work that nobody announced, give or take a quarter. Default 1 s.
    pub poll: Duration,
    /// How often it looks for lost leases and passed deadlines, give or take a quarter. Default 5 s.
    pub sweep: Duration,
    /// The longest that a call of the store may take. Default 10 s.
    pub store_timeout: Duration,
    /// How long a handler may still run after its token was cancelled before it is dropped. Default 1 s.
    pub cancel_grace: Duration,
    /// How long the lease of a handler that cannot be stopped (it blocks its thread) is held after its time-out. Then
    /// its attempt counts as lost. Default 10 min.
    pub stuck_max: Duration,
    /// How long a drain waits for handlers to finish before it stops them. Default 20 s.
    pub drain_grace: Duration,
    /// How long jobs that ended are kept. Dead letters are kept until somebody decides. Default 30 days.
    pub keep: Duration,
    /// Where the heartbeat runs. Default: on a thread of its own.
    pub heartbeat: Heartbeat,
    /// Seeds every random choice together with the name of the worker, which must be given then, so that a run in
    /// virtual time can be replayed. Default: the operating system's.
    pub seed: Option<u64>,
}

/// Where the heartbeat runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heartbeat {
    /// On a thread, a runtime and a connection of its own, so that handlers that block the runtime do not stop it.
    OwnThread,
    /// As a task of the caller's runtime, for tests in virtual time.
    Task,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            worker: None,
            concurrency: 64,
            queues: Queues::All,
            queue_limits: BTreeMap::new(),
            poll: Duration::from_secs(1),
            sweep: Duration::from_secs(5),
            store_timeout: STORE_TIMEOUT,
            cancel_grace: Duration::from_secs(1),
            stuck_max: Duration::from_secs(600),
            drain_grace: Duration::from_secs(20),
            keep: Duration::from_secs(30 * 24 * 3600),
            heartbeat: Heartbeat::OwnThread,
            seed: None,
        }
    }
}

impl EngineOptions {
    /// The shortest interval of any loop: none of them may spin.
    pub const INTERVAL_MIN: Duration = Duration::from_millis(10);

    /// The longest that any time in here may be: a year.
    pub const TIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

    /// Every contradiction, each with its remedy; empty when the options are sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.concurrency == 0 || self.concurrency as usize > BATCH_MAX {
            faults.push(format!(
                "concurrency is {}, give 1 to {BATCH_MAX}",
                self.concurrency
            ));
        }
        for (name, interval) in self.times().into_iter().take(INTERVALS) {
            if interval < Self::INTERVAL_MIN {
                faults.push(format!(
                    "{name} is {interval:?}, give {:?} or more",
                    Self::INTERVAL_MIN
                ));
            }
        }
        for (name, time) in self.times() {
            if time > Self::TIME_MAX {
                faults.push(format!(
                    "{name} is {time:?}, give at most {:?}",
                    Self::TIME_MAX
                ));
            }
        }
        if self.queues == Queues::Only(Vec::new()) {
            faults.push(
                "queues names no queue, so nothing would run; name one or serve all".to_owned(),
            );
        }
        if let Some(name) = &self.worker
            && let Err(error) = holder::node(name.as_str())
        {
            let prefix = holder::NODE_PREFIX;
            faults.push(format!(
                "worker {name} does not fit behind {prefix}: {error}; give a shorter name"
            ));
        }
        if self.seed.is_some() && self.worker.is_none() {
            faults.push(
                "a seed needs the name of the worker, or nodes would make the same job ids"
                    .to_owned(),
            );
        }
        for (queue, _) in self.queue_limits.iter().filter(|(_, limit)| **limit == 0) {
            faults.push(format!(
                "the limit of queue {queue} is 0, which would stop it; pause it instead"
            ));
        }
        faults
    }

    const fn times(&self) -> [(&'static str, Duration); 6] {
        [
            ("poll", self.poll),
            ("sweep", self.sweep),
            ("store_timeout", self.store_timeout),
            ("cancel_grace", self.cancel_grace),
            ("stuck_max", self.stuck_max),
            ("drain_grace", self.drain_grace),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_options_are_sound() {
        assert_eq!(EngineOptions::default().validate(), Vec::<String>::new());
    }

    #[test]
    fn a_worker_must_fit_behind_the_prefix_of_nodes() {
        for (bytes, faults) in [(123, 0), (124, 1)] {
            let options = EngineOptions {
                worker: Some(Worker::new("w".repeat(bytes)).unwrap()),
                ..EngineOptions::default()
            };
            assert_eq!(options.validate().len(), faults, "{bytes}");
        }
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let options = EngineOptions {
            concurrency: 0,
            poll: Duration::ZERO,
            drain_grace: Duration::MAX,
            queues: Queues::Only(Vec::new()),
            queue_limits: BTreeMap::from([(Queue::standard(), 0)]),
            seed: Some(1),
            ..EngineOptions::default()
        };
        assert_eq!(options.validate().len(), 6, "{:?}", options.validate());
    }
}

//! The live state of adaptive concurrency. The lock is held for a few additions, never across a wait.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::AdaptiveOptions;
use crate::clock::Moment;

/// How many samples it takes to move the limit.
const SAMPLES_MIN: u32 = 10;
/// The largest step down at once, and what a time-out costs.
const STEP_DOWN: f64 = 0.5;
const BACK_OFF: f64 = 0.9;
/// So many intervals at the lowest limit mean that the idle latency is not what it was.
const STUCK_MAX: u32 = 8;

/// What one call tells.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// How long it took.
    pub took: Duration,
    /// Whether it timed out or was throttled.
    pub dropped: bool,
    /// How many calls were out, this one included.
    pub out: u32,
}

/// A limit that finds itself.
#[derive(Debug)]
pub struct Adaptive(Mutex<State>);

#[derive(Debug)]
struct State {
    limit: f64,
    /// The mean latency of an idle dependency; `None` until it has been measured.
    idle: Option<Duration>,
    phase: Phase,
    since: Option<Moment>,
    learned_at: Moment,
    stuck: u32,
    sum: Duration,
    count: u32,
    dropped: bool,
    out_max: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Few calls are let out; those that left before still count for nothing.
    Draining {
        then: f64,
    },
    Learning {
        then: f64,
    },
    Steering,
}

impl Adaptive {
    /// Starts by measuring at the lowest limit.
    #[must_use]
    pub fn new(options: &AdaptiveOptions) -> Self {
        let then = f64::from(options.limit_min.saturating_mul(2).min(options.limit_max));
        Self(Mutex::new(State {
            limit: f64::from(options.limit_min),
            idle: None,
            phase: Phase::Learning { then },
            since: None,
            learned_at: Moment::ZERO,
            stuck: 0,
            sum: Duration::ZERO,
            count: 0,
            dropped: false,
            out_max: 0,
        }))
    }

    /// Takes one sample; the new limit when it moves.
    pub fn sample(&self, options: &AdaptiveOptions, sample: Sample, now: Moment) -> Option<u32> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.add(sample);
        let since = *state.since.get_or_insert(now);
        let enough = state.count >= SAMPLES_MIN && now.since(since) >= options.every;
        if !enough {
            return None;
        }
        let before = whole(state.limit);
        state.step(options, now);
        state.limit = state
            .limit
            .clamp(f64::from(options.limit_min), f64::from(options.limit_max));
        state.clear(now);
        (whole(state.limit) != before).then(|| whole(state.limit))
    }
}

impl State {
    fn add(&mut self, sample: Sample) {
        self.sum = self.sum.saturating_add(sample.took);
        self.count += 1;
        self.dropped |= sample.dropped;
        self.out_max = self.out_max.max(sample.out);
    }

    fn clear(&mut self, now: Moment) {
        self.since = Some(now);
        self.sum = Duration::ZERO;
        self.count = 0;
        self.dropped = false;
        self.out_max = 0;
    }

    fn step(&mut self, options: &AdaptiveOptions, now: Moment) {
        let mean = self.sum / self.count.max(1);
        match self.phase {
            Phase::Draining { then } => self.phase = Phase::Learning { then },
            Phase::Learning { then } => {
                self.idle = Some(mean.max(Duration::from_nanos(1)));
                self.learned_at = now;
                self.stuck = 0;
                self.limit = then;
                self.phase = Phase::Steering;
            }
            Phase::Steering => self.steer(options, mean, now),
        }
    }

    fn steer(&mut self, options: &AdaptiveOptions, mean: Duration, now: Moment) {
        let lowest = f64::from(options.limit_min);
        let idle = self.idle.unwrap_or(mean).as_secs_f64();
        let gradient =
            (options.tolerance * idle / mean.as_secs_f64().max(1e-9)).clamp(STEP_DOWN, 1.0);
        let mut limit = self.limit * gradient;
        if self.dropped {
            limit = (self.limit * BACK_OFF).min(limit);
        } else if f64::from(self.out_max) * 2.0 > self.limit {
            // Room to find out more, only while the present limit is used at all.
            limit += limit.sqrt();
        }
        self.limit = limit;
        self.stuck = if limit <= lowest + lowest.sqrt() {
            self.stuck + 1
        } else {
            0
        };
        if self.stuck >= STUCK_MAX || now.since(self.learned_at) >= options.relearn_every {
            self.phase = Phase::Draining {
                then: self.limit.max(lowest * 2.0),
            };
            self.limit = lowest;
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a limit lies within 1 and 2^20"
)]
fn whole(limit: f64) -> u32 {
    limit as u32
}

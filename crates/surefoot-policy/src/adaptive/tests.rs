//! The controller against a dependency of `c` servers, simulated event by event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::*;
use crate::clock::{Dice, Moment, SeededDice};

/// A dependency with `servers` that each take `service` on average; callers come faster than it can serve.
struct Station {
    servers: usize,
    service: f64,
    dice: SeededDice,
    adaptive: Adaptive,
    options: AdaptiveOptions,
    limit: u32,
    now: f64,
    /// When each server is free again.
    free: BinaryHeap<Reverse<u64>>,
    /// Calls that are out, by when they end, with when they began.
    out: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Station {
    fn new(servers: usize, service: f64) -> Self {
        let options = AdaptiveOptions {
            relearn_every: Duration::from_secs(20),
            ..AdaptiveOptions::default()
        };
        Self {
            servers,
            service,
            dice: SeededDice::new(11),
            adaptive: Adaptive::new(&options),
            limit: options.limit_min,
            options,
            now: 1e9,
            free: (0..servers).map(|_| Reverse(0)).collect(),
            out: BinaryHeap::new(),
        }
    }

    fn exponential(&self, mean: f64) -> f64 {
        -mean * (1.0 - self.dice.roll().fraction()).ln()
    }

    /// Runs for `seconds` with arrivals at `load` times the capacity; the highest limit and the last one.
    fn run(&mut self, seconds: f64, load: f64) -> (u32, u32) {
        let (end, mut highest) = (self.now + seconds * 1e9, 0);
        while self.now < end {
            self.now += self.exponential(self.service / self.servers as f64 / load);
            while self
                .out
                .peek()
                .is_some_and(|Reverse((ends, _))| *ends as f64 <= self.now)
            {
                let Some(Reverse((ends, began))) = self.out.pop() else {
                    break;
                };
                let sample = Sample {
                    took: Duration::from_nanos(ends - began),
                    dropped: false,
                    out: self.out.len() as u32 + 1,
                };
                if let Some(limit) =
                    self.adaptive
                        .sample(&self.options, sample, Moment::from_nanos(ends))
                {
                    self.limit = limit;
                    highest = highest.max(limit);
                }
            }
            if self.out.len() < self.limit as usize {
                let Some(Reverse(free)) = self.free.pop() else {
                    break;
                };
                let ends = self.now.max(free as f64) + self.exponential(self.service);
                self.free.push(Reverse(ends as u64));
                self.out.push(Reverse((ends as u64, self.now as u64)));
            }
        }
        (highest, self.limit)
    }
}

#[test]
fn under_a_lasting_overload_the_limit_stays_near_what_the_dependency_can_do() {
    let mut station = Station::new(20, 10e6);
    let (highest, _) = station.run(120.0, 1.2);
    assert!((20..=80).contains(&highest), "{highest}");
}

#[test]
fn a_dependency_that_became_slower_is_learned_anew() {
    let mut station = Station::new(20, 10e6);
    station.run(30.0, 1.2);
    station.service *= 3.0;
    station.run(40.0, 1.2);
    let (highest, _) = station.run(30.0, 1.2);
    assert!((20..=80).contains(&highest), "{highest}");
}

#[test]
fn an_unused_limit_does_not_grow_and_drops_lower_it() {
    let options = AdaptiveOptions::default();
    let adaptive = Adaptive::new(&options);
    let mut now = Moment::from_nanos(1 << 40);
    let mut limit = options.limit_min;
    let mut feed = |samples: u32, dropped, out| {
        for _ in 0..samples {
            now = now.after(Duration::from_millis(25));
            let sample = Sample {
                took: Duration::from_millis(10),
                dropped,
                out,
            };
            limit = adaptive.sample(&options, sample, now).unwrap_or(limit);
        }
        limit
    };
    assert_eq!(feed(400, false, 1), 8, "nobody used more than one");
    let used = feed(400, false, 1000);
    assert!(used > 50, "{used}");
    assert!(feed(200, true, 1000) < used / 2);
}

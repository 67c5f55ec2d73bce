//! What a world is made of, drawn from its seed: what clients ask for, what goes wrong and when. Each item can be left out.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::dice::dice;
use super::slot::Harm;

/// How long things go wrong. After it nothing does, and everything has to come to its end.
pub(super) const TROUBLE: Duration = Duration::from_secs(80);

/// A world.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) nodes: usize,
    pub(super) items: Vec<Item>,
}

/// One thing that is asked for or goes wrong. Its number is its name.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) number: usize,
    pub(super) at: Duration,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A client hands in an intent; `clicks` times, at once.
    Enqueue { order: Order, clicks: u32 },
    /// A client hands in an intent under a key that has another payload.
    Conflict { n: u32 },
    /// Somebody cancels a job.
    Cancel { n: u32 },
    /// A person looks at the dead letters.
    Inspect,
    /// Harm comes to a node.
    Harm(usize, Harm),
    /// A node is told to stop and comes back.
    Drain { node: usize, away: Duration },
    /// The database's clock jumps.
    Jump { micros: i64 },
    /// The provider misbehaves for a while.
    ProviderTrouble { lasts: Duration, rate: f64 },
    /// The provider tells of what it did by webhooks, over and over.
    Webhooks,
}

/// What an unknown outcome means in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) enum How {
    Verify,
    SameKey,
    SameKeyForgotten,
    AtMostOnce,
    Repeatable,
}

/// What the handler is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub(super) enum Mood {
    /// It carries out its effect and returns its result.
    Plain,
    /// It computes a step first and has a second effect after.
    Long,
    /// It returns a result although its effect failed.
    Swallows,
    /// It fails after its effect, at first.
    FailsAfter,
    /// It panics after its effect, at first.
    Panics,
    /// It hangs after its effect, at first.
    Hangs,
    /// It fails for good where its effect failed in whatever way.
    GivesUp,
}

/// The payload of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Order {
    pub(super) n: u32,
    pub(super) how: How,
    pub(super) mood: Mood,
    pub(super) line: Option<u32>,
    pub(super) deadline_s: Option<u64>,
}

impl Plan {
    /// Everything that this seed draws, but for what is left out.
    pub(super) fn draw(seed: u64, without: &BTreeSet<usize>) -> Self {
        let mut rng = dice(seed, "plan");
        let nodes = rng.usize(1..=3);
        let mut all: Vec<(Duration, What)> = Vec::new();
        let jobs = rng.u32(3..=8);
        for n in 0..jobs {
            let order = order(&mut rng, n);
            let clicks = if rng.u32(0..4) == 0 { 2 } else { 1 };
            let at = within(&mut rng, 0.6);
            all.push((at, What::Enqueue { order, clicks }));
            all.extend(regrets(&mut rng, n, at));
        }
        all.extend(people(&mut rng));
        all.extend(faults(&mut rng, nodes));
        let numbered = all.into_iter().enumerate();
        let mut items: Vec<Item> = numbered
            .map(|(number, (at, what))| Item { number, at, what })
            .filter(|item| !without.contains(&item.number))
            .collect();
        items.sort_by_key(|item| (item.at, item.number));
        Self { seed, nodes, items }
    }
}

pub(super) fn within(rng: &mut fastrand::Rng, part: f64) -> Duration {
    TROUBLE.mul_f64(rng.f64() * part)
}

pub(super) fn seconds(rng: &mut fastrand::Rng, from: f64, to: f64) -> Duration {
    Duration::from_secs_f64(from + rng.f64() * (to - from))
}

fn order(rng: &mut fastrand::Rng, n: u32) -> Order {
    let how = match rng.u32(0..10) {
        0..=4 => How::Verify,
        5..=6 => How::AtMostOnce,
        7 => How::SameKey,
        8 => How::SameKeyForgotten,
        _ => How::Repeatable,
    };
    let mood = match rng.u32(0..16) {
        0..=7 => Mood::Plain,
        8..=9 => Mood::Long,
        10 => Mood::Swallows,
        11 => Mood::FailsAfter,
        12 => Mood::Panics,
        13 => Mood::Hangs,
        14..=15 => Mood::GivesUp,
        _ => Mood::Plain,
    };
    Order {
        n,
        how,
        mood,
        line: (rng.u32(0..3) == 0).then(|| rng.u32(0..2)),
        deadline_s: (rng.u32(0..8) == 0).then(|| rng.u64(10..40)),
    }
}

/// What a client does to its intent a little later.
fn regrets(rng: &mut fastrand::Rng, n: u32, handed_in: Duration) -> Option<(Duration, What)> {
    let later = handed_in + seconds(rng, 0.5, 12.0);
    match rng.u32(0..12) {
        0..=1 => Some((later, What::Cancel { n })),
        2 => Some((later, What::Conflict { n })),
        _ => None,
    }
}

fn people(rng: &mut fastrand::Rng) -> Vec<(Duration, What)> {
    let mut all = Vec::new();
    for _ in 0..rng.u32(0..5) {
        all.push((within(rng, 1.0), What::Inspect));
    }
    if rng.bool() {
        all.push((Duration::ZERO, What::Webhooks));
    }
    all
}

fn faults(rng: &mut fastrand::Rng, nodes: usize) -> Vec<(Duration, What)> {
    let mut all = Vec::new();
    for _ in 0..rng.u32(1..6) {
        let node = rng.usize(0..nodes);
        let calls = rng.u32(0..6);
        let what = match rng.u32(0..9) {
            0..=3 => What::Harm(
                node,
                Harm::Crash {
                    calls,
                    after: rng.bool(),
                    away: seconds(rng, 0.5, 30.0),
                },
            ),
            4..=6 => What::Harm(
                node,
                Harm::Freeze {
                    calls,
                    lasts: seconds(rng, 1.0, 40.0),
                },
            ),
            7 => What::Drain {
                node,
                away: seconds(rng, 4.0, 15.0),
            },
            _ => What::Jump {
                micros: rng.i64(-300_000..=300_000),
            },
        };
        all.push((within(rng, 0.9), what));
    }
    for _ in 0..rng.u32(0..4) {
        // One more than there are nodes: the process of the clients has a store too.
        let node = rng.usize(0..=nodes);
        let what = What::Harm(
            node,
            Harm::StoreTrouble {
                lasts: seconds(rng, 1.0, 30.0),
                rate: 0.05 + rng.f64() * 0.4,
            },
        );
        all.push((within(rng, 0.9), what));
    }
    for _ in 0..rng.u32(1..3) {
        let what = What::ProviderTrouble {
            lasts: seconds(rng, 10.0, 60.0),
            rate: 0.3 + rng.f64() * 0.7,
        };
        all.push((within(rng, 0.5), what));
    }
    all
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes", self.nodes)?;
        for item in &self.items {
            write!(
                f,
                "\n  {:>3} at {:>8.3?}: {:?}",
                item.number, item.at, item.what
            )?;
        }
        Ok(())
    }
}

//! What the front door of a world meets, drawn from its seed. Each item can be left out.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use surefoot_core::request::Keep;

use super::super::dice::dice;
use super::super::plan::{seconds, within};
use super::super::slot::Harm;

/// The number of the first item, so that it is told from those of the jobs.
const FIRST: usize = 10_000;

/// A front door and what it meets.
#[derive(Clone, Debug)]
pub(in crate::seeds) struct Plan {
    pub(super) seed: u64,
    pub(super) nodes: usize,
    pub(super) keys: u32,
    pub(super) keep: Keep,
    /// How long a repetition waits.
    pub(super) wait: Duration,
    pub(in crate::seeds) items: Vec<Item>,
}

/// One thing that is asked for or goes wrong. Its number is its name.
#[derive(Clone, Debug)]
pub(in crate::seeds) struct Item {
    pub(in crate::seeds) number: usize,
    pub(super) at: Duration,
    pub(super) what: What,
}

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) node: usize,
    pub(super) key: u32,
    /// With a body that is not the key's.
    pub(super) other_body: bool,
    /// When the client goes away.
    pub(super) leaves_after: Option<Duration>,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A client asks.
    Ask(Ask),
    /// Harm comes to a node.
    Harm(usize, Harm),
    /// The service misbehaves for a while.
    ServiceTrouble { lasts: Duration, rate: f64 },
    /// A person looks at requests whose outcome is not known.
    Inspect,
}

impl Plan {
    /// Everything that this seed draws, but for what is left out.
    pub(in crate::seeds) fn draw(seed: u64, without: &BTreeSet<usize>) -> Self {
        let mut rng = dice(seed, "requests");
        let nodes = rng.usize(1..=3);
        let keys = rng.u32(2..=4);
        let keep = Keep::ALL[rng.usize(0..Keep::ALL.len())];
        let wait = seconds(&mut rng, 0.0, 6.0) * rng.u32(0..=1);
        let mut all = Vec::new();
        for key in 0..keys {
            all.extend(asks(&mut rng, key, nodes));
        }
        all.extend(faults(&mut rng, nodes));
        let mut items: Vec<Item> = all
            .into_iter()
            .enumerate()
            .map(|(number, (at, what))| Item {
                number: FIRST + number,
                at,
                what,
            })
            .filter(|item| !without.contains(&item.number))
            .collect();
        items.sort_by_key(|item| (item.at, item.number));
        Self {
            seed,
            nodes,
            keys,
            keep,
            wait,
            items,
        }
    }
}

/// Repetitions of one intent: some at once, some later, at any node.
fn asks(rng: &mut fastrand::Rng, key: u32, nodes: usize) -> Vec<(Duration, What)> {
    let mut at = within(rng, 0.4);
    let mut all = Vec::new();
    for _ in 0..rng.u32(2..8) {
        let ask = Ask {
            node: rng.usize(0..nodes),
            key,
            other_body: rng.u32(0..12) == 0,
            leaves_after: (rng.u32(0..4) == 0).then(|| seconds(rng, 0.0, 3.0)),
        };
        all.push((at, What::Ask(ask)));
        at += match rng.u32(0..3) {
            0 => Duration::ZERO,
            1 => seconds(rng, 0.0, 3.0),
            _ => seconds(rng, 3.0, 30.0),
        };
    }
    all
}

fn faults(rng: &mut fastrand::Rng, nodes: usize) -> Vec<(Duration, What)> {
    let mut all = Vec::new();
    for _ in 0..rng.u32(1..6) {
        let (node, calls) = (rng.usize(0..nodes), rng.u32(0..8));
        let what = if rng.bool() {
            What::Harm(
                node,
                Harm::Crash {
                    calls,
                    after: rng.bool(),
                    away: seconds(rng, 0.5, 30.0),
                },
            )
        } else {
            What::Harm(
                node,
                Harm::Freeze {
                    calls,
                    lasts: seconds(rng, 1.0, 60.0),
                },
            )
        };
        all.push((within(rng, 0.7), what));
    }
    for _ in 0..rng.u32(0..3) {
        let what = What::Harm(
            rng.usize(0..nodes),
            Harm::StoreTrouble {
                lasts: seconds(rng, 1.0, 30.0),
                rate: 0.05 + rng.f64() * 0.5,
            },
        );
        all.push((within(rng, 0.9), what));
    }
    let what = What::ServiceTrouble {
        lasts: seconds(rng, 20.0, 80.0),
        rate: 0.3 + rng.f64() * 0.7,
    };
    all.push((within(rng, 0.3), what));
    for _ in 0..rng.u32(0..4) {
        all.push((within(rng, 1.0), What::Inspect));
    }
    all
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} doors, keep {}, wait {:?}",
            self.nodes,
            self.keep.as_str(),
            self.wait
        )?;
        for item in &self.items {
            let Item { number, at, what } = item;
            write!(f, "\n  {number:>3} at {at:>8.3?}: {what:?}")?;
        }
        Ok(())
    }
}

//! What the relays of a world meet, drawn from its seed. Each item can be left out.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::super::dice::dice;
use super::super::plan::{seconds, within};
use super::super::slot::Harm;

/// The number of the first item, so that it is told from those of the jobs and of the requests.
const FIRST: usize = 20_000;

/// Relays and what they meet.
#[derive(Clone, Debug)]
pub(in crate::seeds) struct Plan {
    pub(super) seed: u64,
    pub(super) nodes: usize,
    pub(in crate::seeds) items: Vec<Item>,
}

/// One thing that is done or goes wrong. Its number is its name.
#[derive(Clone, Debug)]
pub(in crate::seeds) struct Item {
    pub(in crate::seeds) number: usize,
    pub(super) at: Duration,
    pub(super) what: What,
}

#[derive(Clone, Debug)]
pub(super) enum What {
    /// A transaction that appended commits.
    Commit {
        /// Under this key, or without one.
        key: Option<u32>,
        messages: usize,
        /// How long ago it appended.
        open_for: Duration,
        /// A relay is woken.
        wakes: Option<usize>,
        /// Its answer is lost, and it is repeated.
        twice: bool,
    },
    /// Harm comes to a node.
    Harm(usize, Harm),
    /// The sinks misbehave for a while.
    SinkTrouble { lasts: Duration, rate: f64 },
    /// The database's clock jumps.
    Jump { micros: i64 },
    /// A person looks at what is parked.
    Look,
    /// What ended so long ago is forgotten.
    Forget { ago: Duration },
}

impl Plan {
    /// Everything that this seed draws, but for what is left out.
    pub(in crate::seeds) fn draw(seed: u64, without: &BTreeSet<usize>) -> Self {
        let mut rng = dice(seed, "messages");
        let nodes = rng.usize(1..=3);
        let mut all = commits(&mut rng, nodes);
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
        Self { seed, nodes, items }
    }
}

fn commits(rng: &mut fastrand::Rng, nodes: usize) -> Vec<(Duration, What)> {
    let keys = rng.u32(1..=3);
    (0..rng.u32(4..14))
        .map(|_| {
            let what = What::Commit {
                key: (rng.u32(0..4) > 0).then(|| rng.u32(0..keys)),
                messages: rng.usize(1..4),
                open_for: seconds(rng, 0.0, 20.0) * u32::from(rng.bool()),
                wakes: rng.bool().then(|| rng.usize(0..nodes)),
                twice: rng.u32(0..5) == 0,
            };
            (within(rng, 0.8), what)
        })
        .collect()
}

fn faults(rng: &mut fastrand::Rng, nodes: usize) -> Vec<(Duration, What)> {
    let mut all = Vec::new();
    for _ in 0..rng.u32(1..7) {
        let (node, calls) = (rng.usize(0..nodes), rng.u32(0..8));
        let harm = if rng.bool() {
            Harm::Crash {
                calls,
                after: rng.bool(),
                away: seconds(rng, 0.5, 20.0),
            }
        } else {
            Harm::Freeze {
                calls,
                lasts: seconds(rng, 1.0, 40.0),
            }
        };
        all.push((within(rng, 0.9), What::Harm(node, harm)));
    }
    for _ in 0..rng.u32(0..3) {
        let harm = Harm::StoreTrouble {
            lasts: seconds(rng, 1.0, 50.0),
            rate: 0.05 + rng.f64() * 0.6,
        };
        all.push((within(rng, 0.9), What::Harm(rng.usize(0..nodes), harm)));
    }
    let what = What::SinkTrouble {
        lasts: seconds(rng, 20.0, 80.0),
        rate: 0.2 + rng.f64() * 0.6,
    };
    all.push((within(rng, 0.3), what));
    if rng.u32(0..4) == 0 {
        let micros = rng.i64(-20_000_000..20_000_000);
        all.push((within(rng, 0.9), What::Jump { micros }));
    }
    for _ in 0..rng.u32(0..4) {
        all.push((within(rng, 1.0), What::Look));
    }
    for _ in 0..rng.u32(0..3) {
        let ago = seconds(rng, 0.0, 30.0);
        all.push((within(rng, 1.0), What::Forget { ago }));
    }
    all
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} relays", self.nodes)?;
        for item in &self.items {
            let Item { number, at, what } = item;
            write!(f, "\n  {number:>3} at {at:>8.3?}: {what:?}")?;
        }
        Ok(())
    }
}

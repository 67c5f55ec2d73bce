//! What is measured, in the order of the table.

mod enqueue;
mod front_door;
mod pick_up;
mod throughput;

use std::time::Duration;

use crate::Outcome;
use crate::args::{Measure, Part};
use crate::host;
use crate::place::Ground;
use crate::rounds::Rounds;
use crate::table::{self, Row};

/// How much is done in one round.
#[derive(Clone, Copy, Debug)]
struct Effort {
    rounds: Rounds,
    /// How long a round lasts that commits each job by itself.
    single: Duration,
    /// Jobs of a round that commits many together.
    batched: usize,
    /// Latencies of a round.
    samples: usize,
    /// Latencies of a round where each may take a whole poll interval.
    samples_polled: usize,
}

const FULL: Effort = Effort {
    rounds: Rounds { min: 5, max: 9 },
    single: Duration::from_millis(1500),
    batched: 50_000,
    samples: 200,
    samples_polled: 8,
};

const QUICK: Effort = Effort {
    rounds: Rounds { min: 1, max: 1 },
    single: Duration::from_millis(300),
    batched: 5_000,
    samples: 20,
    samples_polled: 2,
};

/// Measures everything and prints the table.
pub(crate) async fn run(wanted: &Measure) -> Outcome<()> {
    let effort = if wanted.quick { QUICK } else { FULL };
    let mut rows = Vec::new();
    let mut heads = Vec::new();
    for ground in Ground::of(wanted.databases)? {
        let before = host::load();
        let described = ground.described().await?;
        for part in Part::ALL {
            if wanted.only.is_some_and(|only| only != part) {
                continue;
            }
            match part {
                Part::Enqueue => enqueue::measure(&ground, effort, &mut rows).await?,
                Part::Throughput => throughput::measure(&ground, effort, &mut rows).await?,
                Part::PickUp => pick_up::measure(&ground, effort, &mut rows).await?,
                Part::FrontDoor => front_door::measure(&ground, effort, &mut rows).await?,
            }
        }
        heads.push(format!(
            "{described}; load {before} before, {} after",
            host::load()
        ));
    }
    println!(
        "{} cores, {} to {} rounds in turn, middle values",
        host::cores(),
        effort.rounds.min,
        effort.rounds.max
    );
    for head in heads {
        println!("{head}");
    }
    print!("\n{}", table::text(&rows));
    Ok(())
}

/// Takes a row into the table, and shows on standard error how far it is.
fn add(rows: &mut Vec<Row>, row: Row) {
    eprint!(
        "{}",
        table::text(std::slice::from_ref(&row))
            .split_inclusive('\n')
            .skip(1)
            .collect::<String>()
    );
    rows.push(row);
}

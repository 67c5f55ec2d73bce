//! How many jobs that do nothing are carried out: claimed, run, settled, each with its attempt on record.

use std::sync::Arc;
use std::time::Instant;

use surefoot::{Client, EngineOptions, NoObserver, Policies};

use super::{Effort, add};
use crate::Outcome;
use crate::jobs;
use crate::place::Ground;
use crate::rounds::{compare, per_second};
use crate::runner::{Tally, start};
use crate::table::{Aim, Row, Unit};

/// How many attempts run at once, and so about how many jobs a claim takes. The first is the engine's default.
const BATCHES: [u32; 3] = [64, 100, 1000];

pub(super) async fn measure(ground: &Ground, effort: Effort, rows: &mut Vec<Row>) -> Outcome<()> {
    for batch in BATCHES {
        let place = ground.place().await?;
        let floor = place.floor().await?;
        let compared = compare(
            effort.rounds,
            async || carried_out(ground, batch, effort.batched).await,
            async || floor.claim_and_delete(batch as usize, effort.batched).await,
        )
        .await?;
        drop(floor);
        place.remove().await?;
        add(
            rows,
            Row {
                database: ground.name(),
                what: format!("jobs run to their end, {batch} at once"),
                compared,
                unit: Unit::PerSecond,
                aim: match ground {
                    Ground::Sqlite => Aim::PerSecond(12_000.0),
                    Ground::Postgres { .. } => Aim::Share(0.4),
                },
                floor_is: format!("claim {batch}, delete {batch}, no attempts"),
            },
        );
    }
    Ok(())
}

/// Jobs per second from the start of the engine to the last durable success.
async fn carried_out(ground: &Ground, batch: u32, count: usize) -> Outcome<f64> {
    let place = ground.place().await?;
    let store = place.store().await?;
    let policies = Arc::new(Policies::new());
    let client = Client::connect(Arc::clone(&store), policies, Arc::new(NoObserver)).await?;
    jobs::enqueue(&client, count, 1000).await?;
    client.flush().await;
    let tally = Arc::new(Tally::default());
    let options = EngineOptions {
        concurrency: batch,
        ..EngineOptions::default()
    };
    let begun = Instant::now();
    let engine = start(Arc::clone(&store), options, &tally).await?;
    tally.reach(count as u64).await?;
    let rate = per_second(count, begun.elapsed());
    engine.drain().await;
    tally.sound()?;
    let left = store.depth(client.now()).await?;
    if !left.counts.is_empty() {
        return Err(format!("{:?} are left of {count} jobs", left.counts).into());
    }
    drop((engine, client, store));
    place.remove().await?;
    Ok(rate)
}

//! Handing in, one by one from many tasks and in batches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use surefoot::{Client, Intent, NoObserver, Policies};
use tokio::task::JoinSet;

use super::{Effort, add};
use crate::Outcome;
use crate::jobs;
use crate::place::Ground;
use crate::rounds::{compare, per_second};
use crate::table::{Aim, Row, Unit};

/// How many tasks hand in at once.
const TASKS: [usize; 3] = [1, 16, 64];
/// How many jobs are handed in with one call.
const BATCHES: [usize; 2] = [100, 1000];

pub(super) async fn measure(ground: &Ground, effort: Effort, rows: &mut Vec<Row>) -> Outcome<()> {
    for tasks in TASKS {
        single(ground, effort, tasks, Keyed::No, Against::Single, rows).await?;
    }
    single(ground, effort, 16, Keyed::Yes, Against::Single, rows).await?;
    if matches!(ground, Ground::Sqlite) {
        for tasks in [16, 64] {
            single(ground, effort, tasks, Keyed::No, Against::Grouped, rows).await?;
        }
    }
    for batch in BATCHES {
        batched(ground, effort, batch, rows).await?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyed {
    Yes,
    No,
}

/// What single enqueues stand beside.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Against {
    /// One row per commit.
    Single,
    /// As many rows per commit as there are tasks: what grouping could reach.
    Grouped,
}

async fn single(
    ground: &Ground,
    effort: Effort,
    tasks: usize,
    keyed: Keyed,
    against: Against,
    rows: &mut Vec<Row>,
) -> Outcome<()> {
    let place = ground.place().await?;
    let floor = place.floor().await?;
    let compared = compare(
        effort.rounds,
        async || one_by_one(ground, tasks, effort.single, keyed).await,
        async || match against {
            Against::Single => floor.insert_single(tasks, effort.single).await,
            Against::Grouped => floor.insert_batches(tasks, effort.batched).await,
        },
    )
    .await?;
    drop(floor);
    place.remove().await?;
    let key = if keyed == Keyed::Yes {
        ", with a key"
    } else {
        ""
    };
    let aimed = matches!(ground, Ground::Postgres { .. }) && tasks > 1 && keyed == Keyed::No;
    add(
        rows,
        Row {
            database: ground.name(),
            what: format!("enqueue one by one, {tasks} tasks{key}"),
            compared,
            unit: Unit::PerSecond,
            aim: if aimed { Aim::Share(0.8) } else { Aim::None },
            floor_is: match (ground, against) {
                (Ground::Sqlite, Against::Single) => "one INSERT per commit, one writer".to_owned(),
                (Ground::Postgres { .. }, Against::Single) => {
                    format!("one INSERT per commit, {tasks} connections")
                }
                (_, Against::Grouped) => format!("{tasks} INSERTs per commit, one writer"),
            },
        },
    );
    Ok(())
}

/// Jobs per second from `tasks` that each wait for their answer.
async fn one_by_one(ground: &Ground, tasks: usize, lasts: Duration, keyed: Keyed) -> Outcome<f64> {
    let place = ground.place().await?;
    let client = client(place.store().await?).await?;
    let begun = Instant::now();
    let mut working = JoinSet::new();
    for task in 0..tasks {
        let client = client.clone();
        working.spawn(async move {
            let mut count = 0;
            while begun.elapsed() < lasts {
                let number = count * tasks + task;
                client.enqueue(intent(number as u64, keyed)?).await?;
                count += 1;
            }
            Outcome::Ok(count)
        });
    }
    let mut count = 0;
    while let Some(worked) = working.join_next().await {
        count += worked??;
    }
    let rate = per_second(count, begun.elapsed());
    client.flush().await;
    drop(client);
    place.remove().await?;
    Ok(rate)
}

fn intent(number: u64, keyed: Keyed) -> Outcome<Intent> {
    match keyed {
        Keyed::Yes => jobs::intent_with_key(number),
        Keyed::No => jobs::intent(number),
    }
}

async fn batched(
    ground: &Ground,
    effort: Effort,
    batch: usize,
    rows: &mut Vec<Row>,
) -> Outcome<()> {
    let place = ground.place().await?;
    let floor = place.floor().await?;
    let compared = compare(
        effort.rounds,
        async || in_batches(ground, batch, effort.batched).await,
        async || floor.insert_batches(batch, effort.batched).await,
    )
    .await?;
    drop(floor);
    place.remove().await?;
    add(
        rows,
        Row {
            database: ground.name(),
            what: format!("enqueue in batches of {batch}"),
            compared,
            unit: Unit::PerSecond,
            aim: Aim::None,
            floor_is: format!("{batch} rows per INSERT and commit"),
        },
    );
    Ok(())
}

async fn in_batches(ground: &Ground, batch: usize, count: usize) -> Outcome<f64> {
    let place = ground.place().await?;
    let client = client(place.store().await?).await?;
    let begun = Instant::now();
    jobs::enqueue(&client, count, batch).await?;
    let rate = per_second(count, begun.elapsed());
    client.flush().await;
    drop(client);
    place.remove().await?;
    Ok(rate)
}

async fn client(store: Arc<dyn surefoot_core::port::Store>) -> Outcome<Client> {
    let policies = Arc::new(Policies::new());
    Ok(Client::connect(store, policies, Arc::new(NoObserver)).await?)
}

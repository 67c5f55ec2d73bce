//! How soon an idle engine begins a job, with the options that nobody changed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use surefoot::{Client, NoObserver, Policies};

use super::{Effort, add};
use crate::Outcome;
use crate::floor::{PickUp, Told};
use crate::jobs;
use crate::place::Ground;
use crate::rounds::{Compared, Latencies};
use crate::runner::{Tally, start_telling};
use crate::table::{Aim, Row, Unit};

/// How long two jobs lie apart, so that the engine is idle again and has nothing left to announce.
const BETWEEN_SAMPLES: std::ops::Range<u64> = 20..40;
/// How long a job may take to begin.
const BEGIN_MAX: Duration = Duration::from_secs(30);

/// Who hands the job in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    SameProcess,
    OtherNode,
}

pub(super) async fn measure(ground: &Ground, effort: Effort, rows: &mut Vec<Row>) -> Outcome<()> {
    for from in [From::SameProcess, From::OtherNode] {
        let polled = from == From::OtherNode && matches!(ground, Ground::Sqlite);
        let samples = if polled {
            effort.samples_polled
        } else {
            effort.samples
        };
        let told = match from {
            From::SameProcess => Told::InProcess,
            From::OtherNode => Told::ByDatabase,
        };
        let (mut surefoot, mut floor) = (PickUp::default(), PickUp::default());
        for _ in 0..effort.rounds.min {
            let place = ground.place().await?;
            floor.extend(place.floor().await?.pick_up(told, samples).await?);
            place.remove().await?;
            surefoot.extend(begun(ground, from, samples).await?);
        }
        table_rows(ground, from, &surefoot, &floor, rows);
    }
    Ok(())
}

fn table_rows(ground: &Ground, from: From, surefoot: &PickUp, floor: &PickUp, rows: &mut Vec<Row>) {
    let aimed = matches!(ground, Ground::Postgres { .. });
    let whence = match from {
        From::SameProcess => "same process",
        From::OtherNode => "another node",
    };
    let ways = [
        ("call", &surefoot.from_call, &floor.from_call),
        ("answer", &surefoot.from_answer, &floor.from_answer),
    ];
    for (since, ours, raw) in ways {
        for (name, share, most) in [("p50", 0.5, 1.0), ("p99", 0.99, 4.0)] {
            add(
                rows,
                Row {
                    database: ground.name(),
                    what: format!("idle pick-up, {whence}, since the {since}, {name}"),
                    compared: compared(ours, raw, share),
                    unit: Unit::Milliseconds,
                    aim: if aimed { Aim::Below(most) } else { Aim::None },
                    floor_is: match (ground, from) {
                        (Ground::Postgres { .. }, From::OtherNode) => {
                            "INSERT, NOTIFY, claim one".to_owned()
                        }
                        _ => "INSERT, signal, claim one".to_owned(),
                    },
                },
            );
        }
    }
}

fn compared(surefoot: &Latencies, floor: &Latencies, share: f64) -> Compared {
    let (ours, raw) = (surefoot.quantile_ms(share), floor.quantile_ms(share));
    Compared {
        surefoot: ours,
        floor: raw,
        ratio: ours / raw,
        spread: None,
    }
}

/// Hands in one job at a time and takes the time until its handler begins.
async fn begun(ground: &Ground, from: From, samples: usize) -> Outcome<PickUp> {
    let place = ground.place().await?;
    let tally = Arc::new(Tally::default());
    let (engine, mut told) = start_telling(place.store().await?, &tally).await?;
    let client = match from {
        From::SameProcess => engine.client().clone(),
        From::OtherNode => {
            let policies = Arc::new(Policies::new());
            Client::connect(place.store().await?, policies, Arc::new(NoObserver)).await?
        }
    };
    let mut seen = PickUp::default();
    for number in 0..samples as u64 {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(BETWEEN_SAMPLES))).await;
        let intent = jobs::intent(number)?;
        let called = Instant::now();
        client.enqueue(intent).await?;
        let answered = Instant::now();
        let begun = tokio::time::timeout(BEGIN_MAX, told.recv()).await?;
        match begun {
            Some((same, begun)) if same == number => {
                seen.from_call.add(begun - called);
                seen.from_answer
                    .add(begun.saturating_duration_since(answered));
            }
            other => return Err(format!("job {number} was handed in, {other:?} began").into()),
        }
        tally.reach(number + 1).await?;
    }
    client.flush().await;
    engine.drain().await;
    drop((engine, client));
    place.remove().await?;
    Ok(seen)
}

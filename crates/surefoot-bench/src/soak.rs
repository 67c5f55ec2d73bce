//! A long run: a million jobs, then rest. It fails when memory grows with the number of jobs, when an idle engine
//! computes, or when an hour's worth of idle rounds leaves something behind. It ends by itself and removes what it made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use surefoot::{Engine, EngineOptions};

use crate::args::Soak;
use crate::place::{Ground, Place};
use crate::rounds::per_second;
use crate::runner::{Tally, start};
use crate::{Outcome, host, jobs};

/// How many jobs are handed in before the next are.
const CHUNK: u64 = 10_000;
/// How often the memory is shown.
const SHOWN_EVERY: u64 = 100_000;
/// How many attempts run at once.
const CONCURRENCY: u32 = 256;
/// By how much memory may grow over the second half of the jobs.
const GROWTH_MAX: u64 = 32 << 20;
/// By how much memory may grow while nothing is done.
const IDLE_GROWTH_MAX: u64 = 8 << 20;
/// How much of one core an idle engine may use.
const IDLE_SHARE_MAX: f64 = 0.01;
/// An idle hour is lived through in this time: every interval of the engine is shortened alike.
const HOUR_LASTS: Duration = Duration::from_secs(36);
/// By how much they are shortened.
const SHORTENED: u32 = 100;
/// How long an engine that came to rest is left alone before its rest is measured.
const SETTLE_DOWN: Duration = Duration::from_secs(2);

/// Soaks each database that is wanted.
pub(crate) async fn run(wanted: &Soak) -> Outcome<()> {
    for ground in Ground::of(wanted.databases)? {
        println!("{}; load {}", ground.described().await?, host::load());
        let place = ground.place().await?;
        let outcome = soak(wanted, &place).await;
        place.remove().await?;
        outcome?;
    }
    println!("all within their bounds; load {}", host::load());
    Ok(())
}

async fn soak(wanted: &Soak, place: &Place) -> Outcome<()> {
    let tally = Arc::new(Tally::default());
    let options = EngineOptions {
        concurrency: CONCURRENCY,
        ..EngineOptions::default()
    };
    let engine = start(place.store().await?, options, &tally).await?;
    run_jobs(&engine, &tally, wanted.jobs).await?;
    idle(Duration::from_secs(wanted.idle_seconds)).await?;
    engine.drain().await;
    tally.sound()?;
    drop(engine);
    idle_hour(place).await
}

/// Runs so many jobs and compares the memory at half of them with the memory at the end.
async fn run_jobs(engine: &Engine, tally: &Tally, jobs: u64) -> Outcome<()> {
    let begun = Instant::now();
    let mut done = 0;
    let mut at_half = None;
    while done < jobs {
        let count = CHUNK.min(jobs - done);
        jobs::enqueue(engine.client(), usize::try_from(count)?, 1000).await?;
        done += count;
        tally.reach(done).await?;
        if done * 2 >= jobs && at_half.is_none() {
            at_half = Some(host::memory_bytes()?);
        }
        if done % SHOWN_EVERY == 0 || done == jobs {
            let rate = per_second(usize::try_from(done)?, begun.elapsed());
            println!(
                "{done:>9} jobs run, {rate:.0}/s with enqueuing, memory {}",
                mib(host::memory_bytes()?)
            );
        }
    }
    let half = at_half.unwrap_or_default();
    bounded("over the second half of the jobs", half, GROWTH_MAX)
}

/// Leaves the engine alone and looks at how much it computes.
async fn idle(lasts: Duration) -> Outcome<()> {
    tokio::time::sleep(SETTLE_DOWN).await;
    let before = host::memory_bytes()?;
    let (computed, begun) = (host::computing_time()?, Instant::now());
    tokio::time::sleep(lasts).await;
    let computed = host::computing_time()?.saturating_sub(computed);
    let share = computed.as_secs_f64() / begun.elapsed().as_secs_f64();
    println!(
        "idle for {lasts:?}: {computed:?} of computing, {:.2} % of a core (at most {:.0} %)",
        share * 100.0,
        IDLE_SHARE_MAX * 100.0
    );
    if share > IDLE_SHARE_MAX {
        return Err("the idle engine computes too much".into());
    }
    bounded("while idle", before, IDLE_GROWTH_MAX)
}

/// Lives through as many idle rounds of each loop as an hour has, in a hundredth of the time. The heartbeat alone keeps
/// its own pace.
async fn idle_hour(place: &Place) -> Outcome<()> {
    let tally = Arc::new(Tally::default());
    let usual = EngineOptions::default();
    let options = EngineOptions {
        poll: usual.poll / SHORTENED,
        sweep: usual.sweep / SHORTENED,
        ..usual
    };
    let engine = start(place.store().await?, options, &tally).await?;
    tokio::time::sleep(SETTLE_DOWN).await;
    let before = host::memory_bytes()?;
    tokio::time::sleep(HOUR_LASTS).await;
    let grown = bounded("over an hour of idle rounds", before, IDLE_GROWTH_MAX);
    engine.drain().await;
    tally.sound()?;
    grown
}

fn bounded(when: &str, before: u64, growth_max: u64) -> Outcome<()> {
    let after = host::memory_bytes()?;
    let grown = after.saturating_sub(before);
    println!(
        "memory {when}: {} to {}, grown by {} (at most {})",
        mib(before),
        mib(after),
        mib(grown),
        mib(growth_max)
    );
    if grown > growth_max {
        return Err(format!("memory grew by {} {when}", mib(grown)).into());
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "memory is below 2^52 bytes")]
fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

//! Many worlds on two threads, and what came of them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use surefoot_sim::seeds::{Limits, Ran, Tally, described, shrunk, world};

const THREADS: usize = 2;
/// How many failing seeds are told at most.
const FAILURES_MAX: usize = 5;

/// Runs worlds `from..from + seeds`; answers whether all is well.
pub(crate) fn run(seeds: u64, from: u64, brief: bool) -> std::io::Result<bool> {
    let begun = Instant::now();
    let next = AtomicU64::new(from);
    let found = Mutex::new((Tally::default(), Vec::new()));
    let answers: Vec<std::io::Result<()>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| work(&next, from + seeds, &found)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err(panicked())))
            .collect()
    });
    for answer in answers {
        answer?;
    }
    let (tally, failures) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!(
        "{tally}\n{seeds} worlds from seed {from} in {:.1?}",
        begun.elapsed()
    );
    for (seed, ran) in &failures {
        tell(*seed, ran, brief)?;
    }
    // Where a world failed, the others may not have been run.
    let rare = if failures.is_empty() {
        tally.too_rare(seeds)
    } else {
        Vec::new()
    };
    for what in &rare {
        println!("too little went wrong: {what}");
    }
    Ok(failures.is_empty() && rare.is_empty())
}

fn panicked() -> std::io::Error {
    std::io::Error::other("a world panicked outside of its engine")
}

fn work(
    next: &AtomicU64,
    end: u64,
    found: &Mutex<(Tally, Vec<(u64, Ran)>)>,
) -> std::io::Result<()> {
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return Ok(());
        }
        let ran = world(seed, &BTreeSet::new(), Limits::default(), false)?;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        found.0.merge(&ran.tally);
        if !ran.broken.is_empty() {
            found.1.push((seed, ran));
            if found.1.len() >= FAILURES_MAX {
                next.store(end, Ordering::Relaxed);
            }
        }
    }
}

/// Tells of a world that failed, made as small as it goes unless it is told in brief.
fn tell(seed: u64, ran: &Ran, brief: bool) -> std::io::Result<()> {
    for (invariant, how) in &ran.broken {
        println!("\nseed {seed}: {invariant} does not hold: {how}");
    }
    let without = if brief {
        BTreeSet::new()
    } else {
        shrunk(seed, Limits::default(), ran)?
    };
    println!("what is enough for it: {}", described(seed, &without));
    let numbers: Vec<String> = without.iter().map(ToString::to_string).collect();
    let without = if numbers.is_empty() {
        String::new()
    } else {
        format!(" --without {}", numbers.join(","))
    };
    println!("again: cargo run --release -p surefoot-sim -- --seed {seed}{without} --trace");
    Ok(())
}

/// Runs one world; answers whether all is well.
pub(crate) fn one(seed: u64, without: &BTreeSet<usize>, trace: bool) -> std::io::Result<bool> {
    println!("{}", described(seed, without));
    let ran = world(seed, without, Limits::default(), trace)?;
    for line in &ran.lines {
        println!("{line}");
    }
    println!("trace {:016x}", ran.trace);
    for (invariant, how) in &ran.broken {
        println!("{invariant} does not hold: {how}");
    }
    Ok(ran.broken.is_empty())
}

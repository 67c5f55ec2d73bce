//! Several processes on one file: they wait for one another, and no job is lost or run twice (symptom 147).

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::port::{Settled, Store};
use surefoot_store::sqlite::SqliteStore;

use super::fixture::{Place, START, at, claim, job, open, success, take};

/// Set for a copy of this test binary that plays the other process.
const ROLE: &str = "SUREFOOT_TEST_FILE";

/// The file that this process is to work on, when it is such a copy.
fn role() -> Option<std::path::PathBuf> {
    std::env::var_os(ROLE).map(Into::into)
}

/// Starts a copy of this test binary that runs only this test, in the other role.
fn copy(test: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Prints a line that the other process finds among those of the test harness.
fn tell(id: JobId) {
    println!("\nid {id}");
}

fn told(line: &str) -> Option<JobId> {
    line.strip_prefix("id ").map(|id| id.parse().unwrap())
}

const JOBS_EACH: usize = 200;

/// Enqueues jobs one by one, and settles whatever it can claim until nothing is left.
async fn work(store: &SqliteStore, settled: impl Fn(JobId)) {
    for _ in 0..JOBS_EACH {
        store.enqueue(&[job("mail")], START).await.unwrap();
        for leased in take(store, "mail", 2).await {
            let answer = store
                .advance(&[success(&leased, at(2))], None, at(2))
                .await
                .unwrap();
            assert_eq!(answer.settled, [Settled::Applied]);
            settled(leased.id);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn eight_processes_share_one_file() {
    const SELF: &str = "sqlite::processes::eight_processes_share_one_file";
    if let Some(path) = role() {
        return work(&open(&path).await, tell).await;
    }
    let place = Place::new();
    let children: Vec<_> = (0..8).map(|_| copy(SELF, &place.path())).collect();
    let mut seen = HashSet::new();
    for child in children {
        let output = tokio::task::spawn_blocking(|| child.wait_with_output().unwrap())
            .await
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{text}");
        for id in text.lines().filter_map(told) {
            assert!(seen.insert(id), "no-double-effect: {id} was settled twice");
        }
    }
    let store = place.open().await;
    let left = take(&store, "mail", 1000).await.len();
    assert_eq!(seen.len() + left, 8 * JOBS_EACH, "no-lost-intent");
    assert!(
        seen.len() > 7 * JOBS_EACH,
        "{} were settled while others wrote",
        seen.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_kill_9() {
    const SELF: &str = "sqlite::processes::what_was_acknowledged_survives_kill_9";
    if let Some(path) = role() {
        let store = open(&path).await;
        loop {
            let new = job("mail");
            store
                .enqueue(std::slice::from_ref(&new), START)
                .await
                .unwrap();
            tell(new.id);
            let leased = store
                .advance(&[], Some(&claim("mail", 1)), at(1))
                .await
                .unwrap()
                .leased;
            store
                .advance(&[success(&leased[0], at(2))], None, at(2))
                .await
                .unwrap();
        }
    }
    for round in 0..5 {
        let place = Place::new();
        let acknowledged = kill_after(copy(SELF, &place.path()), 50 + round * 37);
        let store = place.open().await;
        for id in &acknowledged {
            let record = store
                .job(*id)
                .await
                .unwrap()
                .expect("no-lost-intent: it was acknowledged");
            assert_eq!(
                record.attempts.len(),
                record.job.counts.starts as usize,
                "every-attempt-logged"
            );
        }
        let check: String = place
            .connect()
            .query_row("pragma integrity_check", (), |row| row.get(0))
            .unwrap();
        assert_eq!(check, "ok");
        same_counters(&place);
    }
}

/// Kills the child with SIGKILL once it told so many ids; answers all that it told.
fn kill_after(mut child: Child, ids_min: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        ids.extend(told(&line.unwrap()));
        if ids.len() == ids_min {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(
        ids.len() >= ids_min,
        "the child ended by itself after {}",
        ids.len()
    );
    ids
}

/// The counters say what the rows say.
fn same_counters(place: &Place) {
    let connection = place.connect();
    let lines = |sql: &str| -> Vec<(String, String, String, i64)> {
        let mut select = connection.prepare(sql).unwrap();
        let rows = select.query_map((), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(
        lines("select queue, kind, state, count from surefoot_depth order by 1, 2, 3"),
        lines(
            "select queue, kind, state, count(*) from surefoot_job group by 1, 2, 3 order by 1, 2, 3"
        )
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_never_ends_makes_the_store_unavailable_not_stuck() {
    let place = Place::new();
    let store = place.open().await;
    let other = place.connect();
    other.execute_batch("begin immediate").unwrap();
    let begun = Instant::now();
    let error = store.enqueue(&[job("mail")], START).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let waited = begun.elapsed();
    assert!(
        (Duration::from_secs(5)..Duration::from_secs(60)).contains(&waited),
        "{waited:?}"
    );
    other.execute_batch("rollback").unwrap();
    store.enqueue(&[job("mail")], START).await.unwrap();
    assert_eq!(
        take(&store, "mail", 10).await.len(),
        1,
        "what was not answered was not written"
    );
}

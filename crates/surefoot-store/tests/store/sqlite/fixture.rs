//! Jobs, claims and settlements in their plainest form, and a store on a file of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use surefoot_core::id::{JobId, Kind, Queue, Tenant, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues, Store};
use surefoot_core::settle::{Report, Settlement, settle};
use surefoot_core::time::{Roll, Timestamp};
use surefoot_store::sqlite::SqliteStore;
use tempfile::TempDir;

/// When every test begins: 2026-03-01T12:00:00Z.
pub(super) const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// `seconds` after [`START`].
pub(super) fn at(seconds: u64) -> Timestamp {
    START.after(Duration::from_secs(seconds))
}

/// A folder with the path of a file in it.
pub(super) struct Place {
    folder: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("surefoot.db")
    }

    pub(super) async fn open(&self) -> SqliteStore {
        open(&self.path()).await
    }

    /// A connection of the test's own.
    pub(super) fn connect(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.busy_timeout(Duration::from_secs(30)).unwrap();
        connection
    }
}

pub(super) async fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path).await.unwrap()
}

pub(super) fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

/// A job that no other has the id of.
pub(super) fn job(kind_name: &str) -> NewJob {
    let mut random = [0; 10];
    random.fill_with(|| fastrand::u8(..));
    NewJob {
        id: JobId::new(START, random),
        tenant: Tenant::single(),
        kind: kind(kind_name),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

pub(super) fn claim(kind_name: &str, max: u32) -> Claim {
    Claim {
        worker: Worker::new("worker-1").unwrap(),
        kinds: vec![KindTerms {
            kind: kind(kind_name),
            lease: Duration::from_secs(40),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }],
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max,
    }
}

pub(super) fn success(job: &LeasedJob, now: Timestamp) -> Settlement {
    settle(
        job,
        &[],
        Report::Succeeded(Payload::null()),
        &JobPolicy::default(),
        now,
        Roll(0),
    )
}

/// What a claim of this kind takes.
pub(super) async fn take(store: &SqliteStore, kind_name: &str, max: u32) -> Vec<LeasedJob> {
    store
        .advance(&[], Some(&claim(kind_name, max)), at(1))
        .await
        .unwrap()
        .leased
}

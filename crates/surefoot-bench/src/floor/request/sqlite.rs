//! On SQLite: one connection that writes, a few that read, on the threads that block, as a service does it that must not hold
//! up its runtime; or on the caller's thread, which is quicker and holds it up while the disk is slow.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension as _};

use super::{CLAIMED, FIELDS, FINGERPRINT, FINISHED, new_id, now};
use crate::Outcome;
use crate::floor::sqlite::open;

const TABLE: &str = "-- floor: an empty table
    create table raw_request (
        tenant text not null,
        key text not null,
        id blob not null unique,
        method text not null,
        route text not null,
        fingerprint_version integer not null,
        fingerprint blob not null,
        fields text not null,
        claimed_at integer not null,
        version integer not null,
        state text not null,
        since integer not null,
        due_at integer,
        leaves_at integer,
        document text not null,
        body blob,
        primary key (tenant, key)
    ) strict";
const OPEN: &str = "-- floor: what is open
    create index raw_request_open on raw_request (state, due_at, id) where state = 'claimed'";
const LEAVING: &str = "-- floor: what leaves next
    create index raw_request_leaving on raw_request (leaves_at, id) where state = 'finished'";
const CLAIM: &str = "-- floor: claim a key
    insert into raw_request (tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at, version,
        state, since, due_at, document)
    values ('default', ?1, ?2, 'POST', '/payments', 1, ?3, ?4, ?5, 1, 'claimed', ?5, ?5 + 60000000, ?6)
    on conflict do nothing";
const FINISH: &str = "-- floor: keep the answer
    update raw_request set version = 2, state = 'finished', since = ?2, due_at = null, leaves_at = ?2 + 86400000000,
        document = ?3, body = ?4
    where tenant = 'default' and key = ?1";
const STORED: &str = "-- floor: the answer
    select body from raw_request where tenant = 'default' and key = ?1";

/// As many as the store has.
const READERS: usize = 3;

/// The connections.
#[derive(Clone)]
pub(crate) struct Requests {
    writer: Arc<Mutex<Connection>>,
    readers: Arc<[Mutex<Connection>; READERS]>,
    reads_at_once: bool,
}

impl Requests {
    pub(super) fn open(file: &Path) -> Outcome<Self> {
        let writer = open(file)?;
        for statement in [TABLE, OPEN, LEAVING] {
            writer.execute_batch(statement)?;
        }
        let reader = || open(file).map(Mutex::new);
        Ok(Self {
            readers: Arc::new([reader()?, reader()?, reader()?]),
            writer: Arc::new(Mutex::new(writer)),
            reads_at_once: false,
        })
    }

    /// The same, and it reads on the caller's thread.
    pub(super) fn at_once(self) -> Self {
        Self {
            reads_at_once: true,
            ..self
        }
    }

    pub(super) async fn claim(&self, key: String) -> Outcome<bool> {
        self.write(move |connection| {
            let mut claim = connection.prepare_cached(CLAIM)?;
            let (id, now) = new_id();
            let id = id.as_uuid().into_bytes();
            let rows = claim.execute((key, id, FINGERPRINT, FIELDS, now, CLAIMED))?;
            Ok(rows == 1)
        })
        .await
    }

    pub(super) async fn finish(&self, key: String, body: Vec<u8>) -> Outcome<()> {
        self.write(move |connection| {
            let mut finish = connection.prepare_cached(FINISH)?;
            finish.execute((key, now(), FINISHED, body))?;
            Ok(())
        })
        .await
    }

    pub(super) async fn stored(&self, key: String) -> Outcome<Option<Vec<u8>>> {
        if self.reads_at_once {
            return self.read(&key);
        }
        let requests = self.clone();
        tokio::task::spawn_blocking(move || requests.read(&key)).await?
    }

    fn read(&self, key: &str) -> Outcome<Option<Vec<u8>>> {
        let free = self
            .readers
            .iter()
            .find_map(|reader| reader.try_lock().ok());
        let connection = free.unwrap_or_else(|| {
            let reader = &self.readers[fastrand::usize(..READERS)];
            reader.lock().unwrap_or_else(PoisonError::into_inner)
        });
        let mut stored = connection.prepare_cached(STORED)?;
        let body: Option<Option<Vec<u8>>> = stored.query_row([key], |row| row.get(0)).optional()?;
        Ok(body.flatten())
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Outcome<T> + Send + 'static,
    ) -> Outcome<T> {
        let writer = Arc::clone(&self.writer);
        tokio::task::spawn_blocking(move || {
            work(&writer.lock().unwrap_or_else(PoisonError::into_inner))
        })
        .await?
    }
}

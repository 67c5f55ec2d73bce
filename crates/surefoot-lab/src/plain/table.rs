//! The rows of the plain loop, in SQLite, as durable as Surefoot's. The statements stand here and not in the store,
//! because they are the contestant's.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, params};

use crate::error::LabError;
use crate::standing::Standing;

/// How long to wait for another process that writes.
const BUSY_MAX: Duration = Duration::from_secs(10);
/// The same durability as the store's.
const PRAGMAS: &str = "pragma journal_mode = wal; pragma synchronous = full;";
const CREATE: &str = "-- plain: the table
    create table if not exists plain_job (
        id integer primary key autoincrement,
        payload text not null,
        state text not null default 'waiting',
        tries integer not null default 0,
        due_at integer not null default 0,
        claimed_until integer not null default 0,
        result text
    ) strict";
const INSERT: &str = "-- plain: hand in
    insert into plain_job (payload) values (?1)";
const CLAIM: &str = "-- plain: claim what waits, and what was claimed and not marked in time
    update plain_job set state = 'running', tries = tries + 1, claimed_until = ?2
    where id in (
        select id from plain_job
        where (state = 'waiting' and due_at <= ?1) or (state = 'running' and claimed_until <= ?1)
        order by id limit ?3)
    returning id, payload, tries";
const DONE: &str = "-- plain: mark as done
    update plain_job set state = 'done', result = ?2 where id = ?1";
const AGAIN: &str = "-- plain: try again later
    update plain_job set state = 'waiting', due_at = ?2 where id = ?1";
const FAILED: &str = "-- plain: give up
    update plain_job set state = 'failed', result = ?2 where id = ?1";
const ALL: &str = "-- plain: how all stand
    select payload, state, result from plain_job order by id";

/// A claimed row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) payload: String,
    /// How often it was claimed, this time included.
    pub(crate) tries: u32,
}

/// The table.
pub(crate) struct Table(Connection);

impl Table {
    /// Opens the file, and makes it when it is not there.
    pub(crate) fn open(path: &Path) -> Result<Self, LabError> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(BUSY_MAX)?;
            connection.execute_batch(PRAGMAS)?;
            connection.execute_batch(CREATE)?;
            Ok(connection)
        };
        open().map(Self).map_err(failed("open the rows"))
    }

    /// Hands in a job.
    pub(crate) fn hand_in(&self, payload: &str) -> Result<(), LabError> {
        let inserted = self.0.execute(INSERT, [payload]);
        inserted.map(drop).map_err(failed("hand in a row"))
    }

    /// Claims at most `most` rows until `lease` from now.
    pub(crate) fn claim(&self, most: usize, lease: Duration) -> Result<Vec<Row>, LabError> {
        let (now, most) = (now_ms(), i64::try_from(most).unwrap_or(i64::MAX));
        let claim = || -> rusqlite::Result<Vec<Row>> {
            let mut statement = self.0.prepare_cached(CLAIM)?;
            let rows = statement.query_map(params![now, now + millis(lease), most], |row| {
                Ok(Row {
                    id: row.get(0)?,
                    payload: row.get(1)?,
                    tries: row.get(2)?,
                })
            })?;
            rows.collect()
        };
        claim().map_err(failed("claim rows"))
    }

    /// Marks a row as done.
    pub(crate) fn done(&self, id: i64, result: &str) -> Result<(), LabError> {
        let marked = self.0.execute(DONE, params![id, result]);
        marked.map(drop).map_err(failed("mark a row"))
    }

    /// Lets a row be claimed again after `pause`.
    pub(crate) fn again(&self, id: i64, pause: Duration) -> Result<(), LabError> {
        let due = now_ms() + millis(pause);
        let marked = self.0.execute(AGAIN, params![id, due]);
        marked.map(drop).map_err(failed("mark a row"))
    }

    /// Marks a row as failed for good.
    pub(crate) fn fail(&self, id: i64, error: &str) -> Result<(), LabError> {
        let marked = self.0.execute(FAILED, params![id, error]);
        marked.map(drop).map_err(failed("mark a row"))
    }

    /// Every row's payload and how it stands, in the order in which they were handed in.
    pub(crate) fn all(&self) -> Result<Vec<(String, Standing)>, LabError> {
        let all = || -> rusqlite::Result<Vec<(String, Standing)>> {
            let mut statement = self.0.prepare_cached(ALL)?;
            let rows = statement.query_map([], |row| {
                let (state, result): (String, Option<String>) = (row.get(1)?, row.get(2)?);
                let result = result.unwrap_or_default();
                let standing = match state.as_str() {
                    "done" => Standing::Done(result),
                    "failed" => Standing::Failed(result),
                    _ => Standing::Open,
                };
                Ok((row.get(0)?, standing))
            })?;
            rows.collect()
        };
        all().map_err(failed("read the rows"))
    }
}

fn failed(what: &'static str) -> impl FnOnce(rusqlite::Error) -> LabError {
    move |source| LabError::Rows { what, source }
}

/// Processes on one host share this clock.
fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    millis(since)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_claimed_once_until_its_claim_runs_out() {
        let folder = tempfile::tempdir().unwrap();
        let table = Table::open(&folder.path().join("t.db")).unwrap();
        table.hand_in("a").unwrap();
        table.hand_in("b").unwrap();
        let long = Duration::from_secs(60);
        let first = table.claim(1, Duration::ZERO).unwrap();
        assert_eq!(
            first,
            [Row {
                id: 1,
                payload: "a".into(),
                tries: 1
            }]
        );
        let both = table.claim(10, long).unwrap();
        assert_eq!(
            both.iter()
                .map(|row| (row.id, row.tries))
                .collect::<Vec<_>>(),
            [(1, 2), (2, 1)]
        );
        assert_eq!(table.claim(10, long).unwrap(), []);

        table.again(1, Duration::ZERO).unwrap();
        table.fail(2, "no").unwrap();
        assert_eq!(table.claim(10, long).unwrap().len(), 1);
        table.done(1, "r").unwrap();
        let expected = [
            ("a".to_owned(), Standing::Done("r".into())),
            ("b".to_owned(), Standing::Failed("no".into())),
        ];
        assert_eq!(table.all().unwrap(), expected);
    }
}

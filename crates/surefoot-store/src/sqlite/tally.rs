//! Counters of jobs by queue, kind and state, kept in memory during a transaction and written once before its commit.
//! They are for people who look: nothing that decides about work may read them.

use std::collections::HashMap;

use rusqlite::Connection;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Kind, Queue};
use surefoot_core::job::StateName;

use super::fault::store_error;

statements! {
    ADD = "-- tally: add to a counter
        insert into surefoot_depth (queue, kind, state, count) values (?1, ?2, ?3, ?4)
        on conflict (queue, kind, state) do update set count = count + excluded.count";
    DROP_EMPTY = "-- tally: a counter that counts nothing goes
        delete from surefoot_depth where queue = ?1 and kind = ?2 and state = ?3 and count <= 0";
}

/// What a transaction changed in the counters.
#[derive(Debug, Default)]
pub(super) struct Tally {
    changes: HashMap<(Queue, Kind), [i64; COUNTED.len()]>,
}

/// The states that are counted.
const COUNTED: [StateName; 5] = [
    StateName::Pending,
    StateName::Running,
    StateName::Retrying,
    StateName::Verifying,
    StateName::Dead,
];

impl Tally {
    /// A job of this queue and kind went from one state to another; `None` is outside the table of jobs.
    pub(super) fn moved(
        &mut self,
        queue: &Queue,
        kind: &Kind,
        from: Option<StateName>,
        to: Option<StateName>,
    ) {
        let counts = self
            .changes
            .entry((queue.clone(), kind.clone()))
            .or_default();
        for (state, change) in [(from, -1), (to, 1)] {
            if let Some(index) = COUNTED.iter().position(|counted| Some(*counted) == state) {
                counts[index] += change;
            }
        }
    }

    /// Takes over what another part of the same transaction changed.
    pub(super) fn absorb(&mut self, other: Self) {
        for (lane, changes) in other.changes {
            let counts = self.changes.entry(lane).or_default();
            for (count, change) in counts.iter_mut().zip(changes) {
                *count += change;
            }
        }
    }

    /// Writes the changes.
    pub(super) fn write(&mut self, connection: &Connection) -> Result<(), StoreError> {
        for ((queue, kind), changes) in self.changes.drain() {
            for (state, change) in COUNTED
                .iter()
                .zip(changes)
                .filter(|(_, change)| *change != 0)
            {
                let line = (queue.as_str(), kind.as_str(), state.as_str());
                connection
                    .prepare_cached(ADD)
                    .and_then(|mut add| add.execute((line.0, line.1, line.2, change)))
                    .map_err(store_error)?;
                if change < 0 {
                    connection
                        .prepare_cached(DROP_EMPTY)
                        .and_then(|mut drop| drop.execute(line))
                        .map_err(store_error)?;
                }
            }
        }
        Ok(())
    }
}

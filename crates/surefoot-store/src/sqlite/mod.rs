//! The port on one SQLite file: a single writer thread that commits in groups, and readers beside it.
//!
//! - [`SqliteStore`] is the store. `writer` owns the only connection that writes; every verb that writes is an
//!   operation that it runs inside a savepoint of its own, many of them under one durable commit. `readers` own
//!   connections that cannot write, `glance` some for looks so short that no thread is changed for them.
//! - `enqueue`, `settle`, `claim`, `lease`, `steer` and so on hold the verbs, each beside its SQL.
//! - `message`, `message_take`, `message_mark` and so on are the outbox, `receipt` the inbox; `message_line` says who of a key
//!   is in front.
//! - `order_line`, `claim::crowd` and the column `readiness` keep jobs that cannot run out of the way of a claim.
//!
//! What must never happen here: a `BEGIN` that is not `IMMEDIATE` before a write, a write outside the writer thread
//! (the caller's own transaction apart), a decision by the counters of `tally`, and a write under a lease without the
//! epoch in its condition.

/// Declares the SQL statements of a file, and `ALL` of them for the test that prepares each one.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)+) => {
        $($(#[$doc])* const $name: &str = $sql;)+
        #[cfg(test)]
        pub(in crate::sqlite) const ALL: &[&str] = &[$($name),+];
    };
}

mod cancel;
mod claim;
mod connection;
mod dead_groups;
mod depth;
mod effect;
mod enqueue;
mod expire;
mod fault;
mod glance;
mod late;
mod lease;
mod ledger;
mod list;
mod mailbox;
mod maintain;
mod message;
mod message_forget;
mod message_line;
mod message_list;
mod message_mark;
mod message_port;
mod message_steer;
mod message_take;
mod operation;
mod order_line;
mod own_transaction;
mod pause;
mod port;
mod readers;
mod receipt;
mod record;
mod request;
mod request_forget;
mod request_list;
mod request_port;
mod request_transaction;
mod row;
mod schema;
mod settle;
#[cfg(test)]
mod statements;
mod steer;
#[cfg(test)]
mod steps;
mod store;
mod tally;
mod writer;

pub use fault::store_error;
pub use request_transaction::{SqliteRequestTransactions, SqliteTransaction};
pub use rusqlite;
pub use store::SqliteStore;

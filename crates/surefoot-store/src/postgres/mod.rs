//! The port on PostgreSQL 13 and newer: any number of nodes share one schema of one database.
//!
//! - [`PostgresStore`] is the store; [`PostgresOptions`] says where and how.
//! - `connections` hands out connections and `call` bounds every statement by time: a connection that did not answer in
//!   time is closed, never used again. `fault` says what an error means, `front` where claims begin.
//! - What must be atomic or must look twice (settle and claim, keys, limits, order) is a function in the database, laid
//!   down by `migrations`; the verbs here bind arguments and read rows. The files named after the verbs hold them, each
//!   beside its SQL; `advance` is settle and claim in one, `group` lets enqueues share a commit.
//!   `message`, `message_deliver`, `message_list` and `receipt` do the same for messages.
//! - `own_transaction` is what goes into the caller's own transaction.
//!
//! What must never happen here: a decision by a row that was read in an earlier statement, a write under a lease without
//! the epoch in its condition, a session-level lock or setting that a verb relies on (poolers share sessions), and a
//! notification inside somebody's transaction that did not ask for it.

/// Declares the SQL statements of a file, and `ALL` of them for the test that prepares each one.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)+) => {
        $($(#[$doc])* const $name: &str = $sql;)+
        #[cfg(test)]
        pub(in crate::postgres) const ALL: &[&str] = &[$($name),+];
    };
}

mod advance;
mod announce;
mod call;
mod cancel;
mod clock;
mod connections;
mod dead_groups;
mod depth;
mod effect;
mod enqueue;
mod expire;
mod fault;
mod front;
mod group;
mod heart;
mod late;
mod lease;
mod list;
mod maintain;
mod message;
mod message_deliver;
mod message_list;
mod message_port;
mod migrate;
mod options;
mod own_transaction;
mod pause;
mod port;
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
mod store;
mod within;

pub use options::PostgresOptions;
pub use request_transaction::PostgresRequestTransactions;
pub use sqlx;
pub use store::PostgresStore;

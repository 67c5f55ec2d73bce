//! A consumer that adds points to an account for each event. It is written once: whether an event is new is asked of an
//! [`Inbox`] in the transaction that applies it, and the naive consumer has [`none`](NoInbox).

mod account;
mod inbox;
mod worker;

pub(crate) use account::Account;
pub use inbox::{BoxError, Inbox, NoInbox, PgConnection, SqliteTransaction};
pub use worker::{ConsumerOptions, consume};

/// Whose points the events are about.
pub(crate) const USER: &str = "ada";

//! Remembers: the ports of `surefoot-core` on SQLite and on PostgreSQL. Every SQL statement and every migration of
//! Surefoot lives here, and no type of a database driver crosses a port.
//!
//! [`open`] goes from a URL to a store, [`open_ports`] to all its ports. [`sqlite`] and [`postgres`] share no SQL: each
//! does what its database does well. What holds them together is the store contract in `surefoot-testkit`, which both pass.

mod echo;
mod effect_record;
mod not_settled;
mod open;
pub mod postgres;
mod request_record;
pub mod sqlite;

pub use not_settled::NotSettled;
pub use open::{OpenError, Ports, open, open_ports};

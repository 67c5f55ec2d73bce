//! A shop as a service that a reader would copy: it stays right, and its pages stay up, while what it calls hangs, drops answers
//! or is away, and while it is killed itself.
//!
//! - [`payments`] is `POST /payments`: claim, order, event, charging job and answer are one commit. [`charge`] is that job,
//!   with the one call that must not happen twice; [`provider`] is whom it calls. [`orders`] holds the rows, [`events`] what is told of them.
//! - [`catalogue`] is the product page, [`recommendations`] the widget on it that it can do without.
//! - [`exports`] is `POST /exports`: 202, where to look, a stream of the progress, and a file.
//! - [`loyalty`] is given every event at least once and adds its points once.
//! - [`customers`] says whose request it is, [`settings`] holds every time and address, [`service`] puts it together, and `doors` says which address leads where.
//!
//! ```text
//! cargo run -p shop --bin shop-outside &     # stands for the provider and the recommendations
//! cargo run -p shop &
//! curl -i 127.0.0.1:8080/payments -H 'idempotency-key: p-1' --json '{"product":"rope"}'
//! ```
//!
//! Everything is in one SQLite file. On PostgreSQL the transaction of a handler is one of sqlx, which is awaited statement by
//! statement where this one runs a closure; the parts and their places are the same (`docs/front-door.md`).

pub mod catalogue;
pub mod charge;
pub mod customers;
mod doors;
pub mod events;
pub mod exports;
pub mod loyalty;
pub mod orders;
pub mod payments;
pub mod provider;
pub mod recommendations;
pub mod refused;
pub mod service;
pub mod settings;

/// What can go wrong in the example itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

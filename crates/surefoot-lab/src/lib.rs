//! Breaks real processes on purpose and counts what came of it: `surefoot lab faults` and `surefoot lab chaos`.
//!
//! It knows Surefoot only from outside, as its users do: it starts the binary, writes a `surefoot.toml`, speaks the HTTP
//! API, and keeps the books of the provider that is called. So it uses no crate of the workspace, and nothing in here can
//! be kinder to Surefoot than to the plain retrying loop that stands beside it.
//!
//! - [`faults`]: five faults, three contestants, fifty intents each.
//! - [`chaos`]: `kill -9` at random moments, round after round.
//! - [`double_charge`]: two requests with one key at the same moment.
//! - [`consumer`]: a consumer of events that dies before it commits its offset.
//! - [`plain`]: the loop that most queues are, and the service and the consumer as they are usually written.
//!
//! Everything listens on the loopback and lives in a temporary folder. Every process that is started is ended by its id,
//! also when something fails or a signal asks to stop; only a lab that is itself ended by `kill -9` leaves them behind.

mod api;
pub mod chaos;
pub mod consumer;
mod count;
pub mod double_charge;
mod error;
pub mod faults;
mod intent;
mod loopback;
mod node;
mod place;
pub mod plain;
mod process;
mod provider;
mod standing;
mod wait;

pub use count::Count;
pub use error::LabError;
pub use place::{Database, DatabaseName, Place};

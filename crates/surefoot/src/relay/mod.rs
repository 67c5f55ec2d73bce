//! The relay: what delivers the messages of the outbox to their sinks. `run` takes and spawns, one loop for each sink; `key`
//! delivers one key in its order; `marks` writes down how it went; `upkeep` has the store forget. What follows from an answer is decided in the core.
//!
//! It must never mark what a sink has not answered for, begin a delivery that may not end within its lease, or go on with a
//! key after a delivery that did not end.

mod builder;
mod events;
mod handle;
mod key;
mod marks;
mod options;
mod run;
mod sink;
mod upkeep;

pub use builder::{RelayBuilder, RelayStartError};
pub use events::{NoRelayObserver, RelayEvent, RelayObserver};
pub use handle::{Relay, RelayDrained};
pub use options::RelayOptions;
pub use sink::Sink;

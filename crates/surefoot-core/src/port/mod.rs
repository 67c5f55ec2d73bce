//! The port between the engine and what remembers. Each verb is one atomic transition, cut by use case; a store
//! applies what core decided and answers what it found. Stores differ in nothing that a caller can see: the store
//! contract in `surefoot-testkit` says what each verb does, and every store passes it.
//!
//! Rules that hold for every verb:
//! - `now` is the caller's time; a store reads no clock of its own except in [`Store::database_now`] and [`Heart::beat`].
//! - After a [`StoreError::Unavailable`] nobody knows whether the verb took effect, and it may be repeated with the
//!   same arguments. A repeated enqueue or settlement answers as if it had run once; a repeated claim takes further
//!   jobs, and those whose first answer was lost lapse; a repeated order of a person is refused with the state that
//!   the first one led to.
//! - Answers to a batch stand in the order of the batch; one refused item never spoils the others.
//! - Everything returned is bounded by an argument or by a named limit.

mod advance;
mod delivery_id;
mod effect;
mod enqueue;
mod lease;
mod list;
mod messages;
mod record;
mod requests;
mod steer;
mod store;
mod transactions;

pub use advance::*;
pub use delivery_id::*;
pub use effect::*;
pub use enqueue::*;
pub use lease::*;
pub use list::*;
pub use messages::*;
pub use record::*;
pub use requests::*;
pub use steer::*;
pub use store::*;
pub use transactions::*;

//! Lets anyone test against Surefoot's ports without a database, and any store against its contract. A test aid
//! here is another implementation of a port; nothing in production code knows of it, and no production crate may
//! depend on this one.
//!
//! - [`MemoryStore`]: the store in its plainest form, for tests in virtual time and as the model of the others.
//! - [`FaultyStore`]: any store, failing before or after it commits, or slow.
//! - [`ManualClock`], [`TokioClock`]: clocks that a test moves, or that follow a paused runtime.
//! - [`ScriptedProvider`]: a real HTTP service that misbehaves as told, and counts the effects that it applied.
//! - [`arrival`]: a request as it arrives, in its plainest form.
//! - [`Process`]: a service under test as a process of its own, killed and started again.
//! - [`contract`]: what every store must do, as one suite; see [`store_contract!`].
//! - [`outage`]: a dependency that goes down by a script, in virtual time, for whatever protects its callers.
//! - [`program`]: operations drawn by seed, whose transcripts are the same on every store.

mod arrival;
mod clock;
pub mod contract;
mod faulty;
mod memory;
pub mod outage;
mod process;
pub mod program;
mod provider;

pub use arrival::arrival;
pub use clock::{ManualClock, TokioClock};
pub use faulty::{
    Fault, FaultCounts, FaultRates, FaultyMessages, FaultyRequests, FaultyStore, Verb,
};
pub use memory::MemoryStore;
pub use process::Process;
pub use provider::{Act, Answer, Received, Report, ScriptedProvider, Seen};

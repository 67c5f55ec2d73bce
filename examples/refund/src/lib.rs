//! A refund, and every way in which its outcome can become known.
//!
//! [`refund`] is what a reader would copy: the job, its effect, and how the provider is asked. [`psp`] is the client of the
//! payment provider. [`till`] is the engine that runs it. [`stories`] runs them against a provider that misbehaves, and counts what it
//! really did.

pub mod psp;
pub mod refund;
pub mod stories;
pub mod till;

/// What can go wrong in the example itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

//! Money in and out of wallets, each movement by its transaction id.
//!
//! [`movement`] is the job and what can become of it; [`ledger`] is the one transaction that a reader would copy: balance,
//! journal and the end of the job are one commit. [`routes`] is what callers see, [`service`] puts it together.

pub mod ledger;
pub mod movement;
pub mod routes;
pub mod service;

/// What can go wrong in the example itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

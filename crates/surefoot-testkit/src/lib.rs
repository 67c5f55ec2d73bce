//! Lets anyone test against Surefoot's ports without a database, and any store against its contract. A test aid
//! here is another implementation of a port; nothing in production code knows of it, and no production crate may
//! depend on this one.
//!
//! - [`contract`]: what every store must do, as one suite; see [`store_contract!`].

pub mod contract;

//! Protects one outbound call.

pub mod adaptive;
pub mod breaker;
pub mod budget;
pub mod bulkhead;
mod call;
pub mod clock;
pub mod context;
pub mod dependency;
mod duration_text;
pub mod error;
pub mod event;
pub mod fallback;
pub mod fault;
pub mod hedge;
#[cfg(feature = "http-client")]
pub mod http_client;
pub mod lab;
pub mod layer;
pub mod meaning;
pub mod meta;
pub mod metrics;
pub mod policy;
pub mod rate;
pub mod retry;
pub mod shed;
#[cfg(test)]
mod testing;
pub mod timeout;
pub mod window;

pub use dependency::{Attempt, Dependency};
pub use error::CallError;
pub use meta::{Criticality, Meta};
pub use policy::Policy;

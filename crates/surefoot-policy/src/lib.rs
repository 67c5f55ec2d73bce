//! Protects one outbound call.

pub mod breaker;
pub mod budget;
pub mod bulkhead;
pub mod clock;
pub mod context;
mod duration_text;
pub mod fault;
pub mod hedge;
pub mod meaning;
pub mod meta;
pub mod rate;
pub mod retry;
pub mod shed;
#[cfg(test)]
mod testing;
pub mod timeout;
pub mod window;

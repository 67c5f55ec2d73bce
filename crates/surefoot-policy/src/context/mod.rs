//! What goes along with a call from layer to layer: how long it may still take, and who repeats it.
//!
//! [`Ambient`] lives in the task while a call is polled; [`headers`] carries it over HTTP and gRPC.

mod ambient;
pub mod headers;

pub use ambient::{Ambient, InAmbient, Outer};

#[cfg(test)]
mod tests;

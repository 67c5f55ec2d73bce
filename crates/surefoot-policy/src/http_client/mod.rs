//! An HTTP client whose every request goes through a dependency's policy, over hyper.
//!
//! It follows no redirects and reads no bodies by itself. The seat of a call and its deadline follow the body of
//! the answer until its end.

mod body;
mod client;
mod meaning;

pub use body::{AnswerBody, Body, BodyError};
pub use client::HttpClient;
pub(crate) use meaning::meaning_of_hyper;

#[cfg(test)]
mod tests;

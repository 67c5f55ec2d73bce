//! Mail by message id: what is sent is not sent again, and what is uncertain goes by its class.
//!
//! [`message`] is what a reader would copy: one job whose effect means something else for an advertisement, a one-time code
//! and a receipt. [`provider`] is the client of the mail provider; [`routes`] is what callers see, the question to whoever
//! waits for a code among it; [`settings`] holds every time and address, [`service`] puts it together.

pub mod message;
pub mod provider;
pub mod routes;
pub mod service;
pub mod settings;

/// What can go wrong in the example itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

//! What becomes of requests whose outcome nobody knows. A [`Reconciler`] finds them, asks a hook that can look at what the
//! handler would have done, and completes or releases them, or hands them to a person. It never runs a request, and it may run
//! on any number of nodes: what one of them wrote first counts.
//!
//! `reconciler` looks for what is due, `questions` bounds what is asked at once, `asker` asks about one request and writes it
//! down, `round` counts what came of it.

mod asker;
mod hook;
mod options;
mod questions;
mod reconciler;
mod round;

pub use hook::{AskNobody, Reconcile};
pub use options::ReconcilerOptions;
pub use reconciler::Reconciler;
pub use round::Round;

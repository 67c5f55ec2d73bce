//! Why an act could not be put on. What a shop does wrong is no error: it is what is shown.

use std::path::PathBuf;
use std::time::Duration;

/// Why an act could not be put on.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The operating system refused.
    #[error("failed to {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// The checkout did not say that it is ready.
    #[error("the checkout did not start within {within:?}; the end of its log {log}:\n{tail}")]
    Start {
        /// How long it was waited for.
        within: Duration,
        /// Where its log is.
        log: PathBuf,
        /// What it said last.
        tail: String,
    },
    /// A part of the shop is not sound.
    #[error("failed to put {what} together: {why}")]
    Unsound {
        /// Which part.
        what: &'static str,
        /// What it said.
        why: String,
    },
}

impl DemoError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    pub(crate) fn unsound<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Unsound {
            what,
            why: error.to_string(),
        }
    }
}

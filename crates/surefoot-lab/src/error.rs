//! Why the lab could not measure. What a contestant does wrong is no error: it is what is measured.

use std::path::PathBuf;
use std::time::Duration;

/// Why the lab could not measure.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The operating system refused.
    #[error("failed to {what}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: std::io::Error,
    },
    /// A process did not say that it is ready.
    #[error("a process did not start within {within:?}; the end of its log {log}:\n{tail}")]
    Start {
        /// How long it was waited for.
        within: Duration,
        /// Where its log is.
        log: PathBuf,
        /// What it said last.
        tail: String,
    },
    /// A node did not answer as its API says.
    #[error("the node answered {method} {path} with {said}")]
    Api {
        /// The method.
        method: &'static str,
        /// The path.
        path: String,
        /// The status and the body, or what broke.
        said: String,
    },
    /// The rows of the plain loop could not be read or written.
    #[error("failed to {what} of the plain loop: {source}")]
    Rows {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: rusqlite::Error,
    },
    /// The database of an experiment did not do what it was asked.
    #[error("failed to {what}: {source}")]
    Database {
        /// What was tried.
        what: &'static str,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A call of a part of an experiment broke.
    #[error("a call broke: {0}")]
    Call(#[source] reqwest::Error),
    /// A part of an experiment was answered something that it cannot read.
    #[error("an answer is none: {0}")]
    Odd(String),
    /// The HTTP client could not be made.
    #[error("failed to prepare the HTTP client: {0}")]
    Client(#[source] reqwest::Error),
    /// Something that had to happen before the fault did not.
    #[error("{what} did not happen within {within:?}")]
    Late {
        /// What was waited for.
        what: String,
        /// For how long.
        within: Duration,
    },
    /// So few calls were in flight that the fault proves nothing.
    #[error(
        "{what} hit {hit} of {of} intents, at least {floor} must be hit for it to prove anything"
    )]
    Missed {
        /// Which fault.
        what: String,
        /// How many it hit.
        hit: usize,
        /// Of how many.
        of: usize,
        /// How many it had to hit.
        floor: usize,
    },
    /// The database is not a new one.
    #[error("the database holds jobs already; chaos wants a database of its own")]
    NotEmpty,
}

impl LabError {
    pub(crate) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    pub(crate) fn database<E>(what: &'static str) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Self::Database {
            what,
            source: source.into(),
        }
    }
}

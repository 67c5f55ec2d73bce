//! What an error of the driver means. Decides by kind and SQLSTATE, never by a message.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::classify::{self, Class};
use surefoot_core::error::StoreError;

use crate::echo::echo;

/// What an error of a statement says.
pub(super) struct Fault {
    /// What the caller is told.
    pub(super) error: StoreError,
    /// The connection cannot be used any more.
    pub(super) connection_lost: bool,
}

impl Fault {
    pub(super) fn of(error: sqlx::Error) -> Self {
        let code = error
            .as_database_error()
            .and_then(|error| error.code())
            .map(|code| code.into_owned());
        match (code, &error) {
            (Some(code), _) => Self {
                connection_lost: ends_session(&code),
                error: match classify::sqlstate(&code) {
                    Class::Transient | Class::Unknown => StoreError::Unavailable(error.into()),
                    Class::Permanent | Class::Cancelled => StoreError::Refused(error.into()),
                },
            },
            (
                None,
                sqlx::Error::ColumnDecode { .. }
                | sqlx::Error::Decode(_)
                | sqlx::Error::ColumnNotFound(_),
            ) => Self {
                connection_lost: true,
                error: StoreError::Broken(error.to_string()),
            },
            (
                None,
                sqlx::Error::Configuration(_) | sqlx::Error::Tls(_) | sqlx::Error::Encode(_),
            ) => Self {
                connection_lost: true,
                error: StoreError::Refused(error.into()),
            },
            // Whatever else the driver says is about the connection: input and output, protocol, a worker that is gone.
            (None, _) => Self {
                connection_lost: true,
                error: StoreError::Unavailable(error.into()),
            },
        }
    }
}

/// Whether the server ends the session after this error: shutdowns, idle time-outs, lost connections.
fn ends_session(code: &str) -> bool {
    matches!(
        code,
        "57P01" | "57P02" | "57P03" | "57P04" | "57P05" | "25P03"
    ) || code.starts_with("08")
}

/// A column that does not hold what it must.
pub(super) fn broken(what: impl std::fmt::Display) -> StoreError {
    StoreError::Broken(what.to_string())
}

/// A verb that did not end in time.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
pub(super) struct TimedOut(pub(super) Duration);

/// One fault told to several callers.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Shared(Arc<StoreError>);

impl Shared {
    pub(super) fn new(error: StoreError) -> Self {
        Self(Arc::new(error))
    }

    /// The fault for one of them, of the same kind.
    pub(super) fn told(&self) -> StoreError {
        echo(&self.0, |_| Box::new(self.clone()))
    }
}

/// The SQLSTATE of a fault, when the server said one.
pub(super) fn sqlstate(error: &StoreError) -> Option<String> {
    let (StoreError::Unavailable(cause) | StoreError::Refused(cause)) = error else {
        return None;
    };
    let error = cause.downcast_ref::<sqlx::Error>()?;
    error
        .as_database_error()?
        .code()
        .map(|code| code.into_owned())
}

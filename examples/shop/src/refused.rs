//! How a caller is turned away. It says what the caller can do, and never what went wrong inside.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use surefoot::Failure;

/// Why a caller is turned away.
#[derive(Debug)]
pub struct Refused(pub StatusCode, pub String);

impl Refused {
    /// There is nothing of that name for this customer.
    #[must_use]
    pub fn unknown(what: &str) -> Self {
        Self(StatusCode::NOT_FOUND, format!("there is no such {what}"))
    }

    /// What was asked for cannot be.
    #[must_use]
    pub fn unsound(why: impl Into<String>) -> Self {
        Self(StatusCode::UNPROCESSABLE_ENTITY, why.into())
    }
}

/// The database did not answer, or something else inside. In a request's own transaction nothing has happened then.
impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        eprintln!("shop: {}", failure.text);
        Self(
            StatusCode::SERVICE_UNAVAILABLE,
            "send the same again".to_owned(),
        )
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Self(status, detail) = self;
        (status, Json(json!({ "detail": detail }))).into_response()
    }
}

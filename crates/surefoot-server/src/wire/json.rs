//! JSON that passes through as it is, and JSON answers. No number is read into a float and no key is moved.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use surefoot_core::payload::Payload;
use utoipa::ToSchema;

use crate::problem::Problem;

/// A payload or result, byte for byte as it came.
#[derive(Clone, Debug, ToSchema)]
#[schema(value_type = serde_json::Value, as = Json)]
pub(crate) struct RawJson(pub(crate) Payload);

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(self.0.as_str()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A JSON answer, on a line of its own for those who read it in a terminal.
pub(crate) struct Json<T>(pub(crate) StatusCode, pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        let Self(status, value) = self;
        match serde_json::to_vec(&value) {
            Ok(mut body) => {
                body.push(b'\n');
                (status, [(CONTENT_TYPE, "application/json")], body).into_response()
            }
            Err(error) => Problem::unwritable(&error).into_response(),
        }
    }
}

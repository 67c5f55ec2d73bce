//! The answer of a service on the wire: what is kept of it, and what a witness says it was. Bodies are exact: text as text,
//! anything else in Base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use surefoot_core::request::{Kept, StoredResponse, ToldRefused, Tombstone};
use utoipa::ToSchema;

use super::word::NotKeptWord;
use crate::problem::Problem;

/// One header.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Header)]
pub(crate) struct HeaderPair {
    /// Its name.
    name: String,
    /// Its value; what is not UTF-8 in it is shown as U+FFFD.
    value: String,
}

/// An answer that every repetition gets.
#[derive(Serialize, ToSchema)]
#[schema(as = StoredResponse)]
pub(crate) struct ResponseRecord {
    /// Its status.
    status: u16,
    /// Its headers; a name may come more than once.
    headers: Vec<HeaderPair>,
    /// How many bytes its body has.
    body_bytes: u64,
    /// Its body, where that is UTF-8.
    #[schema(required)]
    body: Option<String>,
    /// Its body in Base64, where it is not UTF-8.
    #[schema(required)]
    body_base64: Option<String>,
}

/// What is known of an answer that is not kept.
#[derive(Serialize, ToSchema)]
#[schema(as = Tombstone)]
pub(crate) struct TombstoneRecord {
    /// Its status.
    status: u16,
    /// Why it is not kept.
    reason: NotKeptWord,
    /// How many bytes its body had, where that is known.
    #[schema(required)]
    body_bytes: Option<u64>,
    /// SHA-256 of its body in hex, where all of it was seen.
    #[schema(required)]
    body_sha256: Option<String>,
}

impl From<&StoredResponse> for ResponseRecord {
    fn from(response: &StoredResponse) -> Self {
        let pair = |(name, value): &(String, Vec<u8>)| HeaderPair {
            name: name.clone(),
            value: String::from_utf8_lossy(value).into_owned(),
        };
        let text = std::str::from_utf8(&response.body).ok();
        Self {
            status: response.status,
            headers: response.headers.iter().map(pair).collect(),
            body_bytes: response.body.len() as u64,
            body: text.map(str::to_owned),
            body_base64: text.is_none().then(|| STANDARD.encode(&response.body)),
        }
    }
}

impl From<&Tombstone> for TombstoneRecord {
    fn from(tombstone: &Tombstone) -> Self {
        let hex = |digest: &[u8; 32]| digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Self {
            status: tombstone.status,
            reason: NotKeptWord(tombstone.why),
            body_bytes: tombstone.body_bytes,
            body_sha256: tombstone.body_sha256.as_ref().map(hex),
        }
    }
}

/// What a witness says was answered, field by field.
pub(super) struct ToldBody {
    pub(super) status: Option<u16>,
    pub(super) headers: Option<Vec<HeaderPair>>,
    pub(super) body: Option<String>,
    pub(super) body_base64: Option<String>,
}

impl ToldBody {
    /// Whether it says nothing.
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            status,
            headers,
            body,
            body_base64,
        } = self;
        status.is_none() && headers.is_none() && body.is_none() && body_base64.is_none()
    }

    pub(super) fn into_kept(self) -> Result<Kept, Problem> {
        let status = self.status.ok_or_else(|| {
            Problem::field(
                "status",
                "status is missing; say what the answer was, such as 201",
            )
        })?;
        let body = match (self.body, self.body_base64) {
            (Some(_), Some(_)) => {
                return Err(Problem::field(
                    "body_base64",
                    "there is a body already; give one of them",
                ));
            }
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(text)) => Some(STANDARD.decode(text).map_err(|_| {
                Problem::field(
                    "body_base64",
                    "it is no Base64; use the alphabet of RFC 4648 with padding",
                )
            })?),
            (None, None) => None,
        };
        let headers = self.headers.unwrap_or_default();
        let headers = headers
            .into_iter()
            .map(|pair| (pair.name, pair.value.into_bytes()));
        Kept::told(status, headers.collect(), body)
            .map_err(|refused| Problem::field(field(&refused), refused.to_string()))
    }
}

/// Which field a refusal is about.
const fn field(refused: &ToldRefused) -> &'static str {
    match refused {
        ToldRefused::Status(_) => "status",
        ToldRefused::Header(_)
        | ToldRefused::Value(_)
        | ToldRefused::Headers
        | ToldRefused::NoBody => "headers",
        ToldRefused::Body(_) => "body",
    }
}

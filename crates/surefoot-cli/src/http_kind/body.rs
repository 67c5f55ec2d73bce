//! The body of an answer, as much of it as may be kept. It is never read without a limit.

use reqwest::Response;
use surefoot_core::payload::PAYLOAD_BYTES_MAX;

/// How much of a refusal's body is kept for people.
pub(super) const REFUSAL_BYTES_MAX: usize = 2 * 1024;

/// As much of a body as may be kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// There was more.
    pub(super) truncated: bool,
}

impl Body {
    /// Reads the body of an answer: up to a payload for a success, a little for a refusal.
    pub(super) async fn read(response: &mut Response) -> reqwest::Result<Self> {
        let bytes_max = if response.status().is_success() {
            PAYLOAD_BYTES_MAX
        } else {
            REFUSAL_BYTES_MAX
        };
        let mut body = Self::default();
        while let Some(chunk) = response.chunk().await? {
            let room = bytes_max - body.bytes.len();
            if chunk.len() > room {
                body.bytes.extend_from_slice(&chunk[..room]);
                body.truncated = true;
                break;
            }
            body.bytes.extend_from_slice(&chunk);
        }
        Ok(body)
    }
}

//! The client's half: a key for each intent, the same for every time it is sent, also after a restart; and what an answer
//! says of it. A key that is made for each send is worse than none, for every retry is then a new intent.

use std::fmt;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use sha2::{Digest, Sha256};

use crate::mark::{IDEMPOTENCY_ERROR, IDEMPOTENCY_KEY, IDEMPOTENCY_STATUS, NOT_RECORDED, Status};
use crate::problem::{OUTCOME_UNKNOWN, OUTSTANDING};

/// The longest wait that is taken from an answer: 1 h.
pub const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// The key of one intent, made of what the intent is called, so that nothing needs to be stored for it: whoever knows the
/// name makes the same key again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IntentKey(String);

impl IntentKey {
    /// The key of the intent `name` in `namespace`, such as `refund` and the refund's id in your database. Name what is
    /// wanted, never the send: no time, no attempt, no random number.
    ///
    /// The key tells nothing of the name to who does not know it, if the name cannot be guessed.
    #[must_use]
    pub fn of(namespace: &str, name: &str) -> Self {
        let mut digest = Sha256::new();
        for part in [namespace, name] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let digest = digest.finalize();
        Self(
            digest
                .iter()
                .take(20)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }

    /// A key that was made before, as it was kept.
    pub(crate) fn kept(text: &str) -> Option<Self> {
        let is_key = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_key.then(|| Self(text.to_owned()))
    }

    /// Writes the key into the headers of a request, over whatever stood there.
    pub fn write(&self, headers: &mut HeaderMap) {
        // Hex digits in quotes are always a value.
        if let Ok(value) = HeaderValue::try_from(format!("\"{self}\"")) {
            headers.insert(IDEMPOTENCY_KEY, value);
        }
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for IntentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an answer says of an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The application's own answer, of this or of an earlier run. It is final, whatever its status: the same is answered
    /// again under the key.
    Final {
        /// Whether it is that of an earlier run.
        replayed: bool,
    },
    /// It is being carried out: send the same request again, under the same key.
    Outstanding {
        /// When.
        after: Duration,
    },
    /// It may have happened. Do not send it under another key; ask again under this one.
    Unknown {
        /// When; `None` where a person decides, or it is not said.
        after: Option<Duration>,
    },
    /// Nothing was run: send it again under the same key.
    NotRun {
        /// When.
        after: Duration,
    },
    /// The request is at fault, or its result is not to be had any more: sending it again changes nothing.
    Refused,
    /// No guard answered: nothing is known of the key.
    Unguarded,
}

impl Answered {
    /// Reads the head of an answer.
    #[must_use]
    pub fn read(status: StatusCode, headers: &HeaderMap) -> Self {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value: &HeaderValue| value.to_str().ok())
        };
        let after = retry_after(headers);
        let mark = text(IDEMPOTENCY_STATUS).and_then(Status::parse);
        let soon = after.unwrap_or(Duration::from_secs(1));
        match (text(IDEMPOTENCY_ERROR), mark) {
            (Some(error), _) if error == OUTSTANDING.slug => Self::Outstanding { after: soon },
            // The service's own answer came and a repetition may not find it: it stands for this send.
            (Some(NOT_RECORDED), _) => Self::Final { replayed: false },
            (Some(error), _) if error == OUTCOME_UNKNOWN.slug => Self::Unknown { after },
            (Some(_), _) if asks_again(status) => Self::NotRun { after: soon },
            (Some(_), _) => Self::Refused,
            (None, Some(Status::Executed)) => Self::Final { replayed: false },
            (None, Some(Status::Replayed)) => Self::Final { replayed: true },
            (None, Some(Status::Ignored) | None) => Self::Unguarded,
        }
    }
}

/// Whether a status says that the same request may be sent again.
fn asks_again(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds).min(WAIT_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_for_the_same_intent_and_for_no_other() {
        let key = IntentKey::of("refund", "7");
        // Known, so that another build makes the same after an upgrade.
        assert_eq!(key.as_str(), "1649dbaa9a2a7ba59c5e781812a32289bc02c129");
        assert_eq!(key, IntentKey::of("refund", "7"));
        for other in [
            ("refund", "8"),
            ("refun", "d7"),
            ("", "refund7"),
            ("mail", "7"),
        ] {
            assert_ne!(key, IntentKey::of(other.0, other.1));
        }
        let mut headers = HeaderMap::new();
        key.write(&mut headers);
        let sent = headers
            .get_all(IDEMPOTENCY_KEY)
            .iter()
            .map(HeaderValue::as_bytes);
        let read = surefoot_core::request::RequestKey::from_headers(sent)
            .unwrap()
            .unwrap();
        assert_eq!(read.as_str(), key.as_str());
    }

    #[test]
    fn an_answer_says_whether_to_send_again() {
        let second = Duration::from_secs(1);
        let table = [
            (
                201,
                Some("executed"),
                None,
                None,
                Answered::Final { replayed: false },
            ),
            (
                500,
                Some("replayed"),
                None,
                None,
                Answered::Final { replayed: true },
            ),
            (
                409,
                None,
                Some("outstanding"),
                Some("3"),
                Answered::Outstanding { after: 3 * second },
            ),
            (
                409,
                None,
                Some("outcome-unknown"),
                None,
                Answered::Unknown { after: None },
            ),
            (
                504,
                Some("executed"),
                Some("outcome-unknown"),
                None,
                Answered::Unknown { after: None },
            ),
            (
                503,
                None,
                Some("store-unavailable"),
                Some("1"),
                Answered::NotRun { after: second },
            ),
            (
                200,
                Some("executed"),
                Some("not-recorded"),
                None,
                Answered::Final { replayed: false },
            ),
            (
                500,
                None,
                Some("rolled-back"),
                Some("1"),
                Answered::NotRun { after: second },
            ),
            (
                402,
                Some("executed"),
                Some("rolled-back"),
                None,
                Answered::Refused,
            ),
            (
                429,
                Some("executed"),
                Some("nothing-happened"),
                Some("2"),
                Answered::NotRun { after: 2 * second },
            ),
            (
                408,
                None,
                Some("body-timeout"),
                None,
                Answered::NotRun { after: second },
            ),
            (422, None, Some("key-reused"), None, Answered::Refused),
            (
                410,
                Some("replayed"),
                Some("result-expired"),
                None,
                Answered::Refused,
            ),
            (409, None, None, None, Answered::Unguarded),
            (200, Some("ignored"), None, None, Answered::Unguarded),
        ];
        for (status, mark, error, after, expected) in table {
            let mut headers = HeaderMap::new();
            let named = [
                (IDEMPOTENCY_STATUS, mark),
                (IDEMPOTENCY_ERROR, error),
                (RETRY_AFTER, after),
            ];
            for (name, value) in named {
                if let Some(value) = value {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(
                Answered::read(status, &headers),
                expected,
                "{status} {error:?}"
            );
        }
    }
}

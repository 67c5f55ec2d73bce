//! How a route is guarded, as data, and what it makes of an answer. It decides from what the handler said; it never
//! guesses that nothing happened.

use sha2::{Digest, Sha256};

use super::{
    Clocks, End, HEADERS_MAX, HeaderAllowList, Horizon, Kept, NotKept, StoredResponse, Tombstone,
};
use crate::classify::{Certainty, http_status};
use crate::text::ErrorText;
use std::time::Duration;

/// The largest body that a route may keep: 16 MiB.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The most bytes of all header names and values that one answer keeps: 32 KiB.
pub const HEADER_BYTES_MAX: usize = 32 * 1024;

/// How a route is guarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPolicy {
    /// Its clocks.
    pub clocks: Clocks,
    /// Which answers are kept.
    pub keep: Keep,
    /// Which headers are kept.
    pub headers: HeaderAllowList,
    /// The largest body that is kept, at most [`BODY_BYTES_MAX`]. An answer with a larger one leaves a tombstone.
    /// Default 1 MiB.
    pub body_bytes_max: usize,
}

/// Which answers are kept. An answer that is not kept never means that the request runs again unless nothing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// `all`: every answer once execution began, 5xx too.
    #[default]
    All,
    /// `unless_nothing_happened`: every answer, except where the handler says that nothing happened; the key is free to
    /// run again then.
    UnlessNothingHappened,
    /// `final`: as the one before, and answers that ask the client to try again are not kept. Where the status says that
    /// nothing was done (408, 425, 429, 501, 503, 505) the key is free to run again; otherwise (500, 502, 504 and other 5xx)
    /// the outcome is unknown.
    Final,
}

impl Keep {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::All, Self::UnlessNothingHappened, Self::Final];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::UnlessNothingHappened => "unless_nothing_happened",
            Self::Final => "final",
        }
    }

    /// The way with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|keep| keep.as_str() == text)
    }
}

/// What a handler answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// From 200 to 599.
    pub status: u16,
    /// Its headers, names in any case.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body.
    pub body: Body,
    /// The handler says that nothing happened.
    pub nothing_happened: bool,
}

/// The body of an answer, as far as it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// More than was kept in memory; it went to the client while its digest was taken.
    Passed {
        /// SHA-256 of all of it, where it came to its end.
        sha256: Option<[u8; 32]>,
        /// Its size, where it came to its end.
        bytes: Option<u64>,
    },
    /// It has no end that could be waited for.
    Streamed,
}

impl Default for RequestPolicy {
    fn default() -> Self {
        Self {
            clocks: Clocks::default(),
            keep: Keep::default(),
            headers: HeaderAllowList::default(),
            body_bytes_max: 1024 * 1024,
        }
    }
}

impl RequestPolicy {
    /// Every contradiction, each with its remedy; empty when the policy is sound.
    #[must_use]
    pub fn validate(&self, timeout: Option<Duration>, horizons: &[Horizon]) -> Vec<String> {
        let mut faults = self.clocks.validate(timeout, horizons);
        if self.body_bytes_max > BODY_BYTES_MAX {
            faults.push(format!(
                "body_bytes_max is {}, above {BODY_BYTES_MAX}; lower it: larger answers leave a tombstone",
                self.body_bytes_max
            ));
        }
        faults
    }

    /// What an answer ends the request with.
    #[must_use]
    pub fn end(&self, answer: Answer) -> End {
        let status = answer.status;
        match self.keep {
            Keep::All => {}
            Keep::UnlessNothingHappened | Keep::Final if answer.nothing_happened => {
                return End::NothingHappened(told(
                    status,
                    "the handler says that nothing happened",
                ));
            }
            Keep::UnlessNothingHappened => {}
            Keep::Final if is_final(status) => {}
            Keep::Final => {
                return match http_status(status).map(|class| class.certainty) {
                    Some(Certainty::Rejected | Certainty::NotSent) => {
                        End::NothingHappened(told(status, "refused before anything happened"))
                    }
                    Some(Certainty::MaybeApplied | Certainty::Applied) | None => {
                        End::Unknown(told(status, "it may have happened"))
                    }
                };
            }
        }
        End::Answered(self.kept(answer))
    }

    /// What is kept of an answer.
    #[must_use]
    pub fn kept(&self, answer: Answer) -> Kept {
        let Answer {
            status,
            headers,
            body,
            ..
        } = answer;
        let tombstone = |body_sha256, body_bytes, why| {
            Kept::Tombstone(Tombstone {
                status,
                body_sha256,
                body_bytes,
                why,
            })
        };
        let body = match body {
            Body::Whole(body) => body,
            Body::Passed { sha256, bytes } => {
                return tombstone(sha256, bytes, NotKept::BodyTooLarge);
            }
            Body::Streamed => return tombstone(None, None, NotKept::Streamed),
        };
        let seen = |why| {
            tombstone(
                Some(Sha256::digest(&body).into()),
                Some(body.len() as u64),
                why,
            )
        };
        if body.len() > self.body_bytes_max {
            return seen(NotKept::BodyTooLarge);
        }
        match self.allowed(headers) {
            Some(headers) => Kept::Response(StoredResponse {
                status,
                headers,
                body,
            }),
            None => seen(NotKept::HeadersTooLarge),
        }
    }

    /// The headers that are kept; `None` when they are too many or too large, for a part of them would be another answer.
    fn allowed(&self, headers: Vec<(String, Vec<u8>)>) -> Option<Vec<(String, Vec<u8>)>> {
        let headers: Vec<_> = headers
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .filter(|(name, _)| self.headers.allows(name))
            .collect();
        let bytes: usize = headers
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        (headers.len() <= HEADERS_MAX && bytes <= HEADER_BYTES_MAX).then_some(headers)
    }
}

/// Whether a client that gets this status would get the same one again.
const fn is_final(status: u16) -> bool {
    !matches!(status, 408 | 425 | 429 | 500..)
}

fn told(status: u16, what: &str) -> ErrorText {
    format!("{what} (status {status})").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16) -> Answer {
        Answer {
            status,
            headers: Vec::new(),
            body: Body::Whole(Vec::new()),
            nothing_happened: false,
        }
    }

    fn policy(keep: Keep) -> RequestPolicy {
        RequestPolicy {
            keep,
            ..RequestPolicy::default()
        }
    }

    fn word(end: &End) -> &'static str {
        match end {
            End::Answered(_) => "kept",
            End::NothingHappened(_) => "free",
            End::Unknown(_) => "unknown",
        }
    }

    #[test]
    fn each_policy_has_its_end_for_each_status() {
        // status: all, unless nothing happened, final.
        let table = [
            (200, ["kept", "kept", "kept"]),
            (204, ["kept", "kept", "kept"]),
            (302, ["kept", "kept", "kept"]),
            (400, ["kept", "kept", "kept"]),
            (409, ["kept", "kept", "kept"]),
            (422, ["kept", "kept", "kept"]),
            (408, ["kept", "kept", "free"]),
            (425, ["kept", "kept", "free"]),
            (429, ["kept", "kept", "free"]),
            (503, ["kept", "kept", "free"]),
            (501, ["kept", "kept", "free"]),
            (500, ["kept", "kept", "unknown"]),
            (502, ["kept", "kept", "unknown"]),
            (504, ["kept", "kept", "unknown"]),
            (599, ["kept", "kept", "unknown"]),
        ];
        for (status, expected) in table {
            for (keep, expected) in Keep::ALL.into_iter().zip(expected) {
                let end = policy(keep).end(answer(status));
                assert_eq!(word(&end), expected, "{status} under {}", keep.as_str());
            }
        }
    }

    #[test]
    fn the_word_of_the_handler_counts_where_the_route_takes_it() {
        for (keep, expected) in Keep::ALL.into_iter().zip(["kept", "free", "free"]) {
            for status in [200, 400, 500] {
                let answer = Answer {
                    nothing_happened: true,
                    ..answer(status)
                };
                assert_eq!(
                    word(&policy(keep).end(answer)),
                    expected,
                    "{status} {keep:?}"
                );
            }
        }
    }

    #[test]
    fn bodies_are_kept_byte_for_byte_and_headers_by_name() {
        let headers = vec![
            ("Location".to_owned(), b"/payments/1".to_vec()),
            ("Set-Cookie".to_owned(), b"session=1".to_vec()),
            ("Link".to_owned(), b"<a>".to_vec()),
            ("link".to_owned(), b"<b>\xff".to_vec()),
            ("Content-Length".to_owned(), b"4".to_vec()),
        ];
        for body in [Vec::new(), b"\0\xff\r\n".to_vec(), (0..=255).collect()] {
            let answer = Answer {
                headers: headers.clone(),
                body: Body::Whole(body.clone()),
                ..answer(201)
            };
            let expected = StoredResponse {
                status: 201,
                headers: vec![
                    ("location".to_owned(), b"/payments/1".to_vec()),
                    ("link".to_owned(), b"<a>".to_vec()),
                    ("link".to_owned(), b"<b>\xff".to_vec()),
                ],
                body,
            };
            assert_eq!(
                RequestPolicy::default().kept(answer),
                Kept::Response(expected)
            );
        }
    }

    #[test]
    fn what_is_too_large_or_has_no_end_leaves_a_tombstone() {
        let policy = RequestPolicy {
            body_bytes_max: 3,
            ..RequestPolicy::default()
        };
        let abcd = [
            0x88, 0xd4, 0x26, 0x6f, 0xd4, 0xe6, 0x33, 0x8d, 0x13, 0xb8, 0x45, 0xfc, 0xf2, 0x89,
            0x57, 0x9d, 0x20, 0x9c, 0x89, 0x78, 0x23, 0xb9, 0x21, 0x7d, 0xa3, 0xe1, 0x61, 0x93,
            0x6f, 0x03, 0x15, 0x89,
        ];
        let wide = ("link".to_owned(), vec![b'x'; HEADER_BYTES_MAX]);
        let passed = Body::Passed {
            sha256: Some([7; 32]),
            bytes: Some(9),
        };
        let table = [
            (
                vec![],
                Body::Whole(b"abcd".to_vec()),
                Some(abcd),
                Some(4),
                NotKept::BodyTooLarge,
            ),
            (
                vec![],
                passed,
                Some([7; 32]),
                Some(9),
                NotKept::BodyTooLarge,
            ),
            (vec![], Body::Streamed, None, None, NotKept::Streamed),
        ];
        for (headers, body, body_sha256, body_bytes, why) in table {
            let kept = policy.kept(Answer {
                headers,
                body,
                ..answer(201)
            });
            let expected = Tombstone {
                status: 201,
                body_sha256,
                body_bytes,
                why,
            };
            assert_eq!(kept, Kept::Tombstone(expected));
        }
        let kept = policy.kept(Answer {
            headers: vec![wide],
            ..answer(200)
        });
        assert!(matches!(
            kept,
            Kept::Tombstone(Tombstone {
                why: NotKept::HeadersTooLarge,
                ..
            })
        ));
        let exact = policy.kept(Answer {
            body: Body::Whole(b"abc".to_vec()),
            ..answer(200)
        });
        assert!(matches!(exact, Kept::Response(_)));
    }
}

//! Bodies within limits: all of a request's, and as much of an answer's as may be kept.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::Instant;

use super::BoxError;

/// Why a body could not be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It has more bytes than are taken.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// It broke off.
    Broken,
}

/// All of a body, at most `most` bytes of it, within `patience`. Trailers are not taken.
pub(crate) async fn read(body: Body, most: usize, patience: Duration) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > most as u64 {
        return Err(Unread::TooLarge);
    }
    let all = Limited::new(body, most).collect();
    match tokio::time::timeout(patience, all).await {
        Ok(Ok(all)) => Ok(all.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Unread::TooLarge),
        Ok(Err(_)) => Err(Unread::Broken),
        Err(_) => Err(Unread::TooSlow),
    }
}

/// The body of an answer, as far as it was read.
pub(super) enum Seen {
    /// All of it.
    Whole(Bytes),
    /// More than is kept: what was read, and the rest.
    TooLarge(Passing),
    /// No end that could be waited for.
    Streamed(Passing),
    /// It broke off.
    Broken(BoxError),
}

/// A body of which a part was read.
pub(super) struct Passing {
    pub(super) read: VecDeque<Bytes>,
    pub(super) rest: Body,
}

impl Passing {
    /// One body of what was read and the rest.
    pub(super) fn into_body(self) -> Body {
        let read = stream::iter(self.read.into_iter().map(Ok::<_, axum::Error>));
        Body::from_stream(read.chain(self.rest.into_data_stream()))
    }
}

/// Reads the body of an answer: at most `most` bytes of it, and no longer than `patience`.
pub(super) async fn see(
    mut body: Body,
    headers: &HeaderMap,
    most: usize,
    patience: Duration,
) -> Seen {
    let mut passing = VecDeque::new();
    if headers.get(CONTENT_TYPE).is_some_and(is_events) {
        return Seen::Streamed(Passing {
            read: passing,
            rest: body,
        });
    }
    let until = Instant::now() + patience;
    let mut bytes = 0_usize;
    loop {
        let frame = match tokio::time::timeout_at(until, body.frame()).await {
            Ok(frame) => frame,
            Err(_) => {
                return Seen::Streamed(Passing {
                    read: passing,
                    rest: body,
                });
            }
        };
        match frame {
            None => return Seen::Whole(joined(passing, bytes)),
            Some(Err(error)) => return Seen::Broken(error.into()),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    bytes = bytes.saturating_add(data.len());
                    passing.push_back(data);
                }
            }
        }
        if bytes > most {
            return Seen::TooLarge(Passing {
                read: passing,
                rest: body,
            });
        }
    }
}

fn joined(mut parts: VecDeque<Bytes>, bytes: usize) -> Bytes {
    if parts.len() == 1 {
        return parts.pop_front().unwrap_or_default();
    }
    let mut all = BytesMut::with_capacity(bytes);
    for part in parts {
        all.extend_from_slice(&part);
    }
    all.freeze()
}

/// Server-sent events have no end.
fn is_events(value: &HeaderValue) -> bool {
    let media = value.as_bytes().split(|byte| *byte == b';').next();
    media.is_some_and(|media| {
        media
            .trim_ascii()
            .eq_ignore_ascii_case(b"text/event-stream")
    })
}

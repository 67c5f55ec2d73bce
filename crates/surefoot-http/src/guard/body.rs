//! Bodies within limits: all of a request's, and as much of an answer's as may be kept.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt, stream};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
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
    /// All bodies that are in memory leave no room for more of it.
    NoRoom,
}

/// The most bytes of all bodies of requests that are in memory at once: 256 MiB.
pub(crate) const ROOM_BYTES: usize = 256 * 1024 * 1024;

/// The room for bodies, in bytes that have arrived: what a client only announces takes none.
#[derive(Clone)]
pub(crate) struct Room(Arc<Semaphore>);

/// A body, and the room that it takes until nobody needs it any more.
struct Stored {
    bytes: Bytes,
    _taken: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Stored {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes)))
    }

    /// Takes room for `bytes` more, beside what was taken before. It never waits: bodies that wait for one another's room
    /// would all be too slow.
    fn take(&self, taken: &mut Option<OwnedSemaphorePermit>, bytes: usize) -> Result<(), Unread> {
        let bytes = u32::try_from(bytes).map_err(|_| Unread::TooLarge)?;
        let more = self.0.clone().try_acquire_many_owned(bytes);
        let more = more.map_err(|_| Unread::NoRoom)?;
        match taken {
            Some(taken) => taken.merge(more),
            None => *taken = Some(more),
        }
        Ok(())
    }
}

/// All of a body, at most `most` bytes of it, within `patience`, in this room. Trailers are not taken.
pub(crate) async fn read(
    body: Body,
    most: usize,
    patience: Duration,
    room: &Room,
) -> Result<Bytes, Unread> {
    if body.size_hint().lower() > most as u64 {
        return Err(Unread::TooLarge);
    }
    match tokio::time::timeout(patience, all(body, most, room)).await {
        Ok(read) => read,
        Err(_) => Err(Unread::TooSlow),
    }
}

async fn all(mut body: Body, most: usize, room: &Room) -> Result<Bytes, Unread> {
    let (mut bytes, mut taken) = (BytesMut::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Unread::Broken)?;
        if let Ok(data) = frame.into_data() {
            if bytes.len().saturating_add(data.len()) > most {
                return Err(Unread::TooLarge);
            }
            room.take(&mut taken, data.len())?;
            // Put together at once: of a body in very small parts each would hold more than it says.
            bytes.extend_from_slice(&data);
        }
    }
    let stored = Stored {
        bytes: bytes.freeze(),
        _taken: taken,
    };
    Ok(Bytes::from_owner(stored))
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

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Many clients that send most of a body and stand still would fill the memory.
    #[tokio::test(start_paused = true)]
    async fn half_sent_bodies_do_not_fill_the_memory() {
        let room = Room::new(100);
        let standing_still = || {
            let sent = stream::iter([Ok::<_, axum::Error>(Bytes::from_static(&[0; 60]))]);
            Body::from_stream(sent.chain(stream::pending()))
        };
        let first = read(standing_still(), 1000, PATIENCE, &room);
        let second = async {
            tokio::task::yield_now().await;
            let began = Instant::now();
            let read = read(standing_still(), 1000, PATIENCE, &room).await;
            (read, began.elapsed())
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!(first, Err(Unread::TooSlow));
        assert_eq!(second, (Err(Unread::NoRoom), Duration::ZERO));
        let whole = || read(Body::from(vec![7; 60]), 1000, PATIENCE, &room);
        let held = whole().await;
        assert_eq!(
            held,
            Ok(Bytes::from(vec![7; 60])),
            "what was given up takes none"
        );
        assert_eq!(whole().await, Err(Unread::NoRoom), "what is in use does");
        drop(held);
        assert!(whole().await.is_ok());
    }
}

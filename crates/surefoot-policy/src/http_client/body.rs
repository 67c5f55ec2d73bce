//! Bodies: of requests, which can perhaps be sent again, and of answers, which hold what their call holds.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};

use crate::bulkhead::Hold;
use crate::layer::Replay;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Stream = Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send + Sync>>;

/// The body of a request.
pub struct Body(Inner);

enum Inner {
    Bytes(Full<Bytes>),
    Stream(Stream),
}

impl Body {
    /// No body.
    #[must_use]
    pub fn empty() -> Self {
        Self(Inner::Bytes(Full::new(Bytes::new())))
    }

    /// A body that is read while it is sent: it can be sent only once.
    pub fn stream<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + Sync + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Inner::Stream(Box::pin(body.map_err(Into::into))))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self(Inner::Bytes(Full::new(bytes.into())))
    }
}

impl Replay for Body {
    fn again(&self) -> Option<Self> {
        match &self.0 {
            Inner::Bytes(bytes) => Some(Self(Inner::Bytes(bytes.clone()))),
            Inner::Stream(_) => None,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Inner::Bytes(bytes) => Pin::new(bytes)
                .poll_frame(cx)
                .map_err(|never| match never {}),
            Inner::Stream(stream) => stream.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Bytes(bytes) => bytes.is_end_stream(),
            Inner::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Bytes(bytes) => bytes.size_hint(),
            Inner::Stream(stream) => stream.size_hint(),
        }
    }
}

/// Why a body ended before its end.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The deadline of the call passed while its body was being read.
    #[error("the deadline passed while the body was being read")]
    TimedOut,
    /// The connection broke.
    #[error("the body broke off")]
    Broken(#[source] hyper::Error),
}

/// The body of an answer. It holds the seat of its call in the bulkhead until its end, and ends with an error at
/// the deadline of its attempt.
pub struct AnswerBody {
    inner: Incoming,
    deadline: Instant,
    /// Made when the body is first waited for.
    timer: Option<Pin<Box<Sleep>>>,
    hold: Option<Hold>,
}

impl AnswerBody {
    pub(super) fn new(inner: Incoming, within: Duration, hold: Hold) -> Self {
        Self {
            inner,
            deadline: Instant::now() + within,
            timer: None,
            hold: Some(hold),
        }
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if this.hold.is_none() {
            return Poll::Ready(None);
        }
        let last = match Pin::new(&mut this.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) if !this.inner.is_end_stream() => {
                return Poll::Ready(Some(Ok(frame)));
            }
            Poll::Ready(Some(Ok(frame))) => Some(Ok(frame)),
            Poll::Ready(Some(Err(error))) => Some(Err(BodyError::Broken(error))),
            Poll::Ready(None) => None,
            Poll::Pending => {
                let deadline = this.deadline;
                let timer = this
                    .timer
                    .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
                if timer.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                Some(Err(BodyError::TimedOut))
            }
        };
        // The end, good or bad: everything is given back at once, whatever becomes of this value.
        this.hold = None;
        this.timer = None;
        Poll::Ready(last)
    }

    fn is_end_stream(&self) -> bool {
        self.hold.is_none() || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match &self.0 {
            Inner::Bytes(_) => "Body::Bytes",
            Inner::Stream(_) => "Body::Stream",
        })
    }
}

impl std::fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerBody")
            .field("holds", &self.hold.is_some())
            .finish_non_exhaustive()
    }
}

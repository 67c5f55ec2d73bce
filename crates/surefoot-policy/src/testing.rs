//! What several tests of this crate use.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Polls once; true when the future is not ready.
pub(crate) fn pending_once<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    future
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending()
}

/// What a future gives at its first poll; `None`, and it is dropped, when it is not ready.
pub(crate) fn ready_at_once<F: Future>(future: F) -> Option<F::Output> {
    match Box::pin(future)
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

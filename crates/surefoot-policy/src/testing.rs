//! What several tests of this crate use.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

/// Polls once; true when the future is not ready.
pub(crate) fn pending_once<F: Future + ?Sized>(future: Pin<&mut F>) -> bool {
    future
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_pending()
}

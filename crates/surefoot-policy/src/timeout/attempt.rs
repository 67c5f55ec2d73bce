//! One attempt under its time-out. The attempt is polled before the timer, so one that is ready in time is never
//! reported as late, and one that is ready at once costs no timer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::time::Sleep;

use crate::context::Ambient;

pin_project! {
    /// Runs `inner` for at most `within`, inside the ambient context of its attempt.
    pub(crate) struct Guarded<F, S> {
        #[pin]
        inner: F,
        #[pin]
        timer: Option<Sleep>,
        ambient: Ambient,
        slow_after: Option<Duration>,
        within: Duration,
        on_slow: S,
    }
}

/// How an attempt ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran<T> {
    /// By itself.
    Done(T),
    /// By its time-out: it was dropped.
    TimedOut,
}

impl<F: Future, S: FnMut()> Guarded<F, S> {
    /// `on_slow` is called once, when the attempt is still out after `slow_after`.
    pub(crate) fn new(
        inner: F,
        ambient: Ambient,
        slow_after: Option<Duration>,
        within: Duration,
        on_slow: S,
    ) -> Self {
        let slow_after = slow_after.filter(|slow| *slow < within);
        Self {
            inner,
            timer: None,
            ambient,
            slow_after,
            within,
            on_slow,
        }
    }
}

impl<F: Future, S: FnMut()> Future for Guarded<F, S> {
    type Output = Ran<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Poll::Ready(done) = this.ambient.enter(|| this.inner.poll(cx)) {
            return Poll::Ready(Ran::Done(done));
        }
        if this.timer.is_none() {
            this.timer.set(Some(tokio::time::sleep(
                this.slow_after.unwrap_or(*this.within),
            )));
        }
        loop {
            let Some(timer) = this.timer.as_mut().as_pin_mut() else {
                return Poll::Pending;
            };
            if timer.poll(cx).is_pending() {
                return Poll::Pending;
            }
            let Some(slow_after) = this.slow_after.take() else {
                return Poll::Ready(Ran::TimedOut);
            };
            (this.on_slow)();
            this.timer.set(Some(tokio::time::sleep(
                this.within.saturating_sub(slow_after),
            )));
        }
    }
}

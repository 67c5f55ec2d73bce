//! One attempt under its time-out. The attempt is polled before the timer, so one that is ready in time is never
//! reported as late, and one that is ready at once costs no timer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Sleep;

use crate::context::Ambient;

/// Runs `inner` for at most `within`, inside the ambient context of its attempt. What is large is borrowed: a call
/// that is ready at once moves nothing but a few words.
pub(crate) struct Guarded<'g, F, S> {
    inner: Pin<&'g mut F>,
    timer: Pin<&'g mut Option<Sleep>>,
    ambient: &'g Ambient,
    slow_after: Option<Duration>,
    within: Duration,
    on_slow: S,
}

/// How an attempt ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ran<T> {
    /// By itself.
    Done(T),
    /// By its time-out: it was dropped.
    TimedOut,
}

impl<'g, F: Future, S: FnMut() + Unpin> Guarded<'g, F, S> {
    /// `on_slow` is called once, when the attempt is still out after `slow_after`.
    #[inline]
    pub(crate) fn new(
        inner: Pin<&'g mut F>,
        timer: Pin<&'g mut Option<Sleep>>,
        ambient: &'g Ambient,
        slow_after: Option<Duration>,
        within: Duration,
        on_slow: S,
    ) -> Self {
        let slow_after = slow_after.filter(|slow| *slow < within);
        Self {
            inner,
            timer,
            ambient,
            slow_after,
            within,
            on_slow,
        }
    }
}

impl<F: Future, S: FnMut() + Unpin> Future for Guarded<'_, F, S> {
    type Output = Ran<F::Output>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        let inner = this.inner.as_mut();
        if let Poll::Ready(done) = this.ambient.enter(|| inner.poll(cx)) {
            return Poll::Ready(Ran::Done(done));
        }
        this.poll_timer(cx)
    }
}

impl<F: Future, S: FnMut() + Unpin> Guarded<'_, F, S> {
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Ran<F::Output>> {
        let this = self;
        if this.timer.is_none() {
            this.timer.set(Some(tokio::time::sleep(
                this.slow_after.unwrap_or(this.within),
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

//! The context of the task. It is narrowed on the way in and never widened, and each call has its own: what one
//! call sets is gone when it is not being polled.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::clock::Moment;

thread_local! {
    static CURRENT: Cell<Ambient> = const { Cell::new(Ambient { deadline: None, outer: None, inside: [0; INSIDE_MAX] }) };
}

/// How many enclosing dependencies are remembered.
const INSIDE_MAX: usize = 4;

/// A layer above this one that repeats the whole of what runs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outer {
    /// Which of its attempts this is, from 1.
    pub attempt: u32,
}

/// What a call inherits from the task it runs in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ambient {
    /// When all must be over, by [`TokioClock`](crate::clock::TokioClock).
    pub deadline: Option<Moment>,
    /// Who repeats: while somebody does, no retry starts below.
    pub outer: Option<Outer>,
    /// The numbers of the dependencies whose calls enclose this one, innermost first; 0 is none. A call inside
    /// a call of the same dependency must not ask the same breaker again: the outer one may be its only probe.
    inside: [u32; INSIDE_MAX],
}

impl Ambient {
    /// What a request from outside says.
    #[must_use]
    pub const fn new(deadline: Option<Moment>, outer: Option<Outer>) -> Self {
        Self {
            deadline,
            outer,
            inside: [0; INSIDE_MAX],
        }
    }

    /// That of the running task.
    #[must_use]
    #[inline]
    pub fn current() -> Self {
        CURRENT.get()
    }

    /// The same with a deadline that is no later than `deadline`.
    #[must_use]
    #[inline]
    pub fn narrowed(self, deadline: Moment) -> Self {
        Self {
            deadline: Some(self.deadline.map_or(deadline, |own| own.min(deadline))),
            ..self
        }
    }

    /// The same inside a call of the dependency with this number.
    #[inline]
    pub(crate) fn entering(self, number: u32) -> Self {
        let [first, second, third, _] = self.inside;
        Self {
            inside: [number, first, second, third],
            ..self
        }
    }

    /// Whether a call of the dependency with this number encloses this one.
    #[inline]
    pub(crate) fn is_inside(&self, number: u32) -> bool {
        self.inside.contains(&number)
    }

    /// Runs `f` inside this context.
    #[inline]
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Restore(Ambient);
        impl Drop for Restore {
            #[inline]
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(*self));
        f()
    }

    /// Runs `future` inside this context, wherever it is polled. What it spawns does not inherit it.
    pub const fn scope<F: Future>(self, future: F) -> InAmbient<F> {
        InAmbient {
            future,
            ambient: self,
        }
    }
}

pin_project! {
    /// A future inside an [`Ambient`].
    #[derive(Debug)]
    pub struct InAmbient<F> {
        #[pin]
        future: F,
        ambient: Ambient,
    }
}

impl<F: Future> Future for InAmbient<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        this.ambient.enter(|| this.future.poll(cx))
    }
}

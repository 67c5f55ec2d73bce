//! The layer and its service.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tower::{Layer, Service, ServiceExt};

use super::Plan;
use crate::dependency::Dependency;
use crate::error::{CallError, Kind, Rejection};
use crate::meaning::{Health, Meaning, Meant};

/// Puts a dependency's policy around a service.
#[derive(Clone, Debug)]
pub struct Protect<P> {
    dependency: Dependency,
    plan: P,
}

impl<P> Protect<P> {
    /// A layer for `dependency`.
    pub const fn new(dependency: Dependency, plan: P) -> Self {
        Self { dependency, plan }
    }
}

impl<S, P: Clone> Layer<S> for Protect<P> {
    type Service = Protected<S, P>;

    fn layer(&self, inner: S) -> Self::Service {
        Protected {
            dependency: self.dependency.clone(),
            plan: self.plan.clone(),
            inner,
        }
    }
}

/// A service behind a dependency's policy.
#[derive(Clone, Debug)]
pub struct Protected<S, P> {
    dependency: Dependency,
    plan: P,
    inner: S,
}

impl<S, P, R> Service<R> for Protected<S, P>
where
    R: Send + 'static,
    S: Service<R> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Response: Send,
    S::Error: Send,
    P: Plan<R, S::Response, S::Error>,
{
    type Response = S::Response;
    type Error = CallError<S::Error>;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Self {
            dependency,
            plan,
            inner,
        } = self.clone();
        Box::pin(async move { protected(&dependency, plan, inner, request).await })
    }
}

async fn protected<S, P, R>(
    dependency: &Dependency,
    plan: P,
    inner: S,
    request: R,
) -> Result<S::Response, CallError<S::Error>>
where
    S: Service<R> + Clone,
    P: Plan<R, S::Response, S::Error>,
{
    let mut meta = plan.meta(&request);
    // What shows that it can be sent again is sent first.
    let mut first = plan.again(&request);
    meta.once |= first.is_none();
    let mut original = Some(request);
    let result = dependency
        .call(&meta, |attempt| {
            let copy = match &original {
                Some(request) if !meta.once => first.take().or_else(|| plan.again(request)),
                Some(_) | None => original.take(),
            };
            let (plan, mut inner) = (&plan, inner.clone());
            async move {
                let Some(mut request) = copy else {
                    return Err(Broken::NoTime);
                };
                if !plan.prepare(&attempt, &mut request) {
                    return Err(Broken::NoTime);
                }
                let failed = |error: S::Error| {
                    let meaning = plan.error(&error);
                    Broken::Error(error, meaning)
                };
                let answer = match inner.ready().await {
                    Ok(ready) => ready.call(request).await.map_err(failed)?,
                    Err(error) => return Err(failed(error)),
                };
                match plan.answer(&answer, &meta) {
                    None => Ok(answer),
                    Some(meaning) => Err(Broken::Answer(answer, meaning)),
                }
            }
        })
        .await;
    match result {
        Ok(answer) => Ok(answer),
        Err(error) => error.given_back(),
    }
}

/// How an attempt of a service failed.
enum Broken<A, E> {
    /// With an answer that is a failure.
    Answer(A, Meaning),
    Error(E, Meaning),
    /// No time was left to send it.
    NoTime,
}

impl<A, E> Meant for Broken<A, E> {
    fn meaning(&self) -> Meaning {
        match self {
            Self::Answer(_, meaning) | Self::Error(_, meaning) => *meaning,
            Self::NoTime => Meaning {
                health: Health::Neutral,
                ..Meaning::NOT_SENT
            },
        }
    }
}

impl<A, E> CallError<Broken<A, E>> {
    /// An answer that is a failure is the caller's to read, once nothing more can be done about it; all else is
    /// an error.
    fn given_back(self) -> Result<A, CallError<E>> {
        let failed = self.kind() == Kind::Failed;
        let (name, after): (_, Option<Duration>) = (self.name(), self.retry_after());
        let (rest, last) = self.split();
        match last {
            Some(Broken::Answer(answer, _)) if failed => Ok(answer),
            Some(Broken::NoTime) if failed => {
                Err(CallError::rejected(name, Rejection::DeadlinePassed, after))
            }
            Some(Broken::Error(error, _)) => Err(rest.with_last(Some(error))),
            Some(Broken::Answer(..) | Broken::NoTime) | None => Err(rest.with_last(None)),
        }
    }
}

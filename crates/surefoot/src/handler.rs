//! What runs a job: the raw door for configured kinds, and the typed handler of a [`Job`] behind it.

use std::future::Future;
use std::marker::PhantomData;

use async_trait::async_trait;
use surefoot_core::failure::Failure;
use surefoot_core::payload::{Payload, PayloadError};

use crate::cx::Cx;
use crate::job::{Job, Outcome};

/// Runs the attempts of a kind, payload in and result out.
///
/// The future may be dropped at any await: after a time-out, a lost lease or a drain, each after a grace in which
/// [`Cx::cancelled`] tells it. A panic is caught; it is a transient
/// failure, or an unknown outcome where the kind's policy declares a recovery.
///
/// A handler that blocks its thread cannot be dropped: its lease is held until it ends, for a limited time
/// ([`EngineOptions::stuck_max`](crate::EngineOptions::stuck_max)). What it leaves behind in other tasks or blocking
/// threads is not seen by the engine: wait for those, or a second run may overlap with them.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Runs one attempt.
    async fn run(&self, cx: Cx, payload: Payload) -> Result<Payload, Failure>;
}

/// A function on a [`Job`] as a [`Handler`].
pub(crate) struct Typed<J, F> {
    function: F,
    job: PhantomData<fn() -> J>,
}

impl<J, F> Typed<J, F> {
    pub(crate) const fn new(function: F) -> Self {
        Self {
            function,
            job: PhantomData,
        }
    }
}

#[async_trait]
impl<J, F, Fut> Handler for Typed<J, F>
where
    J: Job,
    F: Fn(J, Cx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome<J::Output>> + Send + 'static,
{
    async fn run(&self, cx: Cx, payload: Payload) -> Result<Payload, Failure> {
        let job: J = payload
            .decode()
            .map_err(|error| undone("the payload cannot be read", &error))?;
        let output = (self.function)(job, cx).await?;
        Payload::from_serialize(&output)
            .map_err(|error| undone("the handler ended, but its result cannot be kept", &error))
    }
}

/// Neither the payload nor the result gets better by trying again.
fn undone(what: &str, error: &PayloadError) -> Failure {
    let cause = std::error::Error::source(error)
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    Failure::permanent(format!("{what}: {error}{cause}"))
}

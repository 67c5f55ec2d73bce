//! Carrying a request out, in a task that no client's going away ends. Once its key is claimed, every way out of here leaves
//! a word on record, or a lease that runs out and makes the outcome unknown.

use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use surefoot_core::error::StoreError;
use surefoot_core::request::{Arrived, End, NewRequest};
use surefoot_policy::clock::{Clock as _, TokioClock};
use surefoot_policy::context::Ambient;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::admit::Asked;
use super::answer::{Exchange, GIVEN_UP};
use super::claim::shares_failure;
use super::look::Arrival;
use super::{BoxError, Guard, pass};
use crate::mark::{self, Status};
use crate::observe::DoorEvent;
use crate::problem::{DEADLINE_PASSED, INTERNAL, Problem, STORE_UNAVAILABLE};
use crate::route::StoreAway;

/// When a client may come back that was refused because the store is away.
pub(super) const AWAY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Whom to tell; nobody listens any more when the client has gone.
pub(super) type Reply = oneshot::Sender<Response<Body>>;

impl Guard {
    /// Claims the key of what was asked and carries it out, or tells what is known of it.
    pub(super) async fn carry_out<F, Fut, E>(
        &self,
        arrival: Arrival,
        ambient: Ambient,
        call: F,
        mut reply: Reply,
    ) where
        F: FnOnce(Request<Body>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Response<Body>, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        let Arrival { asked, joined } = arrival;
        let Asked {
            new,
            policy,
            head,
            body,
        } = asked;
        if reply.is_closed() {
            return;
        }
        let request = Request::from_parts(head, Body::from(body));
        let until = Instant::now() + policy.wait;
        let (lead, arrived) = self.claim_together(&new, joined, until, &mut reply).await;
        match arrived {
            Ok(Arrived::Run(record)) => {
                let exchange = Exchange::new(self.clone(), *record, policy, reply, lead);
                self.run(exchange, request, ambient, call).await;
            }
            Ok(arrived) => {
                self.tell_known(&new, policy.wait, lead, arrived, reply)
                    .await;
            }
            Err(error) => match &policy.store_away {
                StoreAway::Refuse => self.refuse_and_withdraw(&new, &error, reply).await,
                StoreAway::RunUnguarded { .. } => {
                    let operation = &new.operation;
                    self.0.watching.on(&DoorEvent::RanUnguarded { operation });
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        route = new.operation.route(),
                        "a request runs unguarded, as its route waives, because the store is away"
                    );
                    let response = pass(request, ambient, None, call).await;
                    tell(reply, self.unguarded(response));
                }
            },
        }
    }

    async fn run<F, Fut, E>(
        &self,
        mut exchange: Exchange,
        mut request: Request<Body>,
        ambient: Ambient,
        call: F,
    ) where
        F: FnOnce(Request<Body>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Response<Body>, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        if !exchange.holds() {
            let late = Problem::new(&STORE_UNAVAILABLE, "nothing was run; send it again")
                .retry_after(Some(AWAY_RETRY_AFTER));
            let nothing = End::NothingHappened("its claim was answered after its lease".into());
            return exchange.conclude(nothing, Some(self.refuse(late))).await;
        }
        let context = exchange.context(request.headers());
        // What leaves after the lease could take effect when nobody counts on it any more.
        let ambient = ambient.narrowed(TokioClock.now().after(exchange.run_max()));
        if ambient
            .deadline
            .is_some_and(|deadline| deadline <= TokioClock.now())
        {
            let late = Problem::new(
                &DEADLINE_PASSED,
                "no time was left to run it; nothing was run",
            );
            let nothing = End::NothingHappened("its deadline passed before it ran".into());
            return exchange.conclude(nothing, Some(self.refuse(late))).await;
        }
        request.extensions_mut().insert(context.clone());
        request.extensions_mut().insert(exchange.term());
        // A task of its own: neither a panic nor a handler that blocks its thread stops the lease.
        let handler = ambient.scope(async move { call(request).await });
        let handler = AbortOnDropHandle::new(tokio::spawn(context.scope(handler)));
        let Some(ended) = exchange.through(handler).await else {
            return exchange.broke_off(GIVEN_UP.to_owned()).await;
        };
        match ended {
            Ok(Ok(response)) => exchange.answered(response).await,
            Ok(Err(error)) => {
                exchange
                    .broke_off(format!("the handler failed: {}", error.into()))
                    .await
            }
            Err(ended) if ended.is_panic() => {
                exchange.broke_off("the handler panicked".to_owned()).await
            }
            Err(_) => {
                exchange
                    .broke_off("the handler was stopped".to_owned())
                    .await
            }
        }
    }

    async fn refuse_and_withdraw(&self, new: &NewRequest, error: &StoreError, reply: Reply) {
        tracing::error!(
            error = error as &dyn std::error::Error,
            "a request was refused because it could not be claimed"
        );
        let away = Problem::new(
            &STORE_UNAVAILABLE,
            "nothing was run; send it again under the same key",
        )
        .retry_after(Some(AWAY_RETRY_AFTER));
        tell(reply, self.refuse(away));
        // Who shared the first one's lot claimed nothing.
        if !shares_failure(error) {
            self.withdraw(new, error).await;
        }
    }

    fn unguarded<E: Into<BoxError>>(&self, response: Result<Response<Body>, E>) -> Response<Body> {
        match response {
            Ok(mut response) => {
                let away = Some(STORE_UNAVAILABLE.slug);
                mark::write(response.headers_mut(), Some(Status::Ignored), away);
                response
            }
            Err(error) => {
                let error: BoxError = error.into();
                tracing::error!(error = &*error, "a handler failed");
                self.refuse(Problem::new(&INTERNAL, "the service failed"))
            }
        }
    }
}

/// Tells the client, if it is still there.
pub(super) fn tell(reply: Reply, response: Response<Body>) {
    // Nobody to tell is no fault: what was to be remembered is on record.
    drop(reply.send(response));
}

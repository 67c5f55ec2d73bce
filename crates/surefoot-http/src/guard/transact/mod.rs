//! Carrying a request out in one transaction: claim, what its handler writes, and the answer. Nothing of it is seen before
//! the commit, so there is no lease, and whatever ends it before leaves nothing. What the client is told is true of the
//! database: a commit whose answer was lost is looked up before anything is said.

mod end;

use std::sync::Arc;

use axum::body::Body;
use http::{Request, Response};
use surefoot_core::error::StoreError;
use surefoot_core::port::{Opened, RequestTransactions};
use surefoot_core::request::{Arrived, NewRequest, Request as Record};
use surefoot_policy::clock::{Clock as _, TokioClock};
use surefoot_policy::context::Ambient;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::admit::Asked;
use super::local::{Joined, Lead, Standing};
use super::look::Arrival;
use super::run::{AWAY_RETRY_AFTER, Reply, tell};
use super::{BoxError, Guard};
use crate::context::RequestContext;
use crate::problem::{DEADLINE_PASSED, Problem, STORE_UNAVAILABLE};
use crate::route::RoutePolicy;
use crate::told::Told;
use crate::transaction::Slot;

/// One run in a transaction, from its claim to its word.
struct Exchange<T> {
    guard: Guard,
    transactions: Arc<T>,
    new: NewRequest,
    policy: RoutePolicy,
    record: Record,
    claimed_at: Instant,
    reply: Reply,
    lead: Option<Lead>,
}

/// What a handler left behind.
enum Left {
    /// An answer that is to be committed.
    Commits(Response<Body>),
    /// An answer without a word about the commit.
    Answers(Response<Body>),
    /// No answer.
    Failed(String),
}

impl Guard {
    /// Claims the key of what was asked in a transaction and carries it out there, or tells what is known of it.
    pub(super) async fn carry_out_in<T, F, Fut, E>(
        &self,
        arrival: Arrival,
        ambient: Ambient,
        transactions: Arc<T>,
        call: F,
        mut reply: Reply,
    ) where
        T: RequestTransactions,
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
        let until = Instant::now() + policy.wait;
        let opened = self.open_together(&*transactions, &new, joined, until, &mut reply);
        let (lead, opened) = opened.await;
        match opened {
            Ok(Opened::Run {
                request: record,
                transaction,
            }) => {
                let exchange = Exchange {
                    guard: self.clone(),
                    transactions,
                    new,
                    policy,
                    record: *record,
                    claimed_at: Instant::now(),
                    reply,
                    lead,
                };
                let request = Request::from_parts(head, Body::from(body));
                exchange.run(transaction, request, ambient, call).await;
            }
            Ok(Opened::Known(arrived)) => {
                self.tell_known(&new, policy.wait, lead, arrived, reply)
                    .await;
            }
            Err(error) => {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "a request was refused because no transaction could be opened for it"
                );
                tell(reply, self.away());
            }
        }
    }

    /// Opens a transaction as the first of several arrivals on this node, or shares what the first is told.
    async fn open_together<T: RequestTransactions, C>(
        &self,
        transactions: &T,
        new: &NewRequest,
        mut joined: Joined,
        until: Instant,
        client: &mut tokio::sync::oneshot::Sender<C>,
    ) -> (Option<Lead>, Result<Opened<T::Transaction>, StoreError>) {
        loop {
            match joined {
                Joined::First(lead) => {
                    let opened = self
                        .open(transactions, new, Some(&lead), until, client)
                        .await;
                    return match &opened {
                        Ok(Opened::Run { .. }) => {
                            lead.tell_running();
                            (Some(lead), opened)
                        }
                        Ok(Opened::Known(_)) => (Some(lead), opened),
                        Err(_) => {
                            lead.tell(Standing::Failed);
                            (None, opened)
                        }
                    };
                }
                Joined::Apart => {
                    let opened = self.open(transactions, new, None, until, client).await;
                    return (None, opened);
                }
                Joined::Other(first) => match self.follow(first, until, client).await {
                    Some(arrived) => return (None, arrived.map(Opened::Known)),
                    // One of those who followed is the next first.
                    None => joined = self.0.locals.join(new),
                },
            }
        }
    }

    /// Opens a transaction in which the key is claimed; a repetition waits for the run that is under way until `until`, and
    /// never gets to run after it waited.
    async fn open<T: RequestTransactions, C>(
        &self,
        transactions: &T,
        new: &NewRequest,
        lead: Option<&Lead>,
        until: Instant,
        client: &mut tokio::sync::oneshot::Sender<C>,
    ) -> Result<Opened<T::Transaction>, StoreError> {
        let opening = transactions.open(new, self.0.clock.now());
        let opened = self.0.requests.within("open", opening).await?;
        let Opened::Known(Arrived::Running { .. }) = &opened else {
            return Ok(opened);
        };
        let waited = self.wait(new, lead, until, client).await;
        Ok(waited.map_or(opened, Opened::Known))
    }

    /// Nothing was run, because the store is away.
    pub(super) fn away(&self) -> Response<Body> {
        let detail = "nothing was run; send it again under the same key";
        let away = Problem::new(&STORE_UNAVAILABLE, detail).retry_after(Some(AWAY_RETRY_AFTER));
        self.refuse(away)
    }
}

impl<T: RequestTransactions> Exchange<T> {
    async fn run<F, Fut, E>(
        self,
        transaction: T::Transaction,
        mut request: Request<Body>,
        ambient: Ambient,
        call: F,
    ) where
        F: FnOnce(Request<Body>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Response<Body>, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        let slot = Slot::new(transaction);
        let ends = Instant::now() + self.policy.run_max;
        let ambient = ambient.narrowed(TokioClock.now().after(self.policy.run_max));
        if ambient
            .deadline
            .is_some_and(|deadline| deadline <= TokioClock.now())
        {
            let late = Problem::new(
                &DEADLINE_PASSED,
                "no time was left to run it; nothing was run",
            );
            let response = self.guard.refuse(late);
            return self
                .roll_back(&slot, "its deadline passed before it ran", response)
                .await;
        }
        let context = RequestContext::new(&self.record, request.headers());
        request.extensions_mut().insert(context.clone());
        request.extensions_mut().insert(slot.clone());
        // A task of its own: a panic ends it, and nothing else.
        let handler = ambient.scope(async move { call(request).await });
        let handler = AbortOnDropHandle::new(tokio::spawn(context.scope(handler)));
        let ended = tokio::time::timeout_at(ends, handler).await;
        let left = match ended {
            Ok(Ok(Ok(response))) => left(response, &slot),
            Ok(Ok(Err(error))) => Left::Failed(format!("the handler failed: {}", error.into())),
            Ok(Err(ended)) if ended.is_panic() => Left::Failed("the handler panicked".to_owned()),
            Ok(Err(_)) => Left::Failed("the handler was stopped".to_owned()),
            Err(_) => Left::Failed("the handler did not end in time, and was stopped".to_owned()),
        };
        match left {
            Left::Commits(response) => self.commit(&slot, response, ends).await,
            Left::Answers(mut response) => {
                self.uncommitted(&slot, Told::take(&mut response), response)
                    .await;
            }
            Left::Failed(why) => self.fail(&slot, &why).await,
        }
    }
}

/// What a handler that answered says of its transaction, which stays in its place.
fn left<T>(response: Response<Body>, slot: &Slot<T>) -> Left {
    if slot.commits() {
        Left::Commits(response)
    } else {
        Left::Answers(response)
    }
}

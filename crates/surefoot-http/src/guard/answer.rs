//! From the answer of a handler to what is on record and what the client gets. What fits is on record before the client
//! sees it; what does not goes to the client while its digest is taken.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use http::response::Parts;
use http::{HeaderMap, Response, StatusCode};
use surefoot_core::request::{Answer, Body as Kind, End, Request as Record};
use tokio::time::Instant;

use super::Guard;
use super::body::{Passing, Seen, see};
use super::lease::{Held, Lease};
use super::local::{Lead, Standing};
use super::pump::{Passed, pump};
use super::record::Recorded;
use super::reply;
use super::run::{Reply, tell};
use crate::context::RequestContext;
use crate::mark::{self, NOT_RECORDED, Status};
use crate::observe::DoorEvent;
use crate::problem::{NOTHING_HAPPENED, OUTCOME_UNKNOWN};
use crate::route::RoutePolicy;
use crate::term::Term;
use crate::told::Told;

/// Why a run ended that went on after its lease.
pub(super) const GIVEN_UP: &str = "the handler went on after its lease, and was stopped";

/// One run, from its claim to its word.
pub(super) struct Exchange {
    guard: Guard,
    policy: RoutePolicy,
    claimed_at: Instant,
    lease: Lease,
    /// Once the lease is over: when the work is given up.
    ends: Option<Instant>,
    /// `None` once the client was told.
    reply: Option<Reply>,
    /// Repetitions on this node wait for it.
    lead: Option<Lead>,
}

impl Exchange {
    pub(super) fn new(
        guard: Guard,
        record: Record,
        policy: RoutePolicy,
        reply: Reply,
        lead: Option<Lead>,
    ) -> Self {
        Self {
            lease: Lease::new(guard.clone(), record, policy.run_max),
            guard,
            policy,
            claimed_at: Instant::now(),
            ends: None,
            reply: Some(reply),
            lead,
        }
    }

    pub(super) fn context(&self, headers: &HeaderMap) -> RequestContext {
        RequestContext::new(self.lease.request(), headers)
    }

    /// Whether it may begin.
    pub(super) fn holds(&self) -> bool {
        self.lease.holds()
    }

    /// How long what it sends may leave.
    pub(super) fn term(&self) -> Term {
        self.lease.term().clone()
    }

    pub(super) const fn run_max(&self) -> Duration {
        self.policy.run_max
    }

    /// Holds the lease until `work` ends. When the lease ends first the client is told that the outcome is unknown, and the
    /// work goes on, for its word may still count; but only until what it did has settled. `None` when it was given up
    /// then: from there on others may act on the word that it did not happen.
    pub(super) async fn through<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        if self.ends.is_none() {
            match self.lease.hold(work.as_mut()).await {
                Held::Ended(ended) => return Some(ended),
                Held::Lost => self.lost(),
            }
        }
        let ends = self.ends.unwrap_or_else(Instant::now);
        tokio::time::timeout_at(ends, work).await.ok()
    }

    /// The handler answered.
    pub(super) async fn answered(mut self, mut response: Response<Body>) {
        let nothing_happened = match Told::take(&mut response) {
            Some(Told::Unknown(why)) => {
                let end = End::Unknown(why.into());
                let response = marked(response, word(&end));
                return self.conclude(end, Some(response)).await;
            }
            Some(Told::NotBegun(why)) => {
                let end = End::NothingHappened(why.into());
                let response = marked(response, word(&end));
                return self.conclude(end, Some(response)).await;
            }
            Some(Told::NothingHappened(_)) => true,
            None => false,
        };
        let (head, body) = response.into_parts();
        if head.status < StatusCode::OK {
            let why = format!("the handler answered {}, which is no answer", head.status);
            return self.broke_off(why).await;
        }
        let most = self.policy.request.body_bytes_max;
        let patience = self.policy.stream_after;
        let headers = head.headers.clone();
        let seen = self.through(see(body, &headers, most, patience)).await;
        let answer = |body| answer(&head, body, nothing_happened);
        match seen {
            None => self.broke_off(GIVEN_UP.to_owned()).await,
            Some(Seen::Whole(body)) => {
                let end = self.policy.request.end(answer(Kind::Whole(body.to_vec())));
                let response = marked(Response::from_parts(head, Body::from(body)), word(&end));
                self.conclude(end, Some(response)).await;
            }
            Some(Seen::Streamed(passing)) => {
                let end = self.policy.request.end(answer(Kind::Streamed));
                let response = Response::from_parts(head, passing.into_body());
                let response = marked(response, word(&end));
                self.conclude(end, Some(response)).await;
            }
            Some(Seen::TooLarge(passing)) => self.pass(head, passing, nothing_happened).await,
            Some(Seen::Broken(error)) => {
                self.broke_off(format!("the answer broke off: {error}"))
                    .await
            }
        }
    }

    /// The handler ended without an answer.
    pub(super) async fn broke_off(self, why: String) {
        tracing::error!(request = %self.lease.id(), why, "the outcome of a request is unknown");
        self.conclude(End::Unknown(why.into()), None).await;
    }

    /// Lets an answer through that is too large to be kept, and writes down its digest at its end.
    async fn pass(mut self, head: Parts, passing: Passing, nothing_happened: bool) {
        let answer = answer(&head, Kind::Streamed, nothing_happened);
        // What the end is does not hang on the size of the body.
        let word = word(&self.policy.request.end(answer.clone()));
        let (body, pumping) = pump(passing);
        if let Some(reply) = self.reply.take() {
            tell(reply, marked(Response::from_parts(head, body), word));
        }
        let passed = self.through(pumping).await;
        let (sha256, bytes) = match passed {
            Some(Passed::Whole { sha256, bytes }) => (Some(sha256), Some(bytes)),
            Some(Passed::Part) | None => (None, None),
        };
        let body = Kind::Passed { sha256, bytes };
        let end = self.policy.request.end(Answer { body, ..answer });
        self.conclude(end, None).await;
    }

    /// Writes the end down, then tells the client. Where no answer is given the client is told that the outcome is unknown.
    pub(super) async fn conclude(mut self, end: End, response: Option<Response<Body>>) {
        let reply = self.reply.take();
        if let Some(lead) = &self.lead {
            // Another node may tell it as soon as it is written: nobody is told any more that it runs.
            lead.tell(Standing::Asking);
        }
        self.guard.0.watching.on(&DoorEvent::RunEnded {
            operation: &self.lease.request().operation,
            request: self.lease.id(),
            end: &end,
            took: self.claimed_at.elapsed(),
        });
        let identity = self.lease.identity().clone();
        let response = response.unwrap_or_else(|| self.unknown());
        match self
            .guard
            .record(self.lease.into_request(), end.clone())
            .await
        {
            Recorded::Done(record) => {
                if let Some(lead) = self.lead.take() {
                    lead.end(|| self.guard.told(&record));
                }
                if let Some(reply) = reply {
                    tell(reply, response);
                }
            }
            Recorded::Stale => {
                self.lead = None;
                let Some(reply) = reply else { return };
                let known = self.guard.known(&identity).await;
                let problems = &self.guard.0.options.problems;
                tell(
                    reply,
                    known.map_or(response, |arrived| reply::to(arrived, problems)),
                );
            }
            Recorded::Not(record, error) => {
                self.lead = None;
                let request = record.id;
                self.guard
                    .0
                    .watching
                    .on(&DoorEvent::NotRecorded { request });
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    request = %record.id,
                    "the end of a run could not be written down"
                );
                if let Some(reply) = reply {
                    tell(reply, unrecorded(response, &end));
                }
                self.guard.record_later(*record, end).await;
            }
        }
    }

    /// Once, when the lease ends before the work: others may know better from here on.
    fn lost(&mut self) {
        self.lead = None;
        self.ends = Some(Instant::now() + self.lease.left());
        let request = self.lease.id();
        self.guard.0.watching.on(&DoorEvent::LeaseLost { request });
        tracing::warn!(%request, "a handler outran its lease; the outcome is unknown until it ends");
        let response = self.unknown();
        if let Some(reply) = self.reply.take() {
            tell(reply, response);
        }
    }

    fn unknown(&self) -> Response<Body> {
        reply::unknown().response(&self.guard.0.options.problems, None)
    }
}

pub(super) fn answer(head: &Parts, body: Kind, nothing_happened: bool) -> Answer {
    let headers = head.headers.iter();
    Answer {
        status: head.status.as_u16(),
        headers: headers
            .map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()))
            .collect(),
        body,
        nothing_happened,
    }
}

/// The word for a service's answer after this end: only an answer that is kept is the last one.
fn word(end: &End) -> Option<&'static str> {
    match end {
        End::Answered(_) => None,
        End::NothingHappened(_) => Some(NOTHING_HAPPENED.slug),
        End::Unknown(_) => Some(OUTCOME_UNKNOWN.slug),
    }
}

/// An answer whose end could not be written down. Only a final one is told as such: what is unknown stays unknown.
fn unrecorded(response: Response<Body>, end: &End) -> Response<Body> {
    match end {
        End::Answered(_) => marked(response, Some(NOT_RECORDED)),
        End::NothingHappened(_) | End::Unknown(_) => response,
    }
}

/// An answer of the service's own, with this word where one is due.
pub(super) fn marked(mut response: Response<Body>, error: Option<&'static str>) -> Response<Body> {
    mark::write(response.headers_mut(), Some(Status::Executed), error);
    response
}

//! The service behind the guard, and whoever can be asked what became of a request. It obeys the deadline that it was
//! given, and what it begins takes effect within [`EFFECT_MAX`].

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use surefoot_core::request::{Kept, Request as Record, RequestVerdict, StoredResponse};
use surefoot_http::{Reconcile, RequestContext, Told};
use tokio::time::Instant;
use tower::Service;

use super::super::dice::dice;
use super::super::gate::Gate;
use super::super::log::Log;
use super::super::tally::Happened;
use super::super::time::WINDOW;
use super::ledger::Ledger;

/// How late a call may take effect after it left.
pub(super) const EFFECT_MAX: Duration = Duration::from_secs(5);

/// More than the guard keeps.
pub(super) const LARGE_BYTES: usize = 3000;

/// The service as one node calls it.
#[derive(Clone)]
pub(super) struct Charges {
    pub(super) seed: u64,
    pub(super) ledger: Ledger,
    pub(super) gate: Gate,
    pub(super) log: Log,
}

/// What a call meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Quick,
    /// It takes its time, maybe longer than any lease.
    Slow,
    /// It works for a while, maybe longer than any lease, and then acts at once, without a call.
    ActsLate,
    /// The effect comes, and no answer.
    AnswerLost,
    /// The node dies when the call has left.
    DiesAfter,
    /// The effect comes, and the answer is an error.
    FailsAfter,
    /// No effect, for good.
    Refuses,
    /// No effect, and a status that says that nothing was done.
    Busy,
    /// No effect, and it says so.
    SaysNothingHappened,
    /// It was never handed on.
    NotBegun,
    /// It does not know what it did.
    SaysUnknown(bool),
    /// It panics before or after its effect.
    Panics(bool),
    Large,
}

impl Charges {
    fn act(&self, rng: &mut fastrand::Rng) -> Act {
        if rng.f64() >= self.ledger.rate() {
            return Act::Quick;
        }
        match rng.u32(0..17) {
            0..=2 => Act::Slow,
            3..=4 => Act::AnswerLost,
            5..=6 => Act::DiesAfter,
            7 => Act::FailsAfter,
            8 => Act::Refuses,
            9 => Act::Busy,
            10 => Act::SaysNothingHappened,
            11 => Act::NotBegun,
            12 => Act::SaysUnknown(rng.bool()),
            13 => Act::Panics(rng.bool()),
            14..=15 => Act::ActsLate,
            _ => Act::Large,
        }
    }

    async fn charge(self, key: String) -> Response<Full<Bytes>> {
        self.gate.open().await;
        let (call, run) = self.ledger.called(&key);
        let mut rng = dice(self.seed, ("charge", &key, call));
        let act = self.act(&mut rng);
        self.log.count(Happened::DoorRan);
        self.log
            .line(format_args!("run {run} of {key}, its call {call}: {act:?}"));
        let soon = EFFECT_MAX.mul_f64(rng.f64());
        let body = format!("{{\"run\":{run}}}");
        let effect = |after| self.ledger.takes_effect(&key, after, body.clone());
        let wait = Duration::from_secs_f64(rng.f64() * 2.0);
        let (status, told) = match act {
            Act::Quick => {
                effect(wait);
                tokio::time::sleep(wait).await;
                (201, None)
            }
            Act::Slow => {
                effect(soon);
                tokio::time::sleep(soon + wait * 20).await;
                (201, None)
            }
            Act::ActsLate => {
                let works = wait * 16;
                if !works_through(works).await {
                    return std::future::pending().await;
                }
                self.gate.open().await;
                effect(Duration::ZERO);
                (201, None)
            }
            Act::AnswerLost => {
                effect(soon);
                std::future::pending().await
            }
            Act::DiesAfter => {
                effect(soon);
                self.log.count(Happened::DoorDiedCalling);
                self.gate.die(Duration::from_secs(10).mul_f64(rng.f64()));
                std::future::pending().await
            }
            Act::FailsAfter => {
                effect(Duration::ZERO);
                (500, None)
            }
            Act::Refuses => (422, None),
            Act::Busy => (503, None),
            Act::SaysNothingHappened => (402, Some(Told::NothingHappened("declined".to_owned()))),
            Act::NotBegun => (502, Some(Told::NotBegun("no way there".to_owned()))),
            Act::SaysUnknown(happened) => {
                if happened {
                    effect(soon);
                }
                (504, Some(Told::Unknown("lost".to_owned())))
            }
            Act::Panics(after) => {
                if after {
                    effect(soon);
                }
                panic!("on purpose");
            }
            Act::Large => {
                effect(Duration::ZERO);
                (200, None)
            }
        };
        let padding = if act == Act::Large { LARGE_BYTES } else { 0 };
        response(status, told, body + &" ".repeat(padding))
    }
}

fn response(status: u16, told: Option<Told>, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    if let Some(told) = told {
        response.extensions_mut().insert(told);
    }
    response
}

/// Works for so long; false where its process stood still meanwhile, and its work would be late without its knowing.
async fn works_through(works: Duration) -> bool {
    let until = Instant::now() + works;
    while Instant::now() < until {
        let step = Instant::now();
        tokio::time::sleep(WINDOW).await;
        if step.elapsed() > WINDOW * 3 {
            return false;
        }
    }
    true
}

impl<B> Service<Request<B>> for Charges {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let context = request.extensions().get::<RequestContext>();
        let key = context.map(|context| context.key().as_str().to_owned());
        let charges = self.clone();
        Box::pin(async move { Ok(charges.charge(key.unwrap_or_default()).await) })
    }
}

/// Looks into the ledger of the service, takes its time to tell, and cannot always.
#[async_trait]
impl Reconcile for Charges {
    async fn ask(&self, request: &Record) -> RequestVerdict {
        let key = request.identity.key.as_str();
        let mut rng = dice(self.seed, ("ask", key, request.version));
        self.log.count(Happened::DoorAsked);
        let found = self.ledger.effects(key);
        tokio::time::sleep(Duration::from_secs_f64(rng.f64() * 3.0)).await;
        if rng.f64() < self.ledger.rate() * 0.4 {
            return RequestVerdict::StillUnknown { ask_again_in: None };
        }
        if rng.f64() < self.ledger.rate() * 0.1 {
            return RequestVerdict::NeedsHuman("no way to tell".into());
        }
        verdict(found.first().map(|effect| effect.body.as_str()))
    }
}

/// What somebody says who looked.
pub(super) fn verdict(found: Option<&str>) -> RequestVerdict {
    match found {
        None => RequestVerdict::DidNotHappen,
        Some(body) => RequestVerdict::Happened(Kept::Response(StoredResponse {
            status: 201,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
        })),
    }
}

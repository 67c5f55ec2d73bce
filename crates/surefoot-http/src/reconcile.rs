//! What becomes of requests whose outcome nobody knows. It finds them, asks a hook that can look at what the handler would
//! have done, and completes or releases them, or hands them to a person. It never runs a request, and it may run on any
//! number of nodes: what one of them wrote first counts.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use surefoot_core::effect::VerifyPlan;
use surefoot_core::error::StoreError;
use surefoot_core::port::{PAGE_MAX, RequestWritten, Requests};
use surefoot_core::request::{Request, RequestState, RequestVerdict, asked, lapse};
use surefoot_core::time::{Clock, Roll};
use tokio_util::sync::CancellationToken;

use crate::observe::{DoorEvent, DoorObserver, NoDoorObserver, Watching};
use crate::options::GuardRefused;

/// Asks what became of a request.
#[async_trait]
pub trait Reconcile: Send + Sync + 'static {
    /// What became of it. Ask where it would have left a trace, under the keys that
    /// [`RequestId::downstream`](surefoot_core::request::RequestId::downstream) makes. Only who can rule out that it happened
    /// says that it did not; a fault while asking is [`RequestVerdict::StillUnknown`].
    async fn ask(&self, request: &Request) -> RequestVerdict;
}

#[async_trait]
impl<T: Reconcile + ?Sized> Reconcile for Arc<T> {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        (**self).ask(request).await
    }
}

/// Where nobody can be asked: a person decides.
#[derive(Clone, Copy, Debug)]
pub struct AskNobody;

#[async_trait]
impl Reconcile for AskNobody {
    async fn ask(&self, _: &Request) -> RequestVerdict {
        RequestVerdict::NeedsHuman("nobody can be asked what became of it".into())
    }
}

/// How a reconciler works.
#[derive(Clone, Debug)]
pub struct ReconcilerOptions {
    /// How often to ask, and when a person decides.
    pub plan: VerifyPlan,
    /// The longest that one question may take. Default 10 s.
    pub ask_timeout: Duration,
    /// How many questions are asked at once. Default 8.
    pub asks_at_once: usize,
    /// How long to rest between two rounds. Default 1 s.
    pub every: Duration,
    /// How many requests one round takes, at most [`PAGE_MAX`]. Default 100.
    pub batch: u32,
}

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Leases that had ended without a word.
    pub lapsed: u64,
    /// Requests that turned out to have happened.
    pub completed: u64,
    /// Requests that turned out not to have happened, and may run.
    pub released: u64,
    /// Requests that are to be asked about again.
    pub open: u64,
    /// Requests that a person has to decide.
    pub needs_human: u64,
    /// Requests that somebody else wrote first.
    pub outrun: u64,
    /// Answers and keys whose time was over.
    pub forgotten: u64,
}

impl Round {
    /// What became of the requests that were looked at, with the words for it.
    #[must_use]
    pub const fn outcomes(&self) -> [(&'static str, u64); 6] {
        [
            ("lapsed", self.lapsed),
            ("completed", self.completed),
            ("released", self.released),
            ("open", self.open),
            ("needs_human", self.needs_human),
            ("outrun", self.outrun),
        ]
    }
}

/// Settles requests whose outcome nobody knows, and forgets those whose time is over.
pub struct Reconciler {
    requests: Arc<dyn Requests>,
    clock: Arc<dyn Clock>,
    hook: Arc<dyn Reconcile>,
    options: ReconcilerOptions,
    watching: Watching,
}

impl Default for ReconcilerOptions {
    fn default() -> Self {
        Self {
            plan: VerifyPlan::default(),
            ask_timeout: Duration::from_secs(10),
            asks_at_once: 8,
            every: Duration::from_secs(1),
            batch: 100,
        }
    }
}

impl ReconcilerOptions {
    /// Every contradiction, each with its remedy; empty when there is none. `settles_within` is the longest of the routes.
    #[must_use]
    pub fn validate(&self, settles_within: Duration) -> Vec<String> {
        let mut faults = self.plan.validate(settles_within);
        let zeros = [
            ("ask_timeout", self.ask_timeout.is_zero()),
            ("asks_at_once", self.asks_at_once == 0),
            ("every", self.every.is_zero()),
            ("batch", self.batch == 0),
        ];
        for (name, _) in zeros.into_iter().filter(|(_, is_zero)| *is_zero) {
            faults.push(format!(
                "{name} is 0, so nothing would ever be asked; raise it"
            ));
        }
        faults
    }
}

impl std::fmt::Debug for Reconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconciler")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Reconciler {
    /// A reconciler that asks `hook`. There is no default: where nobody can be asked, [`AskNobody`] says so.
    ///
    /// # Errors
    /// Every contradiction of the options.
    pub fn new(
        requests: Arc<dyn Requests>,
        clock: Arc<dyn Clock>,
        hook: impl Reconcile,
        options: ReconcilerOptions,
    ) -> Result<Self, GuardRefused> {
        let faults = options.validate(Duration::ZERO);
        if !faults.is_empty() {
            return Err(GuardRefused(faults));
        }
        Ok(Self {
            requests,
            clock,
            hook: Arc::new(hook),
            options,
            watching: Watching::new(NoDoorObserver),
        })
    }

    /// The same reconciler, and `observer` sees what each round did.
    #[must_use]
    pub fn observed(self, observer: impl DoorObserver) -> Self {
        self.watched(Watching::new(observer))
    }

    pub(crate) fn watched(self, watching: Watching) -> Self {
        Self { watching, ..self }
    }

    /// Round after round until `stop`. A store that is away is asked again in the next one.
    pub async fn run(&self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let round = tokio::select! {
                () = stop.cancelled() => return,
                round = self.round() => round,
            };
            match round {
                Ok(round) if round.needs_human > 0 => {
                    tracing::error!(
                        requests = round.needs_human,
                        "the outcome of requests waits for a person"
                    );
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "requests could not be reconciled"
                    );
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(self.options.every) => {}
            }
        }
    }

    /// Looks at the requests that are due, at most a batch of them, and forgets a batch of those whose time is over.
    ///
    /// # Errors
    /// What the store answered when it was asked for them. A request whose own write failed stays due.
    pub async fn round(&self) -> Result<Round, StoreError> {
        let limit = self.options.batch.min(PAGE_MAX);
        let due = self.requests.due_requests(self.clock.now(), limit).await?;
        let mut round = Round::default();
        let mut steps = stream::iter(due)
            .map(|request| self.settle(request))
            .buffer_unordered(self.options.asks_at_once);
        while let Some((lapsed, became)) = steps.next().await {
            round.lapsed += u64::from(lapsed);
            match became {
                Ok(Became::Completed) => round.completed += 1,
                Ok(Became::Released) => round.released += 1,
                Ok(Became::Open) => round.open += 1,
                Ok(Became::NeedsHuman) => round.needs_human += 1,
                Ok(Became::Outrun) => round.outrun += 1,
                Err(error) => {
                    round.open += 1;
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "a request stays unknown for now"
                    );
                }
            }
        }
        let forgotten = self
            .requests
            .forget_requests(self.clock.now(), limit)
            .await?;
        round.forgotten = forgotten.expired + forgotten.forgotten;
        self.watching.on(&DoorEvent::Reconciled(&round));
        Ok(round)
    }

    /// One request: its lapse is written down first, so that everybody who asks is told the same.
    async fn settle(&self, mut request: Request) -> (bool, Result<Became, StoreError>) {
        let lapsed = lapse(&request, self.clock.now());
        let has_lapsed = lapsed.is_some();
        if let Some(lapsed) = lapsed {
            match self.requests.write_request(&lapsed).await {
                Ok(RequestWritten::Applied | RequestWritten::Already) => request = lapsed,
                Ok(RequestWritten::Changed(_)) => return (false, Ok(Became::Outrun)),
                Err(error) => return (false, Err(error)),
            }
        }
        (has_lapsed, self.ask(&request).await)
    }

    async fn ask(&self, request: &Request) -> Result<Became, StoreError> {
        let asked_at = self.clock.now();
        let verdict =
            match tokio::time::timeout(self.options.ask_timeout, self.hook.ask(request)).await {
                Ok(verdict) => verdict,
                Err(_) => RequestVerdict::StillUnknown { ask_again_in: None },
            };
        let roll = Roll(fastrand::u64(..));
        let (plan, now) = (&self.options.plan, self.clock.now());
        let Some(next) = asked(request, verdict, plan, asked_at, now, roll) else {
            return Ok(Became::Outrun);
        };
        match self.requests.write_request(&next).await? {
            RequestWritten::Changed(_) => Ok(Became::Outrun),
            RequestWritten::Applied | RequestWritten::Already => Ok(match next.state {
                RequestState::Finished { .. } | RequestState::Expired { .. } => Became::Completed,
                RequestState::Released { .. } => Became::Released,
                RequestState::Claimed { .. } | RequestState::Unknown { .. } => Became::Open,
                RequestState::NeedsHuman { .. } => Became::NeedsHuman,
            }),
        }
    }
}

/// What became of one request in a round.
enum Became {
    Completed,
    Released,
    Open,
    NeedsHuman,
    Outrun,
}

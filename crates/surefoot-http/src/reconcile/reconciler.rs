//! Looks for requests whose outcome nobody knows, has them asked about, and forgets those whose time is over. A look waits
//! for no question, so that one that gets no answer holds up nothing but itself.

use std::sync::Arc;

use surefoot_core::error::StoreError;
use surefoot_core::port::{PAGE_MAX, Requests};
use surefoot_core::request::Request;
use surefoot_core::time::Clock;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::asker::Asker;
use super::hook::Reconcile;
use super::options::ReconcilerOptions;
use super::questions::Questions;
use super::round::Round;
use crate::guard::BoundedRequests;
use crate::observe::{DoorEvent, DoorObserver, NoDoorObserver, Watching};
use crate::options::GuardRefused;
use crate::route::Routes;

/// Settles requests whose outcome nobody knows, and forgets those whose time is over.
pub struct Reconciler {
    requests: Arc<dyn Requests>,
    clock: Arc<dyn Clock>,
    hook: Arc<dyn Reconcile>,
    options: ReconcilerOptions,
    routes: Arc<Routes>,
    watching: Watching,
}

impl std::fmt::Debug for Reconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reconciler")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Reconciler {
    /// A reconciler that asks `hook`. There is no default: where nobody can be asked, [`AskNobody`](super::AskNobody) says so.
    ///
    /// # Errors
    /// Every contradiction of the options.
    pub fn new(
        requests: Arc<dyn Requests>,
        clock: Arc<dyn Clock>,
        hook: impl Reconcile,
        options: ReconcilerOptions,
    ) -> Result<Self, GuardRefused> {
        let faults = options.validate(std::time::Duration::ZERO);
        if !faults.is_empty() {
            return Err(GuardRefused(faults));
        }
        Ok(Self {
            requests,
            clock,
            hook: Arc::new(hook),
            options,
            routes: Arc::default(),
            watching: Watching::new(NoDoorObserver),
        })
    }

    /// The same reconciler, which asks by the plan of each request's route where that has one
    /// ([`RoutePolicy::asks`](crate::RoutePolicy::asks)). [`Guard::reconciler`](crate::Guard::reconciler) makes one for the
    /// routes of its guard.
    ///
    /// # Errors
    /// Every plan that contradicts its route, with the route and the remedy.
    pub fn by_routes(self, routes: Routes) -> Result<Self, GuardRefused> {
        let faults = routes.contradicting(&self.options.plan);
        if !faults.is_empty() {
            return Err(GuardRefused(faults));
        }
        Ok(Self {
            routes: Arc::new(routes),
            ..self
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

    /// Look after look until `stop`; questions go on meanwhile, and what comes due is asked about beside them. A look sees the
    /// [`PAGE_MAX`] that are due the longest. A store that is away is asked again at the next look.
    pub async fn run(&self, stop: CancellationToken) {
        let asker = self.asker();
        let mut questions = Questions::new(asker.clone());
        let mut round = Round::default();
        loop {
            let looked = tokio::select! {
                () = stop.cancelled() => return,
                looked = self.look(&asker, &mut questions, &mut round) => looked,
            };
            if let Err(error) = &looked {
                tracing::warn!(
                    error = error as &dyn std::error::Error,
                    "requests could not be reconciled"
                );
            }
            // It is told of once no question is open, at the latest with the next look.
            let mut is_told = looked.is_err();
            let until = Instant::now() + self.options.every;
            while Instant::now() < until {
                if !is_told && questions.are_answered() {
                    self.tell(std::mem::take(&mut round));
                    is_told = true;
                }
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = tokio::time::sleep_until(until) => {}
                    Some(looked) = questions.next() => round.count(&looked),
                }
            }
            if !is_told {
                self.tell(std::mem::take(&mut round));
            }
        }
    }

    /// Looks at the requests that are due, at most a batch of them, until each was asked about, and forgets a batch of those
    /// whose time is over. It ends with its slowest question; [`run`](Self::run) waits for none.
    ///
    /// # Errors
    /// What the store answered when it was asked for them. A request whose own write failed stays due.
    pub async fn round(&self) -> Result<Round, StoreError> {
        let asker = self.asker();
        let mut questions = Questions::new(asker.clone());
        let mut round = Round::default();
        questions.take(self.due(&asker, self.options.batch.min(PAGE_MAX)).await?);
        while let Some(looked) = questions.next().await {
            round.count(&looked);
        }
        round.forgotten = self.forget(&asker).await?;
        self.tell(round);
        Ok(round)
    }

    fn asker(&self) -> Arc<Asker> {
        Arc::new(Asker {
            requests: BoundedRequests::new(
                self.requests.clone(),
                self.options.store_timeout,
                self.watching.clone(),
            ),
            clock: self.clock.clone(),
            hook: self.hook.clone(),
            options: self.options.clone(),
            routes: self.routes.clone(),
        })
    }

    /// Takes what is due, and forgets what is over. All that is due is looked through, so that what cannot be asked about at
    /// present does not hide the rest.
    async fn look(
        &self,
        asker: &Asker,
        questions: &mut Questions,
        round: &mut Round,
    ) -> Result<(), StoreError> {
        questions.take(self.due(asker, PAGE_MAX).await?);
        round.forgotten += self.forget(asker).await?;
        Ok(())
    }

    async fn due(&self, asker: &Asker, limit: u32) -> Result<Vec<Request>, StoreError> {
        let due = self.requests.due_requests(self.clock.now(), limit);
        asker.requests.within("due_requests", due).await
    }

    /// Forgets a batch, and answers how much that was.
    async fn forget(&self, asker: &Asker) -> Result<u64, StoreError> {
        let batch = self.options.batch.min(PAGE_MAX);
        let forgetting = self.requests.forget_requests(self.clock.now(), batch);
        let forgotten = asker.requests.within("forget_requests", forgetting).await?;
        Ok(forgotten.expired + forgotten.forgotten)
    }

    fn tell(&self, round: Round) {
        if round.needs_human > 0 {
            tracing::error!(
                requests = round.needs_human,
                "the outcome of requests waits for a person"
            );
        }
        self.watching.on(&DoorEvent::Reconciled(&round));
    }
}

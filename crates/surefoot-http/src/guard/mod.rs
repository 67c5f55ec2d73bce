//! The guard of a front door. It claims a request's key before anything runs, runs the handler in a task of its own, writes
//! down what it answered and gives that to every repetition. It never runs a handler for a key that it could not claim,
//! unless a route waives that, and never runs one twice.
//!
//! `admit` reads what is needed of a request, `look` answers what was `seen` lately, `claim` asks the store and `local` spares
//! it repetitions, which `wait` together; `withdraw` gives back a claim that was never told. `run` carries a request out under a
//! `lease`, `answer` takes the handler's answer apart, `record` writes the end down, `reply` says to a client what is known.
//! `transact` does all of it in one transaction.

mod admit;
mod answer;
mod body;
mod claim;
mod lease;
mod local;
mod look;
mod pump;
mod record;
mod reply;
mod run;
mod seen;
mod store;
mod transact;
mod wait;
mod withdraw;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use http::request::Parts;
use http::{Request, Response};
use surefoot_core::id::Tenant;
use surefoot_core::port::{RequestTransactions, Requests};
use surefoot_core::request::RequestId;
use surefoot_core::time::Clock;
use surefoot_policy::context::Ambient;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::mark::{self, Status};
use crate::observe::{DoorEvent, DoorObserver, NoDoorObserver, Said, Watching};
use crate::options::{GuardOptions, GuardRefused};
use crate::problem::{INTERNAL, Problem, ProblemTypes, TOO_BUSY};
use crate::reconcile::{Reconcile, Reconciler, ReconcilerOptions};
use crate::tenant::{TenantRefused, Tenants};
use crate::told::Told;
use crate::transaction::NoTransaction;
use admit::{Admission, Admitted, Keyed};
use body::ROOM_BYTES;
pub(crate) use body::{Room, Unread, read};
use local::Locals;
use look::{Arrival, Looked};
use run::Reply;
use seen::Seen;
pub(crate) use store::BoundedRequests;

/// What a handler may fail with.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// When a client that found too many requests under way may come back.
const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The guard of a front door, shared by all its connections; a clone is the same guard.
#[derive(Clone)]
pub struct Guard(Arc<Inner>);

struct Inner {
    requests: BoundedRequests,
    clock: Arc<dyn Clock>,
    tenants: Arc<dyn Tenants>,
    options: GuardOptions,
    slots: Arc<Semaphore>,
    room: Room,
    locals: Locals,
    seen: Seen,
    runs: TaskTracker,
    watching: Watching,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// A guard over what remembers requests. `clock` follows that store's clock, so that all nodes agree; `tenants` says
    /// whose a request is and has no default.
    ///
    /// # Errors
    /// Every contradiction of the options.
    pub fn new(
        requests: Arc<dyn Requests>,
        clock: Arc<dyn Clock>,
        tenants: impl Tenants,
        options: GuardOptions,
    ) -> Result<Self, GuardRefused> {
        Self::observed(requests, clock, tenants, options, NoDoorObserver)
    }

    /// The same guard, and `observer` sees what happens.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn observed(
        requests: Arc<dyn Requests>,
        clock: Arc<dyn Clock>,
        tenants: impl Tenants,
        options: GuardOptions,
        observer: impl DoorObserver,
    ) -> Result<Self, GuardRefused> {
        let faults = options.validate();
        if !faults.is_empty() {
            return Err(GuardRefused(faults));
        }
        let watching = Watching::new(observer);
        Ok(Self(Arc::new(Inner {
            requests: BoundedRequests::new(requests, options.store_timeout, watching.clone()),
            clock,
            tenants: Arc::new(tenants),
            slots: Arc::new(Semaphore::new(options.guarded_max)),
            room: Room::new(ROOM_BYTES),
            locals: Locals::default(),
            seen: Seen::default(),
            runs: TaskTracker::new(),
            watching,
            options,
        })))
    }

    /// Whose request this is.
    pub(crate) fn tenant(&self, head: &Parts) -> Result<Tenant, TenantRefused> {
        self.0.tenants.tenant(head)
    }

    /// Where its problems are explained.
    pub(crate) fn problems(&self) -> &ProblemTypes {
        &self.0.options.problems
    }

    /// How it is set up.
    pub(crate) fn options(&self) -> &GuardOptions {
        &self.0.options
    }

    /// A reconciler of its requests that asks `hook`, by its clock, before its observer and by the plan of each route. The plan of
    /// the options is checked against the routes that have none: it must go on asking for longer than their `settles_within`.
    ///
    /// # Errors
    /// Every contradiction of the options.
    pub fn reconciler(
        &self,
        hook: impl Reconcile,
        options: ReconcilerOptions,
    ) -> Result<Reconciler, GuardRefused> {
        let requests = self.0.requests.unbounded();
        let reconciler = Reconciler::new(requests, self.0.clock.clone(), hook, options)?;
        let reconciler = reconciler.by_routes(self.0.options.routes.clone())?;
        Ok(reconciler.watched(self.0.watching.clone()))
    }

    /// Whether its tenants are told apart by a verified identity, so that other machines may be served.
    #[must_use]
    pub fn is_verified(&self) -> bool {
        self.0.tenants.is_verified()
    }

    /// How many requests are being carried out or written down at present.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.0.runs.len()
    }

    /// Waits until all that is under way is written down, for at most `grace`. Answers how many are not: their outcome is
    /// unknown once this process is gone. New requests are not refused: stop listening first.
    pub async fn drain(&self, grace: Duration) -> usize {
        self.0.runs.close();
        let waited = tokio::time::timeout(grace, self.0.runs.wait()).await;
        self.0.runs.reopen();
        match waited {
            Ok(()) => 0,
            Err(_) => self.under_way(),
        }
    }

    /// Carries out a request, or says what became of it. `call` is what runs it; a client that goes away does not end it.
    pub(crate) async fn handle<F, Fut, E>(
        &self,
        request: Request<Body>,
        call: F,
    ) -> Result<Response<Body>, E>
    where
        F: FnOnce(Request<Body>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Response<Body>, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        let guard = self.clone();
        let carry_out = |arrival, ambient, call, reply| async move {
            guard.carry_out(arrival, ambient, call, reply).await;
        };
        self.serve(request, call, carry_out).await
    }

    /// Carries out a request in one transaction, or says what became of it.
    pub(crate) async fn handle_in<T, F, Fut, E>(
        &self,
        mut request: Request<Body>,
        transactions: Arc<T>,
        call: F,
    ) -> Result<Response<Body>, E>
    where
        T: RequestTransactions,
        F: FnOnce(Request<Body>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Response<Body>, E>> + Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        let guard = self.clone();
        let none = NoTransaction(self.0.options.problems.clone());
        request.extensions_mut().insert(none);
        let carry_out = |arrival, ambient, call, reply| async move {
            guard
                .carry_out_in(arrival, ambient, transactions, call, reply)
                .await;
        };
        self.serve(request, call, carry_out).await
    }

    /// Tells what is to be done with a request, has it done, and says what was answered.
    async fn serve<F, Fut, E, C, Carried>(
        &self,
        request: Request<Body>,
        call: F,
        carry_out: C,
    ) -> Result<Response<Body>, E>
    where
        F: FnOnce(Request<Body>) -> Fut,
        Fut: Future<Output = Result<Response<Body>, E>>,
        C: FnOnce(Arrival, Ambient, F, Reply) -> Carried,
        Carried: Future<Output = ()> + Send + 'static,
    {
        let arrived_at = Instant::now();
        let Admission {
            operation,
            admitted,
        } = self.admit(request);
        let response = match admitted {
            Err(problem) => self.refuse(problem),
            Ok((Admitted::Unguarded { request, status }, ambient)) => {
                pass(*request, ambient, status, call).await?
            }
            Ok((Admitted::Guarded(keyed), ambient)) => {
                let carry_out = |arrival, reply| carry_out(arrival, ambient, call, reply);
                self.guarded(keyed, carry_out).await
            }
        };
        self.0.watching.on(&DoorEvent::Answered {
            operation: operation.as_ref(),
            said: Said::of(response.headers()),
            status: response.status(),
            took: arrived_at.elapsed(),
        });
        Ok(response)
    }

    /// Reads all of a request with a key and has it carried out in a task of its own.
    async fn guarded<Fut>(
        &self,
        keyed: Box<Keyed>,
        carry_out: impl FnOnce(Arrival, Reply) -> Fut,
    ) -> Response<Body>
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        let Ok(slot) = self.0.slots.clone().try_acquire_owned() else {
            let busy = Problem::new(&TOO_BUSY, "try again").retry_after(Some(BUSY_RETRY_AFTER));
            return self.refuse(busy);
        };
        let asked = match self.read(keyed).await {
            Ok(asked) => asked,
            Err(problem) => return self.refuse(problem),
        };
        let arrival = match self.look(asked).await {
            Looked::Runs(arrival) => *arrival,
            Looked::Known(known) => return reply::to(known, &self.0.options.problems),
        };
        let (reply, answer) = oneshot::channel();
        let run = carry_out(arrival, reply);
        // From here on a client that goes away changes nothing: the task goes on without it.
        self.0.runs.spawn(async move {
            run.await;
            drop(slot);
        });
        answer
            .await
            .unwrap_or_else(|_| self.refuse(Problem::new(&INTERNAL, "the request was given up")))
    }

    fn refuse(&self, problem: Problem) -> Response<Body> {
        problem.response(&self.0.options.problems, None)
    }

    fn new_id(&self) -> RequestId {
        let mut random = [0; 10];
        fastrand::fill(&mut random);
        RequestId::new(self.0.clock.now(), random)
    }
}

/// Serves a request without a guard.
async fn pass<F, Fut, E>(
    request: Request<Body>,
    ambient: Ambient,
    status: Option<Status>,
    call: F,
) -> Result<Response<Body>, E>
where
    F: FnOnce(Request<Body>) -> Fut,
    Fut: Future<Output = Result<Response<Body>, E>>,
{
    let call = ambient.enter(|| call(request));
    let mut response = ambient.scope(call).await?;
    // Said to a guard, and there is none here.
    drop(Told::take(&mut response));
    mark::write(response.headers_mut(), status, None);
    Ok(response)
}

//! A process with a guard and a reconciler in it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Tenant, Worker};
use surefoot_core::port::{
    Forgotten, RequestDepth, RequestFilter, RequestHead, RequestWritten, Requests,
};
use surefoot_core::request::{
    Arrived, Clocks, Identity, NewRequest, Request, RequestId, RequestPolicy,
};
use surefoot_core::time::Timestamp;
use surefoot_http::{
    Guard, GuardOptions, Idempotency, IdempotencyLayer, Reconciler, ReconcilerOptions, RoutePolicy,
    Routes, SingleTenant,
};
use surefoot_testkit::{FaultyStore, MemoryStore, Verb};
use tokio_util::sync::CancellationToken;
use tower::Layer;

use super::super::gate::Gate;
use super::super::life::Life;
use super::super::log::Log;
use super::super::slot::Process;
use super::super::tally::Happened;
use super::super::time::WorldTime;
use super::client;
use super::ledger::Ledger;
use super::plan::{Ask, Plan};
use super::service::{Charges, LARGE_BYTES};

/// What clients ask.
pub(super) type Guarded = Idempotency<Charges>;

/// Lease 8 s, effects settle 6 s later; no answer leaves within a world.
const CLOCKS: Clocks = Clocks {
    lease: Duration::from_secs(8),
    retention: Duration::from_secs(24 * 60 * 60),
    tombstone: Duration::from_secs(24 * 60 * 60),
    settles_within: Duration::from_secs(6),
};

/// What every process shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) seed: u64,
    pub(super) time: WorldTime,
    pub(super) log: Log,
    pub(super) store: MemoryStore,
    pub(super) ledger: Ledger,
}

/// One life of a process.
pub(super) struct Door {
    life: Life,
    guarded: Guarded,
    log: Log,
}

impl Door {
    pub(super) fn begin(
        shared: &Shared,
        plan: &Plan,
        name: &str,
        rate: f64,
        now: Timestamp,
    ) -> std::io::Result<Self> {
        let store = Arc::new(shared.store.clone());
        let salt = name
            .bytes()
            .fold(7, |salt: u64, byte| salt.wrapping_mul(31) + u64::from(byte));
        let life = Life::begin(&shared.log, rate, now, |_| {
            FaultyStore::over(store.clone(), shared.seed ^ salt)
        })?;
        let gate = life.gate.clone();
        let requests: Arc<dyn Requests> = Arc::new(life.faults.requests(Arc::new(Gated {
            inner: store,
            gate: gate.clone(),
        })));
        let charges = Charges {
            seed: shared.seed,
            ledger: shared.ledger.clone(),
            gate,
            log: shared.log.clone(),
        };
        let clock = Arc::new(shared.time.clone());
        let guard = Guard::new(
            requests.clone(),
            clock.clone(),
            SingleTenant(Tenant::single()),
            options(plan, name)?,
        );
        let reconciler = Reconciler::new(requests, clock, charges.clone(), asks());
        let (guard, reconciler) = (guard.map_err(unsound)?, reconciler.map_err(unsound)?);
        life.spawn(async move { reconciler.run(CancellationToken::new()).await });
        Ok(Self {
            life,
            guarded: IdempotencyLayer::new(guard).layer(charges),
            log: shared.log.clone(),
        })
    }

    pub(super) fn ask(&self, ask: Ask) {
        let (guarded, gate) = (self.guarded.clone(), self.life.gate.clone());
        self.life
            .spawn(client::ask(guarded, ask, gate, self.log.clone()));
    }
}

impl Process for Door {
    fn life(&self) -> &Life {
        &self.life
    }

    fn tally(&self) {
        for verb in [Verb::Begin, Verb::WriteRequest] {
            let counts = self.life.faults.counts(verb);
            self.log.with(|state| {
                let tally = &mut state.tally;
                tally.add(Happened::DoorStoreBefore, counts.before);
                tally.add(Happened::DoorStoreAfter, counts.after);
            });
        }
    }
}

fn options(plan: &Plan, name: &str) -> std::io::Result<GuardOptions> {
    let holder = Worker::new(name.to_owned()).map_err(unsound)?;
    let routes = Routes::all(RoutePolicy {
        request: RequestPolicy {
            clocks: CLOCKS,
            keep: plan.keep,
            body_bytes_max: LARGE_BYTES / 2,
            ..RequestPolicy::default()
        },
        run_max: Duration::from_secs(20),
        wait: plan.wait,
        ..RoutePolicy::default()
    });
    Ok(GuardOptions {
        routes,
        store_timeout: Duration::from_secs(3),
        ..GuardOptions::new(holder)
    })
}

fn asks() -> ReconcilerOptions {
    ReconcilerOptions {
        every: Duration::from_secs(2),
        ask_timeout: Duration::from_secs(4),
        ..ReconcilerOptions::default()
    }
}

fn unsound(error: impl std::fmt::Display) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

/// The store behind a gate.
struct Gated {
    inner: Arc<MemoryStore>,
    gate: Gate,
}

type Answer<T> = Result<T, StoreError>;

#[async_trait]
impl Requests for Gated {
    async fn begin(&self, new: &NewRequest, now: Timestamp) -> Answer<Arrived> {
        self.gate.pass(self.inner.begin(new, now)).await
    }

    async fn write_request(&self, request: &Request) -> Answer<RequestWritten> {
        self.gate.pass(self.inner.write_request(request)).await
    }

    async fn request(&self, identity: &Identity) -> Answer<Option<Request>> {
        self.gate.open().await;
        self.inner.request(identity).await
    }

    async fn request_by_id(&self, id: RequestId) -> Answer<Option<Request>> {
        self.gate.open().await;
        self.inner.request_by_id(id).await
    }

    async fn due_requests(&self, now: Timestamp, limit: u32) -> Answer<Vec<Request>> {
        self.gate.open().await;
        self.inner.due_requests(now, limit).await
    }

    async fn requests(
        &self,
        filter: &RequestFilter,
        before: Option<RequestId>,
        limit: u32,
    ) -> Answer<Vec<RequestHead>> {
        self.gate.open().await;
        self.inner.requests(filter, before, limit).await
    }

    async fn request_depth(&self) -> Answer<RequestDepth> {
        self.gate.open().await;
        self.inner.request_depth().await
    }

    async fn forget_requests(&self, now: Timestamp, limit: u32) -> Answer<Forgotten> {
        self.gate.open().await;
        self.inner.forget_requests(now, limit).await
    }
}

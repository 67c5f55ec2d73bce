//! The front door of act two: it claims a key before anything runs, makes a job of the request, and settles the requests
//! that a kill left open.

use std::sync::Arc;
use std::time::Duration;

use surefoot::core::id::{Kind, Tenant, Worker};
use surefoot::core::port::Requests;
use surefoot::core::request::{Clocks, RequestPolicy};
use surefoot::{Engine, EngineOptions, Job, VerifyPlan};
use surefoot_http::{
    Accept, Guard, GuardOptions, Need, Reconciler, ReconcilerOptions, RoutePolicy, Routes,
    SingleTenant, Wait,
};
use tokio_util::sync::CancellationToken;

use super::payment::{self, Payment};
use crate::times::{ANSWER_WITHIN, ASK_EVERY, CUSTOMER_TIMEOUT};

/// Where payments are.
pub(super) const PAYMENTS: &str = "/payments";

fn route_policy() -> RoutePolicy {
    RoutePolicy {
        need: Need::Required,
        request: RequestPolicy {
            clocks: Clocks {
                lease: CUSTOMER_TIMEOUT,
                settles_within: Duration::from_millis(500),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        run_max: CUSTOMER_TIMEOUT,
        // A second click gets the answer of the first.
        wait: ANSWER_WITHIN,
        ..RoutePolicy::default()
    }
}

/// The guard, and what makes jobs of its requests.
pub(super) fn open(
    requests: Arc<dyn Requests>,
    engine: &Engine,
) -> Result<(Guard, Accept), Box<dyn std::error::Error>> {
    let mut options =
        GuardOptions::new(Worker::new(format!("checkout-{:016x}", fastrand::u64(..)))?);
    options.routes = Routes::all(route_policy());
    let tenants = SingleTenant(Tenant::single());
    let guard = Guard::new(requests.clone(), engine.clock(), tenants, options)?;
    let (client, kind) = (engine.client().clone(), Kind::new(Payment::KIND)?);
    let accept = Accept::new(guard.clone(), client, kind, PAYMENTS)?.waiting(Wait {
        unasked: ANSWER_WITHIN,
        max: ANSWER_WITHIN,
    })?;
    // Whether a request that was cut off has become a job is known where its job would be.
    let reconciler = Reconciler::new(
        requests,
        engine.clock(),
        accept.reconcile(EngineOptions::default().keep)?,
        ReconcilerOptions {
            plan: VerifyPlan {
                backoff: payment::every(ASK_EVERY),
                ..VerifyPlan::default()
            },
            every: Duration::from_millis(250),
            ..ReconcilerOptions::default()
        },
    )?;
    tokio::spawn(async move { reconciler.run(CancellationToken::new()).await });
    Ok((guard, accept))
}

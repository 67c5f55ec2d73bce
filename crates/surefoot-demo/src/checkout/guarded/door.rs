//! The front door of act two: it claims a key before anything runs, and settles the requests that a kill left open.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::http::StatusCode;
use surefoot::core::id::{Tenant, Worker};
use surefoot::core::port::Requests;
use surefoot::core::request::{Answer, Body, Clocks, Request, RequestPolicy, RequestVerdict};
use surefoot::{Engine, NodeClock, VerifyPlan};
use surefoot_http::{
    Guard, GuardOptions, Need, Reconcile, Reconciler, ReconcilerOptions, RoutePolicy, Routes,
    SingleTenant,
};
use tokio_util::sync::CancellationToken;

use super::payment;
use crate::error::DemoError;
use crate::times::{ANSWER_WITHIN, ASK_EVERY, CUSTOMER_TIMEOUT};

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

/// The front door, and what settles the requests that a kill left open.
pub(super) fn guard(
    requests: Arc<dyn Requests>,
    clock: Arc<NodeClock>,
    engine: &Engine,
) -> Result<Guard, DemoError> {
    let unsound = || DemoError::unsound("the front door");
    let holder = Worker::new(format!("checkout-{:016x}", fastrand::u64(..)))
        .map_err(DemoError::unsound("the front door"))?;
    let mut options = GuardOptions::new(holder);
    options.routes = Routes::all(route_policy());
    let tenants = SingleTenant(Tenant::single());
    let guard = Guard::new(requests.clone(), clock.clone(), tenants, options).map_err(unsound())?;
    let reconciler = Reconciler::new(
        requests,
        clock,
        ByJob(engine.clone()),
        ReconcilerOptions {
            plan: VerifyPlan {
                backoff: payment::every(ASK_EVERY),
                ..VerifyPlan::default()
            },
            every: Duration::from_millis(250),
            ..ReconcilerOptions::default()
        },
    )
    .map_err(unsound())?;
    tokio::spawn(async move { reconciler.run(CancellationToken::new()).await });
    Ok(guard)
}

/// What a request did was to hand in its job: who finds the job knows that it happened.
struct ByJob(Engine);

#[async_trait]
impl Reconcile for ByJob {
    async fn ask(&self, request: &Request) -> RequestVerdict {
        let key = request.identity.key.as_str();
        match payment::find(&self.0, key).await {
            Ok(Some(_)) => {
                let location = super::place(key).into_bytes();
                RequestVerdict::Happened(route_policy().request.kept(Answer {
                    status: StatusCode::ACCEPTED.as_u16(),
                    headers: vec![
                        ("content-type".to_owned(), b"application/json".to_vec()),
                        ("location".to_owned(), location),
                    ],
                    body: Body::Whole(super::told("working").to_string().into_bytes()),
                    nothing_happened: false,
                }))
            }
            Ok(None) => RequestVerdict::DidNotHappen,
            Err(_) => RequestVerdict::StillUnknown { ask_again_in: None },
        }
    }
}

//! The checkout of act two. The front door claims the key before anything runs; the payment is a job whose one effect is
//! verified, so a time-out is asked about and never simply sent again; the customer is told within a moment either the
//! receipt, or where to look. A kill at any point loses nothing: what was claimed and what was handed in is on record.

mod door;
mod payment;
mod psp;

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use surefoot::core::job::StateName;
use surefoot::{Engine, EngineOptions, Intent};
use surefoot_http::{Accept, AcceptRefused, IdempotencyLayer, RequestContext};

use super::{CheckoutOptions, Order, Standing};
use crate::error::DemoError;
use door::PAYMENTS;
use payment::Payment;
use psp::Psp;

#[derive(Clone)]
struct Shop {
    engine: Engine,
    accept: Accept,
    psp: Psp,
}

pub(super) async fn app(options: &CheckoutOptions) -> Result<Router, DemoError> {
    let url = format!("sqlite:{}", options.folder.join("checkout.db").display());
    let ports = surefoot_store::open_ports(&url)
        .await
        .map_err(DemoError::unsound("the store"))?;
    let psp = Psp::new(&options.provider)?;
    let provider = psp.clone();
    let engine = Engine::over(ports.store)
        .handle(
            move |job, cx| payment::carry_out(job, cx, provider.clone()),
            payment::policy(),
        )
        .options(EngineOptions {
            poll: Duration::from_millis(200),
            sweep: Duration::from_millis(500),
            ..EngineOptions::default()
        })
        .start()
        .await
        .map_err(DemoError::unsound("the engine"))?;
    let (guard, accept) =
        door::open(ports.requests, &engine).map_err(DemoError::unsound("the front door"))?;
    let shop = Shop {
        engine,
        accept: accept.clone(),
        psp,
    };
    Ok(Router::new()
        .route(PAYMENTS, post(pay))
        .layer(IdempotencyLayer::new(guard))
        .route("/standing", get(standing))
        .with_state(shop)
        .merge(accept.routes()))
}

/// Hands the payment in as a job, and waits a moment for it: 200 with the receipt, or 202 and where to look.
async fn pay(
    State(shop): State<Shop>,
    Extension(request): Extension<RequestContext>,
    Json(order): Json<Order>,
) -> Result<Response, AcceptRefused> {
    let payment = Intent::of(&Payment(order))?;
    shop.accept.accept(&request, payment).await
}

async fn standing(State(shop): State<Shop>) -> Json<Standing> {
    let depth = shop.engine.client().depth().await;
    let counts = depth.map(|depth| depth.counts).unwrap_or_default();
    let of = |states: &[StateName]| {
        let these = counts.iter().filter(|count| states.contains(&count.state));
        these.map(|count| count.count).sum()
    };
    Json(Standing {
        breaker: Some(shop.psp.charges.status().breaker.as_str().to_owned()),
        queue: of(&[
            StateName::Pending,
            StateName::Running,
            StateName::Retrying,
            StateName::Verifying,
        ]),
        verifying: of(&[StateName::Verifying]),
    })
}

//! Which address leads where, and what stands before it: whose request it is, then whether it ran before, then the handler.

use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use surefoot::Job;
use surefoot::core::id::Kind;
use surefoot_http::{
    Accept, ExtensionTenant, Guard, GuardOptions, Need, RoutePolicy, Routes, TransactionLayer,
};
use surefoot_server::ServerOptions;
use surefoot_store::sqlite::SqliteRequestTransactions;

use crate::exports::{self, Desk, Export};
use crate::payments::{self, Checkout};
use crate::recommendations::Recommendations;
use crate::service::Shop;
use crate::settings::Settings;
use crate::{Fault, catalogue, customers, loyalty};

/// How long a second click waits for the answer of the first.
const SECOND_CLICK: Duration = Duration::from_secs(2);

/// The front door: what is bought or exported carries a key, and a second click gets the answer of the first.
pub(crate) fn guard(shop: &Shop) -> Result<Guard, Fault> {
    let mut options = GuardOptions::new(shop.engine.worker().clone());
    options.routes = Routes::all(RoutePolicy {
        need: Need::Required,
        wait: SECOND_CLICK,
        ..RoutePolicy::default()
    });
    let (requests, clock) = (shop.store.clone(), shop.clock.clone());
    Ok(Guard::observed(
        requests,
        clock,
        ExtensionTenant,
        options,
        shop.metrics.clone(),
    )?)
}

/// What customers reach. Who cannot be told from others sees the products and nothing else.
pub(crate) async fn customers(
    shop: &Shop,
    settings: &Settings,
    guard: &Guard,
) -> Result<Router, Fault> {
    let client = shop.engine.client().clone();
    let hold_max = SqliteRequestTransactions::HOLD_MAX;
    let store = (*shop.store).clone();
    let transactions = SqliteRequestTransactions::open(store, &settings.database, hold_max).await?;
    let kind = Kind::new(Export::KIND)?;
    let accept = Accept::new(guard.clone(), client.clone(), kind, exports::PATH)?;
    let checkout = Checkout {
        client: client.clone(),
        relay: shop.relay.clone(),
        orders: shop.orders.clone(),
    };
    let desk = Desk {
        accept: accept.clone(),
        client,
        folder: settings.exports.clone(),
    };
    let recommendations = Recommendations::new(settings, shop.outside.clone())?;

    let once = Router::new()
        .route("/payments", post(payments::pay))
        .with_state(checkout.clone())
        .merge(
            Router::new()
                .route(exports::PATH, post(exports::hand_in))
                .with_state(desk.clone()),
        )
        .layer(TransactionLayer::new(guard.clone(), transactions));
    let looks = Router::new()
        .route("/payments/{id}", get(payments::look))
        .with_state(checkout)
        .merge(
            Router::new()
                .route("/exports/{id}/file", get(exports::file))
                .with_state(desk),
        )
        .merge(
            Router::new()
                .route("/points", get(loyalty::look))
                .with_state(shop.loyalty.clone()),
        )
        .merge(accept.routes());
    let known = customers::known(&settings.customers)?;
    let pages = Router::new().route("/products/{id}", get(catalogue::page));
    Ok(once
        .merge(looks)
        .layer(from_fn_with_state(known, customers::identify))
        .merge(pages.with_state(recommendations)))
}

/// Where dead letters, unknown charges and parked events are seen and decided.
pub(crate) fn operators(shop: &Shop) -> Router {
    let engine = shop.engine.clone();
    let readiness = move || match engine.health().is_ready() {
        true => Ok(()),
        false => Err("the database does not answer, or the service stops".to_owned()),
    };
    let (client, store) = (shop.engine.client().clone(), shop.store.clone());
    let options = ServerOptions {
        relay: Some(shop.relay.clone()),
        ..ServerOptions::new(readiness)
    };
    surefoot_server::router(client, store.clone(), store, shop.metrics.clone(), options)
}

//! `POST /payments`: one commit. What was answered with 202 is durable, and the same request under the same key is the same
//! order, however often it is sent.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use surefoot::core::id::{Queue, Tenant};
use surefoot::{Client, Failure, Intent, Outcome, Relay};
use surefoot_http::{InTransaction, RequestContext};
use surefoot_server::{Language, StatusFacts, may_have_happened, status_text};
use surefoot_store::sqlite::SqliteTransaction;

use crate::catalogue;
use crate::charge::Charge;
use crate::orders::{Order, OrderState, Orders};
use crate::refused::Refused;

/// What the routes of payments share; cheap to clone.
#[derive(Clone)]
pub struct Checkout {
    /// Drafts charging jobs, and looks.
    pub client: Client,
    /// Delivers the events of orders.
    pub relay: Relay,
    /// Looks.
    pub orders: Orders,
}

/// What a customer wants to buy. What it costs is ours to say.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cart {
    product: String,
}

/// Takes an order in the transaction of its request.
///
/// The charge is a job, and this does not wait for it. A transaction must not hold a call to somebody else: a rollback does not
/// give the money back, and a provider that takes 25 s would hold the writer for as long. The recorded way would call from here
/// and could answer "paid", but a process that dies in the middle leaves a request of which nobody knows the outcome until a
/// reconciler has asked; its customer waits for as long as the provider does; and a refusal that passes has to be tried again by
/// the customer. The job is in the same commit as the order, so there is never one without the other; its call is recorded
/// before it leaves, verified when its answer is lost, tried again and looked after by itself. The price: the answer is "we
/// have your order" with a place to look, and "paid" comes a moment later.
///
/// # Errors
/// Nothing of it happened, and the key is free.
pub async fn pay(
    State(checkout): State<Checkout>,
    Extension(request): Extension<RequestContext>,
    language: Language,
    mut tx: InTransaction<SqliteTransaction>,
    Json(cart): Json<Cart>,
) -> Result<Response, Refused> {
    let product = catalogue::product(&cart.product);
    let product = product.ok_or_else(|| Refused::unsound("we do not sell that"))?;
    let id = request.id().to_string();
    let charge = Charge {
        order: id.clone(),
        cents: product.cents,
    };
    let client = &checkout.client;
    let intent = Intent::of(&charge).and_then(|intent| request.intent(intent));
    let job = client
        .draft(intent.map_err(Failure::from)?)
        .await
        .map_err(Failure::from)?;
    let order = Order {
        id,
        customer: request.tenant().clone(),
        job: job.id,
        product: product.id.to_owned(),
        cents: product.cents,
        state: OrderState::Placed,
    };
    let (placed, now) = (order.clone(), client.now());
    tx.run(move |tx| Orders::place(tx, &placed, &job, now))
        .await?;
    tx.after_commit(move || {
        checkout.client.has_work(&Queue::standard());
        checkout.relay.wake();
    });
    let location = [
        (LOCATION, format!("/payments/{}", order.id)),
        (RETRY_AFTER, "1".to_owned()),
    ];
    let text = placed_text(language);
    Ok(tx.commit_with((
        StatusCode::ACCEPTED,
        location,
        language.headers(),
        Json(shown(&order, text)),
    )))
}

/// How an order stands, in words that never say more than is known.
///
/// # Errors
/// There is no such order of this customer.
pub async fn look(
    State(checkout): State<Checkout>,
    Extension(customer): Extension<Tenant>,
    language: Language,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let order = checkout.orders.find(&customer, &id).await?;
    let order = order.ok_or_else(|| Refused::unknown("payment"))?;
    let text = text(&checkout.client, &order, language).await?;
    let body = Json(shown(&order, &text));
    Ok(match order.state {
        OrderState::Placed => ([(RETRY_AFTER, "1")], language.headers(), body).into_response(),
        OrderState::Paid { .. } | OrderState::Declined => {
            (language.headers(), body).into_response()
        }
    })
}

fn shown(order: &Order, text: &str) -> Value {
    json!({
        "id": order.id,
        "product": order.product,
        "cents": order.cents,
        "state": order.state.as_str(),
        "text": text,
    })
}

async fn text(client: &Client, order: &Order, language: Language) -> Outcome<String> {
    let own = match (&order.state, language) {
        (OrderState::Paid { .. }, Language::English) => "Paid. Thank you.",
        (OrderState::Paid { .. }, Language::Vietnamese) => "Đã thanh toán. Cảm ơn bạn.",
        (OrderState::Declined, Language::English) => "Your bank declined, and nothing was taken.",
        (OrderState::Declined, Language::Vietnamese) => "Ngân hàng từ chối; chưa trừ tiền.",
        (OrderState::Placed, _) => {
            let Some(record) = client.job(order.job).await? else {
                return Ok(placed_text(language).to_owned());
            };
            let effects = client.effects(order.job).await?;
            let facts = StatusFacts {
                state: &record.job.state,
                starts: record.job.counts.starts,
                may_have_happened: may_have_happened(&record, &effects),
                now: client.now(),
            };
            return Ok(status_text(facts, language));
        }
    };
    Ok(own.to_owned())
}

const fn placed_text(language: Language) -> &'static str {
    match language {
        Language::English => "We have your order; it is being paid.",
        Language::Vietnamese => "Đã nhận đơn hàng; đang thanh toán.",
    }
}

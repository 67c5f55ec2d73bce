//! The telephone of act one: on any error or time-out it sends again, three times, then it tells the customer that something
//! went wrong.

use std::time::Instant;

use super::{Click, Shared, Told, Wish};
use crate::times::{CUSTOMER_PAUSES, CUSTOMER_TIMEOUT};

pub(super) async fn buy(shared: &Shared, wish: &Wish, begun: Instant) -> Click {
    let ended = |told| Click {
        told,
        answered_after: begun.elapsed(),
        after: begun.elapsed(),
    };
    let mut pauses = CUSTOMER_PAUSES.iter();
    loop {
        match tokio::time::timeout(CUSTOMER_TIMEOUT, send(shared, wish)).await {
            Ok(Some(status)) if status.is_success() => return ended(Told::Paid),
            Ok(Some(status)) if status.is_client_error() => return ended(Told::Refused),
            Ok(Some(_) | None) | Err(_) => {}
        }
        match pauses.next() {
            Some(pause) => tokio::time::sleep(*pause).await,
            None => return ended(Told::Nothing),
        }
    }
}

async fn send(shared: &Shared, wish: &Wish) -> Option<reqwest::StatusCode> {
    let request = shared
        .client
        .post(format!("{}/payments", shared.gateway))
        .header("content-type", "application/json")
        .header("idempotency-key", wish.key.as_str())
        .body(wish.body.clone());
    let answer = request.send().await.ok()?;
    let status = answer.status();
    answer.bytes().await.ok()?;
    Some(status)
}

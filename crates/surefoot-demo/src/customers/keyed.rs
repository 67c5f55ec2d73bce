//! The telephone of act two: it sends the same request under the same key until it has a final answer, then follows the
//! place that the answer names until it knows what became of it.

use std::time::{Duration, Instant};

use http::HeaderMap;
use reqwest::StatusCode;
use serde_json::Value;
use surefoot_http::Answered;

use super::{Click, Shared, Told, Wish};
use crate::times::{CUSTOMER_HORIZON, CUSTOMER_PAUSES, CUSTOMER_TIMEOUT, LOOK_EVERY};

/// What one exchange brought.
enum Heard {
    /// What became of it.
    Outcome(Told),
    /// It is being worked on; what becomes of it is told at this place.
    Place(String),
    /// Send it again after a while, under the same key.
    Again(Duration),
}

pub(super) async fn buy(shared: &Shared, wish: &Wish, begun: Instant) -> Click {
    let mut answered_after = None;
    let mut place: Option<String> = None;
    let ends_at = begun + CUSTOMER_HORIZON;
    while Instant::now() < ends_at {
        let pause = match &place {
            None => match tokio::time::timeout(CUSTOMER_TIMEOUT, send(shared, wish)).await {
                Ok(heard) => heard,
                Err(_) => Heard::Again(CUSTOMER_PAUSES[0]),
            },
            Some(place) => {
                match tokio::time::timeout(CUSTOMER_TIMEOUT, look(shared, place)).await {
                    Ok(heard) => heard,
                    Err(_) => Heard::Again(LOOK_EVERY),
                }
            }
        };
        match pause {
            Heard::Outcome(told) => {
                let after = begun.elapsed();
                return Click {
                    told,
                    answered_after: answered_after.unwrap_or(after),
                    after,
                };
            }
            Heard::Place(named) => {
                answered_after.get_or_insert_with(|| begun.elapsed());
                place = Some(named);
                tokio::time::sleep(LOOK_EVERY).await;
            }
            Heard::Again(pause) => tokio::time::sleep(pause).await,
        }
    }
    let after = begun.elapsed();
    Click {
        told: Told::Nothing,
        answered_after: answered_after.unwrap_or(after),
        after,
    }
}

async fn send(shared: &Shared, wish: &Wish) -> Heard {
    let mut headers = HeaderMap::new();
    wish.key.write(&mut headers);
    let request = shared
        .client
        .post(format!("{}/payments", shared.gateway))
        .header("content-type", "application/json")
        .headers(headers)
        .body(wish.body.clone());
    let again = Heard::Again(CUSTOMER_PAUSES[0]);
    let Ok(answer) = request.send().await else {
        return again;
    };
    // What the guard says to wait is in seconds of a real day; the demo's are shorter.
    match Answered::read(answer.status(), answer.headers()) {
        Answered::Final { .. } => {}
        Answered::Refused => return Heard::Outcome(Told::Refused),
        Answered::Outstanding { .. }
        | Answered::Unknown { .. }
        | Answered::NotRun { .. }
        | Answered::Unguarded => return again,
    }
    let place = answer.headers().get("location");
    let place = place
        .and_then(|place| place.to_str().ok())
        .map(str::to_owned);
    match (answer.status(), place) {
        (StatusCode::ACCEPTED, Some(place)) => Heard::Place(place),
        (status, _) if status.is_success() => Heard::Outcome(Told::Paid),
        _ => Heard::Outcome(Told::Refused),
    }
}

async fn look(shared: &Shared, place: &str) -> Heard {
    let again = Heard::Again(LOOK_EVERY);
    let answer = shared.client.get(format!("{}{place}", shared.gateway));
    let Ok(answer) = answer.send().await else {
        return again;
    };
    let Ok(told) = answer.json::<Value>().await else {
        return again;
    };
    match told["state"].as_str() {
        Some("succeeded") => Heard::Outcome(Told::Paid),
        Some("dead") => Heard::Outcome(Told::Person),
        Some("cancelled" | "ignored") => Heard::Outcome(Told::Refused),
        Some(_) | None => again,
    }
}

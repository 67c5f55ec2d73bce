//! A stand-in for the model: it grades by counting the words of the rubric that the answer has, and misbehaves by a script.
//! `POST /script` with `["hang", "503", "429", "ok"]` says what the next questions meet; `GET /asked` says how many there
//! were. A rubric without words is refused, as models refuse what they cannot use.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;

/// The longest that a question is left without an answer.
const HANG: Duration = Duration::from_secs(600);
/// What one answer costs, in millionths.
const COST_MICROS: u64 = 150;
/// The most acts of a script.
const ACTS_MAX: usize = 100;

#[derive(Deserialize)]
struct Question {
    rubric: String,
    answer: String,
}

#[derive(Default)]
struct Stage {
    acts: VecDeque<String>,
    asked: u32,
}

type Shared = Arc<Mutex<Stage>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::var("MODEL_LISTEN").unwrap_or_else(|_| "127.0.0.1:8090".to_owned());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!(
        "{}",
        json!({ "listen": format!("http://{}", listener.local_addr()?) })
    );
    let routes = Router::new()
        .route("/grade", post(grade))
        .route("/script", post(script))
        .route("/asked", get(asked))
        .with_state(Shared::default());
    axum::serve(listener, routes).await?;
    Ok(())
}

async fn grade(State(stage): State<Shared>, Json(question): Json<Question>) -> Response {
    let act = with(&stage, |stage| {
        stage.asked += 1;
        stage.acts.pop_front()
    });
    match act.as_deref() {
        Some("hang") => {
            tokio::time::sleep(HANG).await;
            StatusCode::GATEWAY_TIMEOUT.into_response()
        }
        Some("503") => (StatusCode::SERVICE_UNAVAILABLE, "overloaded").into_response(),
        Some("429") => {
            let after = [("retry-after", "1")];
            (StatusCode::TOO_MANY_REQUESTS, after, "too many questions").into_response()
        }
        Some("prose") => "A fine piece of work, I should say!".into_response(),
        _ => marked(&question),
    }
}

fn marked(question: &Question) -> Response {
    let answer = question.answer.to_lowercase();
    let rubric = question.rubric.to_lowercase();
    let wanted: Vec<&str> = rubric.split_whitespace().collect();
    if wanted.is_empty() {
        return (StatusCode::UNPROCESSABLE_ENTITY, "the rubric is empty").into_response();
    }
    let found = wanted.iter().filter(|word| answer.contains(*word)).count();
    let (score, of) = (found * 10 / wanted.len(), wanted.len());
    let feedback = format!("{found} of {of} points are there");
    Json(json!({ "score": score, "feedback": feedback, "cost_micros": COST_MICROS }))
        .into_response()
}

async fn script(State(stage): State<Shared>, Json(acts): Json<Vec<String>>) -> StatusCode {
    with(&stage, |stage| {
        stage.acts = acts.into_iter().take(ACTS_MAX).collect()
    });
    StatusCode::NO_CONTENT
}

async fn asked(State(stage): State<Shared>) -> String {
    with(&stage, |stage| stage.asked.to_string())
}

fn with<T>(stage: &Shared, visit: impl FnOnce(&mut Stage) -> T) -> T {
    visit(&mut stage.lock().unwrap_or_else(PoisonError::into_inner))
}

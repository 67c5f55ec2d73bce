//! The shop's pages: the home page, and the product page with a recommendation widget. All pages are made by one small pool,
//! in both acts. Act one calls the widget and waits for as long as it takes.

mod guarded;
mod plain;

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::{Router, routing::get};
use tokio::sync::Semaphore;

use crate::act::Act;
use crate::error::DemoError;
use crate::listen::{Listening, listen};
use crate::times::PAGES_AT_ONCE;

/// What asks the widget.
#[derive(Clone)]
enum Recommendations {
    Plain(plain::Widget),
    Guarded(guarded::Widget),
}

#[derive(Clone)]
struct Shared {
    pool: Arc<Semaphore>,
    recommendations: Recommendations,
}

/// Serves the pages; the recommendation service is at `widget`.
pub(crate) async fn start(act: Act, widget: &str) -> Result<Listening, DemoError> {
    let shared = Shared {
        pool: Arc::new(Semaphore::new(PAGES_AT_ONCE)),
        recommendations: match act {
            Act::Plain => Recommendations::Plain(plain::Widget::new(widget)?),
            Act::Guarded => Recommendations::Guarded(guarded::Widget::new(widget)?),
        },
    };
    let app = Router::new()
        .route("/", get(home))
        .route("/products/{id}", get(product))
        .with_state(shared);
    listen(app).await
}

async fn home(State(shared): State<Shared>) -> Response {
    let Ok(_thread) = shared.pool.acquire().await else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    Html("<h1>Everything must go</h1>").into_response()
}

async fn product(State(shared): State<Shared>) -> Response {
    // As on a thread of its own: a visitor who leaves does not give it back.
    let page = tokio::spawn(async move {
        let Ok(_thread) = shared.pool.acquire().await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let found = match &shared.recommendations {
            Recommendations::Plain(widget) => widget.ask().await,
            Recommendations::Guarded(widget) => widget.ask().await,
        };
        match found {
            Some(found) => Html(format!("<h1>A tent</h1><aside>{found}</aside>")).into_response(),
            None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    });
    page.await
        .unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

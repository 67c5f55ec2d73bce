//! The recommendation service behind the widget of the product page. It can be made to hang: then it answers when nobody
//! waits any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::error::DemoError;
use crate::listen::{Listening, listen};
use crate::times::{WIDGET_HANGS, WIDGET_MS};

/// A running recommendation service.
pub(crate) struct Widget {
    listening: Listening,
    hangs: Arc<AtomicBool>,
}

impl Widget {
    pub(crate) async fn start() -> Result<Self, DemoError> {
        let hangs = Arc::new(AtomicBool::new(false));
        let app = Router::new()
            .route("/recommendations", get(recommend))
            .with_state(hangs.clone());
        let listening = listen(app).await?;
        Ok(Self { listening, hangs })
    }

    pub(crate) fn url(&self) -> &str {
        self.listening.url()
    }

    /// Whether it hangs from here on.
    pub(crate) fn hang(&self, hangs: bool) {
        self.hangs.store(hangs, Ordering::Relaxed);
    }
}

async fn recommend(State(hangs): State<Arc<AtomicBool>>) -> Json<Value> {
    let takes = if hangs.load(Ordering::Relaxed) {
        WIDGET_HANGS
    } else {
        Duration::from_millis(fastrand::u64(WIDGET_MS))
    };
    tokio::time::sleep(takes).await;
    Json(json!(["tent", "stove", "map"]))
}

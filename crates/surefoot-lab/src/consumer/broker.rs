//! The broker: a log of events and one committed offset, over HTTP. `GET /events` answers what comes after the committed
//! offset, `POST /offset` commits. It delivers at least once and forgets nothing.
//!
//! Until it [takes commits](Broker::take_commits) a commit that arrives is left unanswered and does not count, so that whoever asked
//! can be killed in the middle of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Event;
use crate::error::LabError;
use crate::loopback::{self, Answer};

#[derive(Debug, Default)]
struct State {
    committed: u64,
    asked: bool,
    takes_commits: bool,
}

/// A running broker; it stops when this is dropped.
pub(super) struct Broker {
    url: String,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

#[derive(Deserialize)]
struct Commit {
    offset: u64,
}

impl Broker {
    /// Starts one on a free port of the loopback.
    pub(super) async fn start(events: Vec<Event>) -> Result<Self, LabError> {
        let (listener, address) = loopback::listen().await?;
        let state = Arc::<Mutex<State>>::default();
        let (served, events) = (Arc::clone(&state), Arc::new(events));
        let serving = tokio::spawn(loopback::serve(listener, move |request| {
            answer(Arc::clone(&served), Arc::clone(&events), request)
        }));
        Ok(Self {
            url: format!("http://{address}"),
            state,
            serving,
        })
    }

    /// Where it is, without a slash at the end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Whether a commit has arrived.
    pub(super) fn is_asked(&self) -> bool {
        lock(&self.state).asked
    }

    /// From here on commits count. One that arrived before does not.
    pub(super) fn take_commits(&self) {
        lock(&self.state).takes_commits = true;
    }

    /// The committed offset.
    pub(super) fn committed(&self) -> u64 {
        lock(&self.state).committed
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn answer(
    state: Arc<Mutex<State>>,
    events: Arc<Vec<Event>>,
    request: Request<Incoming>,
) -> Answer {
    let path = request.uri().path().to_owned();
    match (request.method(), path.as_str()) {
        (&Method::GET, "/events") => {
            let committed = lock(&state).committed;
            let rest = events.iter().filter(|event| event.offset > committed);
            (StatusCode::OK, json!(rest.collect::<Vec<_>>()))
        }
        (&Method::POST, "/offset") => {
            let Some(Commit { offset }) = loopback::read(request).await else {
                return (StatusCode::BAD_REQUEST, Value::Null);
            };
            if !commit(&state, offset) {
                std::future::pending::<()>().await;
            }
            (StatusCode::OK, Value::Null)
        }
        _ => (StatusCode::NOT_FOUND, Value::Null),
    }
}

/// Commits an offset, if commits are taken.
fn commit(state: &Mutex<State>, offset: u64) -> bool {
    let mut state = lock(state);
    state.asked = true;
    if state.takes_commits {
        state.committed = state.committed.max(offset);
    }
    state.takes_commits
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_counts_only_where_it_is_taken() {
        let state = Mutex::new(State::default());
        assert!(!commit(&state, 2));
        assert_eq!(lock(&state).committed, 0);
        assert!(lock(&state).asked);
        lock(&state).takes_commits = true;
        assert!(commit(&state, 2));
        assert!(commit(&state, 1));
        assert_eq!(lock(&state).committed, 2);
    }
}

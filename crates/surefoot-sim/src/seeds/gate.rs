//! Stops a node in the middle: dead before or after a call of the store took effect, or frozen after one. What runs behind
//! a gate that is shut never goes on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::log::Log;
use super::tally::Happened;
use super::time::WINDOW;

/// See the module. Clones are the same gate.
#[derive(Clone)]
pub(super) struct Gate {
    log: Log,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    armed: Vec<Armed>,
    dead: Option<Duration>,
    frozen: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Armed {
    calls: u32,
    end: End,
}

/// How a node is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Dead before the call takes effect, and away for so long.
    Before(Duration),
    /// Dead after it took effect.
    After(Duration),
    /// Frozen after it took effect, for so long.
    Freeze(Duration),
}

impl Gate {
    pub(super) fn new(log: Log) -> Self {
        Self {
            log,
            state: Arc::default(),
        }
    }

    fn with<T>(&self, visit: impl FnOnce(&mut State) -> T) -> T {
        visit(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stops the node at the next call of the store but so many.
    pub(super) fn arm(&self, calls: u32, end: End) {
        self.with(|state| state.armed.push(Armed { calls, end }));
    }

    /// Nothing stops the node any more.
    pub(super) fn disarm(&self) {
        self.with(|state| state.armed.clear());
    }

    /// How long the node is to be away, where it died.
    pub(super) fn died(&self) -> Option<Duration> {
        self.with(|state| state.dead)
    }

    /// How long the node is to be frozen, once.
    pub(super) fn froze(&self) -> Option<Duration> {
        self.with(|state| state.frozen.take())
    }

    /// The node dies here and now, and is away for so long.
    pub(super) fn die(&self, away: Duration) {
        self.log.line(format_args!("dead, away for {away:?}"));
        self.with(|state| state.dead = Some(away));
    }

    /// Carries a call of the store through the gate.
    pub(super) async fn pass<T>(&self, call: impl Future<Output = T>) -> T {
        self.open().await;
        match self.fires() {
            None => call.await,
            Some(End::Before(away)) => self.dies(away, Happened::CrashBefore).await,
            Some(End::After(away)) => {
                drop(call.await);
                self.dies(away, Happened::CrashAfter).await
            }
            Some(End::Freeze(lasts)) => {
                let answer = call.await;
                self.log.count(Happened::Froze);
                self.log.line(format_args!("frozen for {lasts:?}"));
                self.with(|state| state.frozen = Some(lasts));
                // Beyond the end of this window, so that the answer is heard after the freeze.
                tokio::time::sleep(WINDOW * 2).await;
                answer
            }
        }
    }

    /// Goes on only while the node lives.
    pub(super) async fn open(&self) {
        if self.died().is_some() {
            std::future::pending::<()>().await;
        }
    }

    async fn dies<T>(&self, away: Duration, how: Happened) -> T {
        self.log.count(how);
        self.log.line(format_args!("{how:?}, away for {away:?}"));
        self.with(|state| state.dead = Some(away));
        std::future::pending().await
    }

    fn fires(&self) -> Option<End> {
        self.with(|state| {
            let fired = state.armed.iter().position(|armed| armed.calls == 0);
            for armed in &mut state.armed {
                armed.calls = armed.calls.saturating_sub(1);
            }
            fired.map(|place| state.armed.remove(place).end)
        })
    }
}

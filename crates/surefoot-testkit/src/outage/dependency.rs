//! A dependency that follows a script.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What the dependency does for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// It answers in 20 ms, one in fifty in 200 ms.
    Fair,
    /// It answers nothing.
    Blackhole,
    /// It refuses each connection.
    Down,
    /// It can do so many calls per second and fails the rest, late.
    Brownout {
        /// How many.
        per_second: usize,
    },
    /// It changes between down and fair every second.
    Flapping,
}

/// What one send met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// It was answered.
    Answered,
    /// Nothing left: the connection was refused.
    Refused,
    /// It was answered with a failure that may pass.
    Failed,
}

const USUAL: Duration = Duration::from_millis(20);
const SELDOM: Duration = Duration::from_millis(200);
/// How often an answer takes long, as one in so many.
const SELDOM_ONE_IN: u32 = 50;
/// How long an overloaded dependency takes to fail.
const OVERLOADED: Duration = Duration::from_millis(300);
const SECOND: Duration = Duration::from_secs(1);

/// A dependency that follows a script from when it was made.
#[derive(Debug)]
pub struct ScriptedDependency {
    script: Vec<(Duration, Weather)>,
    started: Instant,
    books: Mutex<Books>,
}

#[derive(Debug)]
struct Books {
    dice: fastrand::Rng,
    /// When each send arrived.
    sends: Vec<Duration>,
}

impl ScriptedDependency {
    pub(super) fn new(script: Vec<(Duration, Weather)>, seed: u64) -> Self {
        Self {
            script,
            started: Instant::now(),
            books: Mutex::new(Books {
                dice: fastrand::Rng::with_seed(seed),
                sends: Vec::new(),
            }),
        }
    }

    /// Sends once.
    pub async fn send(&self) -> Met {
        let now = self.elapsed();
        let (recent, usual) = self.arrived(now);
        match self.weather(now) {
            Weather::Fair => {
                tokio::time::sleep(usual).await;
                Met::Answered
            }
            Weather::Blackhole => std::future::pending().await,
            Weather::Down => Met::Refused,
            Weather::Brownout { per_second } if recent > per_second => {
                tokio::time::sleep(OVERLOADED).await;
                Met::Failed
            }
            Weather::Brownout { .. } => {
                tokio::time::sleep(usual).await;
                Met::Answered
            }
            Weather::Flapping if now.as_secs().is_multiple_of(2) => Met::Refused,
            Weather::Flapping => Met::Answered,
        }
    }

    /// How long it has been there.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How many sends arrived.
    #[must_use]
    pub fn sends(&self) -> usize {
        self.books().sends.len()
    }

    /// Notes a send: how many came within a second, and how long an answer takes.
    fn arrived(&self, now: Duration) -> (usize, Duration) {
        let mut books = self.books();
        books.sends.push(now);
        let within = |at: &&Duration| now.saturating_sub(**at) < SECOND;
        let recent = books.sends.iter().rev().take_while(within).count();
        let usual = match books.dice.u32(0..SELDOM_ONE_IN) {
            0 => SELDOM,
            _ => USUAL,
        };
        (recent, usual)
    }

    fn weather(&self, now: Duration) -> Weather {
        let mut end = Duration::ZERO;
        for (lasts, weather) in &self.script {
            end += *lasts;
            if now < end {
                return *weather;
            }
        }
        Weather::Fair
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

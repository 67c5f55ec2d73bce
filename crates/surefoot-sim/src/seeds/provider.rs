//! The provider, in this process: it answers, is silent, refuses, fails, cuts connections, applies late, and tells by
//! webhooks. Its ledger is the judge of no-double-effect.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot::{Failure, Outcome, Verdict};
use surefoot_core::id::ProviderKey;
use surefoot_core::payload::Payload;
use surefoot_core::time::Timestamp;
use tokio::time::sleep;

use super::dice::dice;
use super::log::Log;
use super::plan::How;
use super::tally::Happened;
use super::time::WorldTime;

/// How long a call may take.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);
/// How long after it left a call can still take effect, as the handlers declare it.
pub(super) const SETTLES: Duration = Duration::from_secs(6);
/// How long the forgetful provider keeps a key.
pub(super) const KEYS_KEPT: Duration = Duration::from_secs(40);

/// What one call meets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Answers,
    AnswersSlowly,
    AppliesSilently,
    AppliesAndResets,
    AppliesAndFails,
    LandsLate(Duration),
    Silent,
    Resets,
    Unreachable,
    Refuses,
    Busy,
}

/// See the module. Clones are the same provider.
#[derive(Clone)]
pub(super) struct Provider {
    seed: u64,
    time: WorldTime,
    log: Log,
    book: Arc<Mutex<Book>>,
    /// Calls may take effect later than the handlers declare: a place where the guarantee ends.
    later_than_declared: bool,
}

#[derive(Default)]
struct Book {
    /// How much goes wrong, 0 to 1.
    trouble: f64,
    webhooks: bool,
    keys: BTreeMap<String, Entry>,
    hooks: BTreeMap<(Timestamp, u64), String>,
    hooks_made: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) calls: u64,
    asks: u64,
    /// When it took effect.
    pub(super) applied: Vec<Timestamp>,
    /// When it will.
    pub(super) coming: Vec<(Timestamp, bool)>,
    keeps: Option<Option<Duration>>,
}

impl Provider {
    pub(super) fn new(seed: u64, time: WorldTime, log: Log, later_than_declared: bool) -> Self {
        Self {
            seed,
            time,
            log,
            book: Arc::default(),
            later_than_declared,
        }
    }

    fn with<T>(&self, visit: impl FnOnce(&mut Book) -> T) -> T {
        visit(&mut self.book.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn trouble(&self, rate: f64) {
        self.with(|book| book.trouble = rate);
    }

    pub(super) fn tells_by_webhooks(&self) {
        self.with(|book| book.webhooks = true);
    }

    /// One call.
    pub(super) async fn call(self, key: ProviderKey, how: How) -> Outcome<Payload> {
        let (nth, trouble) = self.with(|book| {
            let entry = book.keys.entry(key.to_string()).or_default();
            entry.calls += 1;
            entry.keeps = keeps(how);
            (entry.calls, book.trouble)
        });
        let mut rng = dice(self.seed, ("call", key.as_str(), nth));
        let fate = draw(&mut rng, trouble, self.lands_within(how));
        self.log.count(Happened::Called);
        self.log.line(format_args!("call {key} {how:?}: {fate:?}"));
        let waits = Waits(Some(self.log.clone()));
        let answer = self.answers(&key, fate, &mut rng).await;
        waits.end();
        answer
    }

    /// What becomes of a call.
    async fn answers(
        &self,
        key: &ProviderKey,
        fate: Fate,
        rng: &mut fastrand::Rng,
    ) -> Outcome<Payload> {
        let now = self.time.now();
        let wait = Duration::from_secs_f64(rng.f64() * 0.4);
        match fate {
            Fate::Answers | Fate::AnswersSlowly => {
                self.lands(key, now, false);
                let slow = Duration::from_secs_f64(rng.f64() * 5.0);
                sleep(if fate == Fate::Answers { wait } else { slow }).await;
                Ok(result(key))
            }
            Fate::AppliesSilently => {
                self.lands(key, now, false);
                self.log.count(Happened::AnswerLost);
                std::future::pending().await
            }
            Fate::AppliesAndResets | Fate::AppliesAndFails => {
                self.lands(key, now, false);
                self.log.count(Happened::AnswerLost);
                sleep(wait).await;
                Err(if fate == Fate::AppliesAndResets {
                    self.reset(io::ErrorKind::ConnectionReset)
                } else {
                    self.failed(500)
                })
            }
            Fate::LandsLate(after) => {
                self.lands(key, now.after(after), after > TIMEOUT);
                std::future::pending().await
            }
            Fate::Silent => std::future::pending().await,
            Fate::Resets => {
                sleep(wait).await;
                Err(self.reset(io::ErrorKind::ConnectionReset))
            }
            Fate::Unreachable => {
                self.log.count(Happened::NotSent);
                Err(io::Error::new(io::ErrorKind::ConnectionRefused, "nobody listens").into())
            }
            Fate::Refuses => {
                sleep(wait).await;
                self.log.count(Happened::Refused);
                Err(Failure::http_status(422, "no such payment"))
            }
            Fate::Busy => Err(self.failed(503)),
        }
    }

    fn reset(&self, kind: io::ErrorKind) -> Failure {
        self.log.count(Happened::Reset);
        io::Error::new(kind, "the connection broke").into()
    }

    fn failed(&self, status: u16) -> Failure {
        self.log.count(Happened::Failed);
        Failure::http_status(status, "the provider failed")
    }

    /// One question. `None` of its answers is about the future.
    pub(super) async fn find(self, key: ProviderKey) -> Result<Verdict, Failure> {
        let (nth, trouble) = self.with(|book| {
            let entry = book.keys.entry(key.to_string()).or_default();
            entry.asks += 1;
            (entry.asks, book.trouble)
        });
        let mut rng = dice(self.seed, ("ask", key.as_str(), nth));
        let wait = Duration::from_secs_f64(rng.f64() * 0.4);
        self.log.count(Happened::Asked);
        let fails = rng.f64() < trouble * 0.3;
        let kind = rng.u32(0..3);
        let found = self.entry(key.as_str());
        self.log.line(format_args!(
            "ask {key}: applied {}, coming {}, fails {fails}",
            found.applied.len(),
            found.coming.len()
        ));
        if fails {
            self.log.count(Happened::AskFailed);
            match kind {
                0 => std::future::pending().await,
                1 => return Err(self.failed(503)),
                _ => return Ok(Verdict::StillUnknown { ask_again_in: None }),
            }
        }
        sleep(wait).await;
        if found.applied.is_empty() {
            if !found.coming.is_empty() {
                self.log.count(Happened::AskedEarly);
            }
            Ok(Verdict::DidNotHappen)
        } else {
            Ok(Verdict::Happened {
                result: result(&key),
                cost: None,
            })
        }
    }

    /// The latest that a call really takes effect, in seconds: somewhat before the declared end, for nodes see the world in
    /// windows. A key that is forgotten bounds a call by its time-out.
    const fn lands_within(&self, how: How) -> f64 {
        match how {
            _ if self.later_than_declared => 30.0,
            How::Verify | How::AtMostOnce | How::SameKey | How::Repeatable => 5.5,
            How::SameKeyForgotten => 1.7,
        }
    }

    fn lands(&self, key: &ProviderKey, at: Timestamp, late: bool) {
        self.with(|book| {
            let entry = book.keys.entry(key.to_string()).or_default();
            entry.coming.push((at, late));
        });
        self.land();
    }

    /// What was to take effect by now does.
    fn land(&self) {
        let now = self.time.now();
        let landed = self.with(|book| book.land(now, self.seed));
        for (key, late) in landed {
            if late {
                self.log.count(Happened::LandedLate);
            }
            self.log.line(format_args!("applied {key}"));
        }
    }

    /// What became of a key.
    pub(super) fn entry(&self, key: &str) -> Entry {
        self.land();
        self.with(|book| book.keys.get(key).cloned().unwrap_or_default())
    }

    /// Everything, by key.
    pub(super) fn ledger(&self) -> BTreeMap<String, Entry> {
        self.land();
        self.with(|book| book.keys.clone())
    }

    /// The webhooks that are due.
    pub(super) fn hooks(&self, until: Timestamp) -> Vec<String> {
        self.land();
        self.with(|book| {
            let later = book.hooks.split_off(&(until, 0));
            let due = std::mem::replace(&mut book.hooks, later);
            due.into_values().collect()
        })
    }

    /// Whether nothing is on its way any more.
    pub(super) fn is_quiet(&self) -> bool {
        self.land();
        self.with(|book| {
            book.hooks.is_empty() && book.keys.values().all(|entry| entry.coming.is_empty())
        })
    }
}

/// A call that waits for its answer; dropped before, it was given up.
struct Waits(Option<Log>);

impl Waits {
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some(log) = &self.0 {
            log.count(Happened::TimedOut);
        }
    }
}

impl Book {
    fn land(&mut self, now: Timestamp, seed: u64) -> Vec<(String, bool)> {
        let mut landed = Vec::new();
        for (key, entry) in &mut self.keys {
            let (mut due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut entry.coming)
                .into_iter()
                .partition(|(at, _)| *at <= now);
            entry.coming = later;
            due.sort();
            for (at, late) in due {
                if !entry.knows(at) {
                    entry.applied.push(at);
                    landed.push((key.clone(), late, at));
                }
            }
        }
        if self.webhooks {
            for (key, _, at) in &landed {
                self.announce(seed, key, *at);
            }
        }
        landed
            .into_iter()
            .map(|(key, late, _)| (key, late))
            .collect()
    }

    fn announce(&mut self, seed: u64, key: &str, at: Timestamp) {
        let mut rng = dice(seed, ("hook", key, at));
        for _ in 0..rng.u32(0..3) {
            let after = Duration::from_secs_f64(rng.f64() * 12.0);
            self.hooks_made += 1;
            self.hooks
                .insert((at.after(after), self.hooks_made), key.to_owned());
        }
    }
}

impl Entry {
    fn knows(&self, at: Timestamp) -> bool {
        match (self.keeps, self.applied.last()) {
            (None, _) | (_, None) => false,
            (Some(None), Some(_)) => true,
            (Some(Some(kept)), Some(first)) => at < first.after(kept),
        }
    }

    /// Whether it took effect or will.
    pub(super) fn happens(&self) -> bool {
        !self.applied.is_empty() || !self.coming.is_empty()
    }
}

/// Whether the provider deduplicates calls of this kind, and for how long it keeps their keys.
const fn keeps(how: How) -> Option<Option<Duration>> {
    match how {
        How::Verify | How::AtMostOnce | How::Repeatable => None,
        How::SameKey => Some(None),
        How::SameKeyForgotten => Some(Some(KEYS_KEPT)),
    }
}

fn draw(rng: &mut fastrand::Rng, trouble: f64, lands_within: f64) -> Fate {
    if rng.f64() >= trouble {
        return Fate::Answers;
    }
    match rng.u32(0..15) {
        0..=1 => Fate::AppliesSilently,
        2 => Fate::AppliesAndResets,
        3 => Fate::AppliesAndFails,
        4..=7 => Fate::LandsLate(Duration::from_secs_f64(
            0.2 + rng.f64() * (lands_within - 0.2),
        )),
        8 => Fate::Silent,
        9 => Fate::Resets,
        10 => Fate::Unreachable,
        11 => Fate::Refuses,
        12 => Fate::Busy,
        _ => Fate::AnswersSlowly,
    }
}

/// What the provider answers under a key, always the same.
pub(super) fn result(key: &ProviderKey) -> Payload {
    Payload::from_store(format!("{{\"refund\":\"{key}\"}}"))
}

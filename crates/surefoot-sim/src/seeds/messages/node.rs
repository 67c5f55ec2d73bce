//! A process with a relay in it, and what it begins with.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot::{Relay, RelayEvent, RelayObserver, RelayOptions, RelayStartError};
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::id::SinkName;
use surefoot_core::message::{DeliveryPolicy, Topics};
use surefoot_core::port::{Messages, Since};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{FaultyStore, MemoryStore, Verb};

use super::super::gate::Gate;
use super::super::life::Life;
use super::super::log::Log;
use super::super::slot::Process;
use super::super::tally::Happened;
use super::super::time::WorldTime;
use super::gated::Gated;
use super::ledger::Ledger;
use super::sink::Mailbox;

/// The sinks of every relay.
pub(super) const SINKS: [&str; 2] = ["s", "t"];

pub(super) fn sink_name(name: &str) -> Option<SinkName> {
    SinkName::new(name).ok()
}

/// How many lost relays park a message.
pub(super) const LOSSES_MAX: u32 = 2;

/// What every process shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) seed: u64,
    pub(super) time: WorldTime,
    pub(super) log: Log,
    pub(super) store: MemoryStore,
    pub(super) ledger: Ledger,
}

/// A process.
pub(super) struct Node {
    life: Life,
    relay: Arc<Mutex<Option<Relay>>>,
    log: Log,
}

impl Node {
    pub(super) fn begin(
        shared: &Shared,
        name: &str,
        rate: f64,
        now: Timestamp,
    ) -> std::io::Result<Self> {
        let salt = name.bytes().fold(11, |salt: u64, byte| {
            salt.wrapping_mul(31) + u64::from(byte)
        });
        let seed = shared.seed ^ salt;
        let inner = Arc::new(shared.store.clone());
        let life = Life::begin(&shared.log, rate, now, |_| {
            FaultyStore::over(inner.clone(), seed)
        })?;
        let gated = Arc::new(Gated {
            inner,
            gate: life.gate.clone(),
            ledger: shared.ledger.clone(),
            log: shared.log.clone(),
        });
        let beginning = Beginning {
            shared: shared.clone(),
            gate: life.gate.clone(),
            faults: life.faults.clone(),
            messages: Arc::new(life.faults.messages(gated)),
            seed,
        };
        let relay = Arc::default();
        life.spawn(beginning.begin(Arc::clone(&relay)));
        Ok(Self {
            life,
            relay,
            log: shared.log.clone(),
        })
    }

    pub(super) fn wake(&self) {
        let relay = self.relay.lock().unwrap_or_else(PoisonError::into_inner);
        relay.iter().for_each(Relay::wake);
    }
}

impl Process for Node {
    fn life(&self) -> &Life {
        &self.life
    }

    fn tally(&self) {
        let counts = |verb| self.life.faults.counts(verb);
        let (take, depart) = (counts(Verb::Take), counts(Verb::Depart));
        self.log.with(|state| {
            let tally = &mut state.tally;
            tally.add(Happened::MessageTakeLost, take.after);
            tally.add(Happened::MessageDeparted, depart.calls);
        });
    }
}

/// What a process begins with.
struct Beginning {
    shared: Shared,
    gate: Gate,
    faults: FaultyStore,
    messages: Arc<dyn Messages>,
    seed: u64,
}

impl Beginning {
    async fn begin(self, relay: Arc<Mutex<Option<Relay>>>) {
        loop {
            match self.start().await {
                Ok(started) => {
                    *relay.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
                    return;
                }
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    async fn start(&self) -> Result<Relay, RelayStartError> {
        let mut builder = Relay::over(Arc::new(self.faults.clone()), Arc::clone(&self.messages))
            .observer(Arc::new(Seen(self.shared.log.clone())))
            .options(RelayOptions {
                store_timeout: Duration::from_secs(3),
                seed: Some(self.seed),
                ..RelayOptions::default()
            });
        for name in SINKS {
            let Some(sink) = sink_name(name) else {
                continue;
            };
            let mailbox = Mailbox {
                shared: self.shared.clone(),
                name: sink,
                gate: self.gate.clone(),
            };
            builder = builder.sink_with(name, Topics::All, Since::Kept, policy(), mailbox);
        }
        builder.start().await
    }
}

fn policy() -> DeliveryPolicy {
    DeliveryPolicy {
        timeout: Duration::from_secs(2),
        lease: Duration::from_secs(6),
        attempts_max: 4,
        losses_max: LOSSES_MAX,
        backoff: Backoff::Exponential {
            base: Duration::from_millis(500),
            factor: 2.0,
            cap: Duration::from_secs(5),
            jitter: Jitter::Equal,
        },
        concurrency: 3,
        per_key_max: 3,
    }
}

/// Counts what a relay tells.
struct Seen(Log);

impl RelayObserver for Seen {
    fn on(&self, event: &RelayEvent<'_>) {
        let what = match event {
            RelayEvent::Failed { .. } => Happened::MessageFailed,
            RelayEvent::Parked { error, .. } if error.as_str().contains("lost") => {
                Happened::MessageParkedLost
            }
            RelayEvent::Parked { .. } => Happened::MessageParked,
            RelayEvent::StaleMark { .. } => Happened::MessageStale,
            RelayEvent::MarkDropped { .. } => Happened::MessageMarkDropped,
            RelayEvent::Delivered { .. } | RelayEvent::StoreError { .. } => return,
        };
        self.0.count(what);
        self.0.line(format_args!("{what:?}"));
    }
}

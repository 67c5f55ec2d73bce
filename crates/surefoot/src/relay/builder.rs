//! Puts a relay together and checks it as a whole before anything runs.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::{SinkName, Worker};
use surefoot_core::message::{DeliveryPolicy, Topics};
use surefoot_core::port::{Messages, Since, Store, Subscribed};
use surefoot_core::time::Clock;
use tokio::sync::watch;

use super::events::{Guarded, NoRelayObserver, RelayObserver};
use super::handle::Relay;
use super::options::RelayOptions;
use super::run::{Line, Signals};
use super::sink::Sink;
use super::upkeep::Upkeep;
use crate::bounded::within;
use crate::clock::NodeClock;
use crate::dice::Dice;

/// A relay did not start.
#[derive(Debug, thiserror::Error)]
pub enum RelayStartError {
    /// What was put together contradicts itself; every fault, each with its remedy.
    #[error("the relay is not sound: {}", .0.join("; "))]
    Unsound(Vec<String>),
    /// Too many messages are on record to make deliveries of for a new sink.
    #[error(
        "sink {0} is new, and more messages are kept than one subscription takes; subscribe it since now, or let the store forget some first"
    )]
    TooMany(SinkName),
    /// The store did not answer or refused.
    #[error("the store is not ready")]
    Store(#[from] StoreError),
}

/// What a relay is made of.
pub struct RelayBuilder {
    store: Arc<dyn Store>,
    messages: Arc<dyn Messages>,
    observer: Arc<dyn RelayObserver>,
    options: RelayOptions,
    sinks: Vec<Planned>,
    faults: Vec<String>,
}

struct Planned {
    name: SinkName,
    topics: Topics,
    since: Since,
    policy: DeliveryPolicy,
    sink: Arc<dyn Sink>,
}

impl RelayBuilder {
    pub(super) fn over(store: Arc<dyn Store>, messages: Arc<dyn Messages>) -> Self {
        Self {
            store,
            messages,
            observer: Arc::new(NoRelayObserver),
            options: RelayOptions::default(),
            sinks: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Delivers messages of these topics to a sink, with the default policy. When the sink is on record for the first time, it
    /// gets what is still kept from before ([`Since::Kept`]).
    #[must_use]
    pub fn sink(self, name: &str, topics: Topics, sink: impl Sink) -> Self {
        self.sink_with(name, topics, Since::Kept, DeliveryPolicy::default(), sink)
    }

    /// Delivers messages of these topics to a sink.
    #[must_use]
    pub fn sink_with(
        mut self,
        name: &str,
        topics: Topics,
        since: Since,
        policy: DeliveryPolicy,
        sink: impl Sink,
    ) -> Self {
        match SinkName::new(name) {
            Err(error) => self.faults.push(error.to_string()),
            Ok(name) => {
                if self.sinks.iter().any(|planned| planned.name == name) {
                    self.faults
                        .push(format!("sink {name} is there twice; leave one out"));
                }
                let faults = policy.validate();
                self.faults.extend(
                    faults
                        .into_iter()
                        .map(|fault| format!("sink {name}: {fault}")),
                );
                self.faults.extend(too_many_topics(&name, &topics));
                self.sinks.push(Planned {
                    name,
                    topics,
                    since,
                    policy,
                    sink: Arc::new(sink),
                });
            }
        }
        self
    }

    /// How the relay works.
    #[must_use]
    pub fn options(mut self, options: RelayOptions) -> Self {
        self.options = options;
        self
    }

    /// Who sees what happens.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn RelayObserver>) -> Self {
        self.observer = observer;
        self
    }

    /// Puts the sinks on record, and starts to deliver. Must be called inside a tokio runtime with time enabled.
    ///
    /// # Errors
    /// [`RelayStartError`]; nothing runs then. Sinks that were put on record stay.
    pub async fn start(self) -> Result<Relay, RelayStartError> {
        let mut faults = self.faults;
        faults.extend(self.options.validate());
        if self.sinks.is_empty() {
            faults.push("there is no sink, so nothing would be delivered; add one".to_owned());
        }
        let holder = random_holder();
        faults.extend(holder.as_ref().err().map(ToString::to_string));
        let (Ok(holder), []) = (holder, faults.as_slice()) else {
            return Err(RelayStartError::Unsound(faults));
        };
        let limit = self.options.store_timeout;
        let clock = NodeClock::followed_within(self.store, limit).await?;
        subscribe(&*self.messages, &self.sinks, &*clock, limit).await?;
        let seeded = |seed| Dice::seeded(seed, "relay");
        let dice = Arc::new(self.options.seed.map_or_else(Dice::new, seeded));
        let observer = Arc::new(Guarded(self.observer));
        let (mut wakes, draining) = (Vec::new(), watch::Sender::new(false));
        let line = |planned: Planned| {
            let woken = watch::Sender::new(0);
            let signals = Signals {
                wakes: woken.subscribe(),
                draining: draining.subscribe(),
            };
            wakes.push(woken);
            Arc::new(Line {
                messages: Arc::clone(&self.messages),
                clock: Arc::<NodeClock>::clone(&clock),
                observer: Arc::clone(&observer),
                dice: Arc::clone(&dice),
                holder: holder.clone(),
                sink_name: planned.name,
                sink: planned.sink,
                policy: planned.policy,
                poll: self.options.poll,
                store_timeout: limit,
                signals,
            })
        };
        let lines = self.sinks.into_iter().map(line).collect();
        let upkeep = Upkeep {
            messages: Arc::clone(&self.messages),
            clock,
            dice,
            options: self.options.clone(),
        };
        Ok(Relay::launch(
            self.messages,
            self.options,
            lines,
            upkeep,
            wakes,
            draining,
        ))
    }
}

/// Puts the sinks on record.
async fn subscribe(
    messages: &dyn Messages,
    sinks: &[Planned],
    clock: &dyn Clock,
    limit: Duration,
) -> Result<(), RelayStartError> {
    for planned in sinks {
        let (name, topics) = (&planned.name, &planned.topics);
        let subscribing = messages.subscribe(name, topics, planned.since, clock.now());
        match within(limit, subscribing).await? {
            Subscribed::Done { .. } => {}
            Subscribed::TooMany => return Err(RelayStartError::TooMany(name.clone())),
        }
    }
    Ok(())
}

fn too_many_topics(name: &SinkName, topics: &Topics) -> Option<String> {
    match topics {
        Topics::Named(topics) if topics.len() > Topics::NAMED_MAX => Some(format!(
            "sink {name} names {} topics, at most {} are taken; subscribe it to all",
            topics.len(),
            Topics::NAMED_MAX
        )),
        Topics::All | Topics::Named(_) => None,
    }
}

/// Unique for each start, whatever the seed: two relays must never be taken for one another.
fn random_holder() -> Result<Worker, surefoot_core::id::NameError> {
    let bytes = Dice::new().bytes();
    let name: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Worker::new(format!("relay:{name}"))
}

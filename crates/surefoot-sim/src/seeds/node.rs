//! A process of the world with an engine in it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot::{Client, Engine, EngineOptions, Heartbeat};
use surefoot_core::id::{Kind, Worker};
use surefoot_core::time::Timestamp;
use surefoot_testkit::{FaultyStore, MemoryStore, Verb};

use super::gate::Gate;
use super::handler::{Refunds, policy};
use super::life::Life;
use super::log::Log;
use super::provider::Provider;
use super::slot::Process;
use super::tally::Happened;
use super::time::WorldTime;
use super::told::Told;
use super::watch::Watched;

/// What every process shares.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) seed: u64,
    pub(super) time: WorldTime,
    pub(super) log: Log,
    pub(super) store: MemoryStore,
    pub(super) provider: Provider,
    pub(super) kind: Kind,
}

/// One life of a process.
pub(super) struct Node {
    life: Life,
    engine: Arc<Mutex<Option<Engine>>>,
    log: Log,
}

impl Node {
    /// A process that begins at `now`. One that `works` runs jobs; the other only has clients in it. `rate` is how fast its
    /// clock runs.
    pub(super) fn begin(
        shared: &Shared,
        name: &str,
        works: bool,
        rate: f64,
        now: Timestamp,
    ) -> std::io::Result<Self> {
        let salt = name
            .bytes()
            .fold(0, |salt, byte| salt * 31 + u64::from(byte));
        let life = Life::begin(&shared.log, rate, now, |gate| {
            let watched = Watched {
                name: name.to_owned(),
                inner: shared.store.clone(),
                gate: gate.clone(),
                log: shared.log.clone(),
            };
            FaultyStore::over(Arc::new(watched), shared.seed ^ salt)
        })?;
        let engine = Arc::default();
        life.spawn(start(
            shared.clone(),
            name.to_owned(),
            works,
            life.gate.clone(),
            life.faults.clone(),
            Arc::clone(&engine),
        ));
        Ok(Self {
            life,
            engine,
            log: shared.log.clone(),
        })
    }

    /// The client of this process, once it has begun.
    pub(super) fn client(&self) -> Option<Client> {
        self.engine().as_ref().map(|engine| engine.client().clone())
    }

    fn engine(&self) -> std::sync::MutexGuard<'_, Option<Engine>> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts something that goes on in this process.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.life.spawn(task);
    }

    /// Asks it to stop.
    pub(super) fn drain(&self) {
        let engine = self.engine().clone();
        let log = self.log.clone();
        if let Some(engine) = engine {
            self.life.spawn(async move {
                engine.drain().await;
                log.count(Happened::Drained);
            });
        }
    }
}

impl Process for Node {
    fn life(&self) -> &Life {
        &self.life
    }

    fn tally(&self) {
        for verb in Verb::ALL {
            let counts = self.life.faults.counts(verb);
            self.log.with(|state| {
                state.tally.add(Happened::StoreBefore, counts.before);
                state.tally.add(Happened::StoreAfter, counts.after);
                state.tally.add(Happened::StoreSlow, counts.delayed);
            });
        }
    }
}

async fn start(
    shared: Shared,
    name: String,
    works: bool,
    gate: Gate,
    store: FaultyStore,
    engine: Arc<Mutex<Option<Engine>>>,
) {
    for start in 0_u32.. {
        let options = EngineOptions {
            worker: Worker::new(format!("{name}-{start}")).ok(),
            concurrency: 3,
            poll: Duration::from_secs(1),
            sweep: Duration::from_secs(2),
            store_timeout: Duration::from_secs(3),
            drain_grace: Duration::from_secs(2),
            heartbeat: Heartbeat::Task,
            seed: Some(shared.seed),
            ..EngineOptions::default()
        };
        let builder = Engine::over(Arc::new(store.clone()))
            .options(options)
            .observer(Arc::new(Told(shared.log.clone())));
        let builder = if works {
            let handler = Refunds {
                provider: shared.provider.clone(),
                gate: gate.clone(),
                log: shared.log.clone(),
            };
            builder.handler(shared.kind.clone(), policy(), Arc::new(handler))
        } else {
            builder.declare(shared.kind.clone(), policy())
        };
        match builder.start().await {
            Ok(started) => {
                *engine.lock().unwrap_or_else(PoisonError::into_inner) = Some(started);
                return;
            }
            Err(error) => {
                shared
                    .log
                    .line(format_args!("{name} did not start: {error}"));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

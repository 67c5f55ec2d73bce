//! The real engine with a handler that does nothing, and somebody who counts what was settled. A run in which anything
//! went wrong gives no figure.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use surefoot::{Cx, Engine, EngineOptions, Event, JobPolicy, Observer};
use surefoot_core::job::StateName;
use surefoot_core::port::Store;
use tokio::sync::{Notify, mpsc};

use crate::Outcome;
use crate::jobs::Noop;

/// How long nothing may be settled before a run is given up.
const STALL_MAX: Duration = Duration::from_secs(60);

/// Counts attempts whose success is durable.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    succeeded: AtomicU64,
    goal: AtomicU64,
    reached: Notify,
    fault: Mutex<Option<String>>,
}

impl Observer for Tally {
    fn on(&self, event: &Event<'_>) {
        match event {
            Event::AttemptEnded {
                next: StateName::Succeeded,
                ..
            } => {
                let succeeded = self.succeeded.fetch_add(1, Ordering::AcqRel) + 1;
                if succeeded == self.goal.load(Ordering::Acquire) {
                    self.reached.notify_one();
                }
            }
            Event::Enqueued { .. } | Event::Claimed { .. } => {}
            Event::AttemptEnded { .. }
            | Event::DeadLetter { .. }
            | Event::LeaseLost { .. }
            | Event::StaleWrite { .. }
            | Event::Abandoned { .. }
            | Event::SettlementDropped { .. }
            | Event::EffectVerified { .. }
            | Event::EffectDisputed { .. }
            | Event::EffectNeedsHuman { .. }
            | Event::StoreError { .. } => self.went_wrong(format!("{event:?}")),
        }
    }
}

impl Tally {
    /// Waits until so many attempts in all have succeeded. It is set before they can.
    pub(crate) async fn reach(&self, goal: u64) -> Outcome<()> {
        self.goal.store(goal, Ordering::Release);
        let mut seen = u64::MAX;
        loop {
            let succeeded = self.succeeded.load(Ordering::Acquire);
            self.sound()?;
            if succeeded >= goal {
                return Ok(());
            }
            if succeeded == seen {
                let stalled =
                    format!("{succeeded} of {goal} jobs succeeded, then nothing for {STALL_MAX:?}");
                return Err(stalled.into());
            }
            seen = succeeded;
            // A time-out is no news: then the count tells whether anything moves.
            let _ = tokio::time::timeout(STALL_MAX, self.reached.notified()).await;
        }
    }

    /// Whether all went well so far.
    pub(crate) fn sound(&self) -> Outcome<()> {
        let fault = self.fault.lock().map_err(|_| "a count was broken off")?;
        match &*fault {
            Some(fault) => Err(fault.clone().into()),
            None => Ok(()),
        }
    }

    fn went_wrong(&self, what: String) {
        if let Ok(mut fault) = self.fault.lock() {
            fault.get_or_insert(what);
        }
        self.reached.notify_one();
    }
}

/// An engine whose handler does nothing.
pub(crate) async fn start(
    store: Arc<dyn Store>,
    options: EngineOptions,
    tally: &Arc<Tally>,
) -> Outcome<Engine> {
    let engine = Engine::over(store)
        .handle(async |_: Noop, _: Cx| Ok(()), JobPolicy::default())
        .options(options)
        .observer(Arc::<Tally>::clone(tally))
        .start()
        .await?;
    Ok(engine)
}

/// When the handler of a job began.
pub(crate) type Begun = (u64, Instant);

/// An engine whose handler says when it began.
pub(crate) async fn start_telling(
    store: Arc<dyn Store>,
    tally: &Arc<Tally>,
) -> Outcome<(Engine, mpsc::UnboundedReceiver<Begun>)> {
    // At most one job is under way at a time, so this holds one message.
    let (tell, told) = mpsc::unbounded_channel();
    let handler = move |job: Noop, _: Cx| {
        // Nobody listens any more when the measurement is over.
        let _ = tell.send((job.number, Instant::now()));
        std::future::ready(Ok(()))
    };
    let engine = Engine::over(store)
        .handle(handler, JobPolicy::default())
        .observer(Arc::<Tally>::clone(tally))
        .start()
        .await?;
    Ok((engine, told))
}

//! Has the store forget what was delivered and what was accepted long ago. Slow, rare and in bounded steps.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Messages};
use surefoot_core::time::Clock;
use tokio::time::sleep;

use super::options::RelayOptions;
use crate::bounded::within;
use crate::dice::Dice;

/// How often.
const EVERY: Duration = Duration::from_secs(600);
/// The first time is within this long after the start, so that relays that start together do not collide.
const FIRST_WITHIN: Duration = Duration::from_secs(60);
/// The rest between two steps.
const BETWEEN_STEPS: Duration = Duration::from_millis(100);
/// How much is forgotten in one step.
const STEP: u32 = 500;
/// The most steps at once; the next time goes on.
const STEPS_MAX: usize = 1000;

const _: () = assert!(STEP as usize <= BATCH_MAX, "a step is one batch");

pub(super) struct Upkeep {
    pub(super) messages: Arc<dyn Messages>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dice: Arc<Dice>,
    pub(super) options: RelayOptions,
}

impl Upkeep {
    /// Runs until it is stopped.
    pub(super) async fn run(self) {
        sleep(self.dice.up_to(FIRST_WITHIN)).await;
        loop {
            if let Err(error) = self.once().await {
                tracing::warn!(%error, "upkeep of messages broke off, the next one goes on");
            }
            sleep(self.dice.around(EVERY)).await;
        }
    }

    async fn once(&self) -> Result<(), StoreError> {
        let (limit, now) = (self.options.store_timeout, self.clock.now());
        for _ in 0..STEPS_MAX {
            let before = now.before(self.options.keep);
            let forgotten = within(limit, self.messages.forget_messages(before, STEP)).await?;
            if !forgotten.more {
                break;
            }
            sleep(BETWEEN_STEPS).await;
        }
        for _ in 0..STEPS_MAX {
            let before = now.before(self.options.keep_receipts);
            let forgotten = within(limit, self.messages.forget_receipts(before, STEP)).await?;
            if forgotten < u64::from(STEP) {
                break;
            }
            sleep(BETWEEN_STEPS).await;
        }
        Ok(())
    }
}

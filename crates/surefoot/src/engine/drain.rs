//! The end of a node in good order: when claims stop, when handlers are stopped, when it is over.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::EngineOptions;
use super::node::Node;
use crate::cx::CancelCause;

/// What a drain left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Attempts that were still running when the drain gave up on them: their leases lapse.
    pub abandoned: usize,
    /// Settlements that the store did not take in time: their attempts will be found lost.
    pub unsettled: usize,
}

/// Where a node is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Working,
    Draining,
}

/// The times of a drain.
pub(super) struct DrainClock {
    phase: watch::Receiver<Phase>,
    grace: Duration,
    rest: Duration,
    stage: Stage,
}

/// How far a drain has come, each with the time of the next step.
#[derive(Clone, Copy)]
enum Stage {
    Working,
    Finishing { until: Instant },
    Stopping { until: Instant },
    Over,
}

impl DrainClock {
    pub(super) fn new(phase: watch::Receiver<Phase>, options: &EngineOptions) -> Self {
        let rest = options.cancel_grace + options.store_timeout;
        Self {
            phase,
            grace: options.drain_grace,
            rest,
            stage: Stage::Working,
        }
    }

    /// Takes the step that is due.
    pub(super) fn tick(&mut self, node: &Node) {
        let now = Instant::now();
        match self.stage {
            Stage::Working => {
                if *self.phase.borrow_and_update() == Phase::Draining {
                    self.stage = Stage::Finishing {
                        until: now + self.grace,
                    };
                }
            }
            Stage::Finishing { until } if until <= now => {
                node.client
                    .local()
                    .running
                    .cancel_all(CancelCause::Draining);
                self.stage = Stage::Stopping {
                    until: now + self.rest,
                };
            }
            Stage::Stopping { until } if until <= now => self.stage = Stage::Over,
            Stage::Finishing { .. } | Stage::Stopping { .. } | Stage::Over => {}
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        !matches!(self.stage, Stage::Working)
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    /// Waits until the next step is due.
    pub(super) async fn next(&mut self) {
        match self.stage {
            Stage::Working => {
                // When the engine is gone this loop is being stopped; there is nothing to wait for.
                if self.phase.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            Stage::Finishing { until } | Stage::Stopping { until } => sleep_until(until).await,
            Stage::Over => {}
        }
    }
}

//! Waiting for a run that is under way. Of many that wait on this node one looks, for all of them. Whoever waited is told what
//! is known and never runs.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::request::{Arrived, NewRequest, RETRY_AFTER_MIN};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::Guard;
use super::claim::FirstFailed;
use super::local::{Lead, Standing};
use super::reply;
use super::run::{Reply, tell};

/// How long a waiting repetition pauses before it looks again, at first and at most.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LONGEST: Duration = Duration::from_millis(500);

impl Guard {
    /// Shares what the first arrival of the same request on this node is told, for at most until `until`; `None` when that one
    /// is gone without a word, and the store is to be asked.
    pub(super) async fn follow<T>(
        &self,
        mut first: watch::Receiver<Standing>,
        until: Instant,
        client: &mut oneshot::Sender<T>,
    ) -> Option<Result<Arrived, StoreError>> {
        let running = Arrived::Running {
            retry_after: RETRY_AFTER_MIN,
        };
        loop {
            let standing = first.borrow_and_update().clone();
            let told = match standing {
                Standing::Over(arrived) => return Some(Ok(arrived)),
                Standing::Failed => {
                    return Some(Err(StoreError::Unavailable(Box::new(FirstFailed))));
                }
                Standing::Running if Instant::now() >= until => return Some(Ok(running)),
                Standing::Running => tokio::select! {
                    () = client.closed() => return Some(Ok(running)),
                    told = tokio::time::timeout_at(until, first.changed()) => told,
                },
                Standing::Asking => Ok(first.changed().await),
            };
            match told {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(_)) => return None,
            }
        }
    }

    /// Waits for the run that is under way, for at most until `until` and only while its client is there. Those who come
    /// meanwhile wait with it.
    pub(super) async fn wait<T>(
        &self,
        new: &NewRequest,
        lead: Option<&Lead>,
        until: Instant,
        client: &mut oneshot::Sender<T>,
    ) -> Option<Arrived> {
        if Instant::now() >= until {
            return None;
        }
        if let Some(lead) = lead {
            lead.tell_running();
        }
        tokio::select! {
            () = client.closed() => None,
            ended = self.ended(new, until) => ended,
        }
    }

    /// Tells the client of somebody who did not get to run what is known, and those who share it. Those who wait with it are
    /// told when the run ended, also when its own wait is over or its client has gone.
    pub(super) async fn tell_known(
        &self,
        new: &NewRequest,
        wait: Duration,
        lead: Option<Lead>,
        arrived: Arrived,
        reply: Reply,
    ) {
        let problems = &self.0.options.problems;
        let Some(lead) = lead else {
            return tell(reply, reply::to(arrived, problems));
        };
        if matches!(arrived, Arrived::Running { .. }) && !wait.is_zero() {
            tell(reply, reply::to(arrived, problems));
            return self.accompany(new, wait, lead).await;
        }
        // Whoever hears of it may come back at once, and is not to be told what was known before.
        let known = self.share(lead, arrived, new).await;
        tell(reply, reply::to(known, problems));
    }

    /// Looks for those who wait, for as long as there are any, whether the run has ended.
    async fn accompany(&self, new: &NewRequest, wait: Duration, mut lead: Lead) {
        // So short that each of them hears, before its own wait is over, of a look that began after it came.
        let pause = (wait / 2).min(LOOK_LONGEST);
        while lead.is_followed() {
            match self.on_record(new).await {
                Some(Arrived::Running { .. }) => lead.tell_running(),
                None => {
                    // It may run again: with whoever comes from here on, and never with one of those who wait.
                    lead.close();
                    lead.tell_running();
                }
                Some(known) => {
                    self.share(lead, known, new).await;
                    return;
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// What became of the run that is under way; `None` when the time is over first.
    async fn ended(&self, new: &NewRequest, until: Instant) -> Option<Arrived> {
        let longest = (until.saturating_duration_since(Instant::now()) / 2).min(LOOK_LONGEST);
        let mut pause = LOOK_FIRST;
        loop {
            let next = Instant::now() + pause;
            if next >= until {
                tokio::time::sleep_until(until).await;
            } else {
                tokio::time::sleep_until(next).await;
            }
            if let Ok(known) = self.0.requests.request(&new.identity).await {
                match self.without_running(known.as_ref(), new) {
                    Arrived::Running { .. } => {}
                    arrived => return Some(arrived),
                }
            }
            if Instant::now() >= until {
                return None;
            }
            pause = (pause * 2).min(longest);
        }
    }
}

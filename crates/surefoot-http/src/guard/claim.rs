//! Claiming a key, and what follows for somebody who does not get it. Whoever loses waits or is told; it never runs.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::request::{
    Arrived, End, Identity, NewRequest, RETRY_AFTER_MIN, Request, RequestState, arrive,
};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::Guard;
use super::local::{Joined, Lead, Standing};
use super::record::Recorded;

/// How long a waiting repetition pauses before it looks again, at first and at most.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LONGEST: Duration = Duration::from_millis(500);

/// How often a claim that was never told is given back, and the pause between two tries.
const WITHDRAW_TRIES: u32 = 30;
const WITHDRAW_PAUSE: Duration = Duration::from_secs(1);

/// Why somebody who shared an answer has none.
#[derive(Debug, thiserror::Error)]
#[error("the first of several arrivals got no answer")]
struct FirstFailed;

/// Whether the store was not even asked.
pub(super) fn shares_failure(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(cause) if cause.is::<FirstFailed>())
}

impl Guard {
    /// Claims the key as the first of several arrivals on this node, or shares what the first is told; a repetition waits until
    /// `until`. Whoever is first and got an answer leads the others.
    pub(super) async fn claim_together<T>(
        &self,
        new: &NewRequest,
        mut joined: Joined,
        until: Instant,
        client: &mut oneshot::Sender<T>,
    ) -> (Option<Lead>, Result<Arrived, StoreError>) {
        loop {
            match joined {
                Joined::First(lead) => {
                    let arrived = self.claim(new, until, client).await;
                    lead.tell(standing(&arrived));
                    return (arrived.is_ok().then_some(lead), arrived);
                }
                Joined::Apart => return (None, self.claim(new, until, client).await),
                Joined::Other(first) => match self.follow(first, until, client).await {
                    Some(arrived) => return (None, arrived),
                    // One of those who followed is the next first.
                    None => joined = self.0.locals.join(new),
                },
            }
        }
    }

    /// Claims the key. A repetition waits for the run that is under way until `until`, and never gets to run after it
    /// waited: what was released meanwhile runs with the next arrival.
    async fn claim<T>(
        &self,
        new: &NewRequest,
        until: Instant,
        client: &mut oneshot::Sender<T>,
    ) -> Result<Arrived, StoreError> {
        let arrived = self.0.requests.begin(new, self.0.clock.now()).await?;
        if Instant::now() >= until || !matches!(arrived, Arrived::Running { .. }) {
            return Ok(arrived);
        }
        let waited = tokio::select! {
            () = client.closed() => None,
            waited = self.wait(new, until) => waited,
        };
        Ok(waited.unwrap_or(arrived))
    }

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
                Standing::Claiming => Ok(first.changed().await),
            };
            match told {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(_)) => return None,
            }
        }
    }

    /// What became of the run that is under way; `None` when the time is over first.
    pub(super) async fn wait(&self, new: &NewRequest, until: Instant) -> Option<Arrived> {
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
            pause = (pause * 2).min(LOOK_LONGEST);
        }
    }

    /// What is on record for somebody whose own word did not count; `None` when the store does not answer.
    pub(super) async fn known(&self, identity: &Identity) -> Option<Arrived> {
        let known = self.0.requests.request(identity).await.ok()??;
        Some(self.told(&known))
    }

    /// What a repetition is told of a request that is on record like this.
    pub(super) fn told(&self, known: &Request) -> Arrived {
        let same = NewRequest {
            id: self.new_id(),
            identity: known.identity.clone(),
            operation: known.operation.clone(),
            fingerprint: known.fingerprint.clone(),
            clocks: known.clocks,
            holder: self.0.options.holder.clone(),
        };
        self.without_running(Some(known), &same)
    }

    /// What is known, for one that did not claim.
    fn without_running(&self, known: Option<&Request>, new: &NewRequest) -> Arrived {
        let running = Arrived::Running {
            retry_after: RETRY_AFTER_MIN,
        };
        match known.map(|known| arrive(Some(known), new, self.0.clock.now())) {
            Some(Arrived::Run(_)) | None => running,
            Some(arrived) => arrived,
        }
    }

    /// Gives back a claim that may have been made and was never told: nothing ran under it. It tries until the store
    /// answers or [`WITHDRAW_TRIES`] are used up; then the lease runs out, and the outcome counts as unknown.
    pub(super) async fn withdraw(&self, new: &NewRequest) {
        for _ in 0..WITHDRAW_TRIES {
            if let Ok(known) = self.0.requests.request(&new.identity).await {
                let ours = |request: &Request| matches!(&request.state, RequestState::Claimed { claim, .. } if *claim == new.id);
                match known.filter(ours) {
                    None => return,
                    Some(request) => {
                        let nothing =
                            End::NothingHappened("its claim was never told, so nothing ran".into());
                        if !matches!(self.record(request, nothing).await, Recorded::Not(..)) {
                            return;
                        }
                    }
                }
            }
            tokio::time::sleep(WITHDRAW_PAUSE).await;
        }
    }
}

/// What the first arrival tells the others.
fn standing(arrived: &Result<Arrived, StoreError>) -> Standing {
    match arrived {
        Ok(Arrived::Run(_)) => Standing::Running,
        Ok(known) => Standing::Over(known.clone()),
        Err(_) => Standing::Failed,
    }
}

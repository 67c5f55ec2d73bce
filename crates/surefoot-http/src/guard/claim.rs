//! Claiming a key, and what follows for somebody who does not get it. Whoever loses waits or is told; it never runs.

use surefoot_core::error::StoreError;
use surefoot_core::request::{Arrived, Identity, NewRequest, RETRY_AFTER_MIN, Request, arrive};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Guard;
use super::local::{Joined, Lead, Standing};

/// Why somebody who shared an answer has none.
#[derive(Debug, thiserror::Error)]
#[error("the first of several arrivals got no answer")]
pub(super) struct FirstFailed;

/// Whether the store was not even asked.
pub(super) fn shares_failure(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(cause) if cause.is::<FirstFailed>())
}

impl Guard {
    /// Claims the key as the first of several arrivals on this node, or shares what the first is told; a repetition waits until
    /// `until`. Whoever is first and got an answer leads the others: they are not told yet what is known.
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
                    let arrived = self.claim(new, Some(&lead), until, client).await;
                    return match &arrived {
                        Ok(Arrived::Run(_)) => {
                            lead.tell_running();
                            (Some(lead), arrived)
                        }
                        Ok(_) => (Some(lead), arrived),
                        Err(_) => {
                            lead.tell(Standing::Failed);
                            (None, arrived)
                        }
                    };
                }
                Joined::Apart => return (None, self.claim(new, None, until, client).await),
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
        lead: Option<&Lead>,
        until: Instant,
        client: &mut oneshot::Sender<T>,
    ) -> Result<Arrived, StoreError> {
        let arrived = self.0.requests.begin(new, self.0.clock.now()).await?;
        if !matches!(arrived, Arrived::Running { .. }) {
            return Ok(arrived);
        }
        let waited = self.wait(new, lead, until, client).await;
        Ok(waited.unwrap_or(arrived))
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
    pub(super) fn without_running(&self, known: Option<&Request>, new: &NewRequest) -> Arrived {
        let running = Arrived::Running {
            retry_after: RETRY_AFTER_MIN,
        };
        match known.map(|known| arrive(Some(known), new, self.0.clock.now())) {
            Some(Arrived::Run(_)) | None => running,
            Some(arrived) => arrived,
        }
    }
}

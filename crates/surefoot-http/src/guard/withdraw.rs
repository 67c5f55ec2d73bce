//! Giving back a claim that may have been made and was never told. Nothing ran under it, and its client was told so: left
//! alone it would make the outcome of a request unknown that never ran.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::Epoch;
use surefoot_core::request::{Arrived, End, NewRequest, Request, RequestState};

use super::Guard;
use super::record::Recorded;
use super::store::is_no_answer;

/// How often a claim that was never told is given back, and the pause between two tries.
const WITHDRAW_TRIES: u32 = 30;
const WITHDRAW_PAUSE: Duration = Duration::from_secs(1);

impl Guard {
    /// Gives back a claim that may have been made and was never told, because of `error`: nothing ran under it. It tries until
    /// the store answers or [`WITHDRAW_TRIES`] are used up; then the lease runs out, and the outcome counts as unknown.
    pub(super) async fn withdraw(&self, new: &NewRequest, error: &StoreError) {
        let may_come = is_no_answer(error);
        for _ in 0..WITHDRAW_TRIES {
            let known = if may_come {
                self.claimed(new).await
            } else {
                self.0.requests.request(&new.identity).await
            };
            match known {
                Ok(Some(request)) if is_claim_of(&request, new) => {
                    let nothing =
                        End::NothingHappened("its claim was never told, so nothing ran".into());
                    if !matches!(self.record(request, nothing).await, Recorded::Not(..)) {
                        return;
                    }
                }
                Ok(None) if may_come => {}
                Ok(Some(_) | None) => return,
                Err(_) => {}
            }
            tokio::time::sleep(WITHDRAW_PAUSE).await;
        }
    }

    /// What is on record once the claim has been made that nobody waited for. A look would not do: a commit that the disk holds
    /// up is not seen yet. The same claim, made again, comes after it and is answered the same; `None` while the first is on its
    /// way.
    async fn claimed(&self, new: &NewRequest) -> Result<Option<Request>, StoreError> {
        match self.0.requests.begin(new, self.0.clock.now()).await? {
            Arrived::Run(request) => Ok(Some(*request)),
            Arrived::Replay { .. }
            | Arrived::NotKept { .. }
            | Arrived::Gone { .. }
            | Arrived::Mismatch { .. }
            | Arrived::Running { .. }
            | Arrived::UnknownOutcome { .. } => self.0.requests.request(&new.identity).await,
        }
    }
}

/// Whether what is on record is the claim of this arrival, and nobody has said what became of it.
fn is_claim_of(request: &Request, new: &NewRequest) -> bool {
    match &request.state {
        RequestState::Claimed { claim, .. } => *claim == new.id,
        // The first claim of its key, under a lease that was over before it was on record.
        RequestState::Unknown { .. } => {
            request.id == new.id && request.epoch == Epoch::NEVER.next()
        }
        RequestState::Finished { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. }
        | RequestState::Expired { .. } => false,
    }
}

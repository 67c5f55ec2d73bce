//! A look before anything is set about: who asks for what was asked lately is answered by it, with no task of its own and no
//! claim. Whoever goes away while it looks leaves nothing behind. It decides nothing that runs: the claim does.

use surefoot_core::request::{Arrived, NewRequest, arrive};

use super::Guard;
use super::admit::Asked;
use super::local::{Joined, Lead};

/// Something that may have to run.
pub(super) struct Arrival {
    pub(super) asked: Asked,
    /// How it stands among the arrivals on this node.
    pub(super) joined: Joined,
}

/// What a look tells.
pub(super) enum Looked {
    /// It may have to run, or to wait for a run.
    Runs(Box<Arrival>),
    /// This is known of it.
    Known(Arrived),
}

impl Guard {
    /// Looks what is known of a repetition. Of many at once only the first looks.
    pub(super) async fn look(&self, asked: Asked) -> Looked {
        let joined = match self.0.locals.join(&asked.new) {
            Joined::First(lead) if self.0.seen.again(&asked.new.identity) => {
                if let Some(known) = self.repeated(&asked).await {
                    return Looked::Known(self.share(lead, known, &asked.new).await);
                }
                Joined::First(lead)
            }
            joined => joined,
        };
        Looked::Runs(Box::new(Arrival { asked, joined }))
    }

    /// What a repetition is told; `None` where it may have to run or to wait, and where the store does not say.
    async fn repeated(&self, asked: &Asked) -> Option<Arrived> {
        match self.on_record(&asked.new).await? {
            Arrived::Running { .. } if !asked.policy.wait.is_zero() => None,
            told => Some(told),
        }
    }

    /// What is on record for a repetition; `None` where it may run, and where the store does not say.
    pub(super) async fn on_record(&self, new: &NewRequest) -> Option<Arrived> {
        let known = self.0.requests.request(&new.identity).await.ok()??;
        match arrive(Some(&known), new, self.0.clock.now()) {
            Arrived::Run(_) => None,
            told => Some(told),
        }
    }

    /// Tells those who came meanwhile what was heard of the store, and answers it. What is open may have ended after the
    /// store was asked and before one of them came, so it is looked at again for them; where that says nothing, they ask.
    pub(super) async fn share(&self, mut lead: Lead, heard: Arrived, new: &NewRequest) -> Arrived {
        lead.close();
        if !lead.is_followed() {
            return heard;
        }
        if !is_open(&heard) {
            lead.end(|| heard.clone());
            return heard;
        }
        let Some(known) = self.on_record(new).await else {
            return heard;
        };
        lead.end(|| known.clone());
        known
    }
}

/// Whether a later look may find something else, other than that it is over.
const fn is_open(arrived: &Arrived) -> bool {
    match arrived {
        Arrived::Run(_) | Arrived::Running { .. } | Arrived::UnknownOutcome { .. } => true,
        Arrived::Replay { .. }
        | Arrived::NotKept { .. }
        | Arrived::Gone { .. }
        | Arrived::Mismatch { .. } => false,
    }
}

//! A look before anything is set about: who asks for what was asked lately is answered by it, with no task of its own and no
//! claim. Whoever goes away while it looks leaves nothing behind. It decides nothing that runs: the claim does.

use surefoot_core::request::{Arrived, arrive};

use super::Guard;
use super::admit::Asked;
use super::local::Joined;

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
                    lead.end(|| known.clone());
                    return Looked::Known(known);
                }
                Joined::First(lead)
            }
            joined => joined,
        };
        Looked::Runs(Box::new(Arrival { asked, joined }))
    }

    /// What a repetition is told; `None` where it may have to run or to wait, and where the store does not say.
    async fn repeated(&self, asked: &Asked) -> Option<Arrived> {
        let known = self.0.requests.request(&asked.new.identity).await.ok()??;
        match arrive(Some(&known), &asked.new, self.0.clock.now()) {
            Arrived::Run(_) => None,
            Arrived::Running { .. } if !asked.policy.wait.is_zero() => None,
            told => Some(told),
        }
    }
}

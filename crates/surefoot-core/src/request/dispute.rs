//! A witness that came late and said something else. The first word stands; what a later one adds is that a person must
//! look.

use super::{Request, RequestState};
use crate::effect::{DISPUTES_MAX, Dispute, Witness};
use crate::text::ErrorText;
use crate::time::Timestamp;

impl Request {
    /// The request with a later word beside it, its state as it was.
    pub(super) fn disputed(&self, said: &str, by: Witness, now: Timestamp) -> Self {
        let mut disputed = self.next(self.state.clone());
        if disputed.disputes.len() < DISPUTES_MAX {
            disputed.disputes.push(Dispute {
                at: now,
                by,
                said: said.into(),
            });
        }
        disputed
    }

    /// A released request that happened after all, says a later witness: it must not run on the strength of a word that is
    /// in dispute.
    pub(super) fn disputed_release(&self, said: &str, by: Witness, now: Timestamp) -> Self {
        let error =
            ErrorText::from("one witness said that it did not happen, a later one that it did");
        Self {
            state: RequestState::NeedsHuman { since: now, error },
            ..self.disputed(said, by, now)
        }
    }
}

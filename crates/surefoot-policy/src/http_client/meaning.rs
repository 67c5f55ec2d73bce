//! What hyper's errors mean: above all, whether the request can have left.

use surefoot_core::classify::{Certainty, Class};

use crate::meaning::{Health, Meaning};

const CAUSES_MAX: usize = 16;

/// What an error of hyper or its client means; `None` for other errors.
///
/// A failure to connect has sent nothing, its own time-out included. A request that was cancelled before it was
/// dispatched, because an idle connection had been closed, has sent nothing either and may be sent again for
/// free. A connection that ended in the middle may have applied it.
pub(crate) fn meaning_of_hyper(error: &(dyn std::error::Error + 'static)) -> Option<Meaning> {
    let mut known = None;
    let mut link = Some(error);
    for _ in 0..CAUSES_MAX {
        let Some(cause) = link else { break };
        if let Some(client) = cause.downcast_ref::<hyper_util::client::legacy::Error>() {
            if client.is_connect() {
                return Some(Meaning::NOT_SENT);
            }
            known = Some(Meaning::TRANSIENT);
        }
        if let Some(hyper) = cause.downcast_ref::<hyper::Error>() {
            return Some(if hyper.is_canceled() {
                Meaning {
                    free_replay: true,
                    ..Meaning::NOT_SENT
                }
            } else if hyper.is_user() {
                Meaning {
                    class: Class::Permanent,
                    certainty: Certainty::MaybeApplied,
                    health: Health::Neutral,
                    ..Meaning::TRANSIENT
                }
            } else {
                Meaning::TRANSIENT
            });
        }
        link = cause.source();
    }
    known
}

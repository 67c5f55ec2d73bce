//! What the engine says of itself, into the log.

use surefoot::{Event, Observer};
use surefoot_core::job::{DeadReason, StateName};

use super::log::Log;
use super::tally::Happened;

/// See the module.
pub(super) struct Told(pub(super) Log);

impl Observer for Told {
    fn on(&self, event: &Event<'_>) {
        let log = &self.0;
        match event {
            Event::AttemptEnded { next, .. } => match next {
                StateName::Succeeded => log.count(Happened::Succeeded),
                StateName::Cancelled => log.count(Happened::Cancelled),
                StateName::Pending
                | StateName::Running
                | StateName::Retrying
                | StateName::Verifying
                | StateName::Dead
                | StateName::Ignored => {}
            },
            Event::DeadLetter { reason, job, .. } => {
                log.with(|state| state.ever_dead.insert(*job));
                log.count(match reason {
                    DeadReason::CrashLoop => Happened::CrashLoop,
                    DeadReason::OutcomeUnknown => Happened::OutcomeUnknown,
                    DeadReason::Permanent | DeadReason::Exhausted | DeadReason::Deadline => {
                        Happened::OtherDead
                    }
                });
            }
            Event::LeaseLost { job, epoch, .. } => {
                log.line(format_args!("lease of {job} under {epoch} lost"));
                log.count(Happened::LeaseLost);
            }
            Event::EffectDisputed { .. } => log.count(Happened::Disputed),
            Event::Enqueued { .. }
            | Event::Claimed { .. }
            | Event::StaleWrite { .. }
            | Event::Abandoned { .. }
            | Event::SettlementDropped { .. }
            | Event::EffectVerified { .. }
            | Event::EffectNeedsHuman { .. }
            | Event::StoreError { .. } => {}
        }
    }
}

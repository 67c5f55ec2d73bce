//! Tells everybody who should know what became of a settlement: the observer, and who waits in this process.

use surefoot_core::job::{LeasedJob, StateName};
use surefoot_core::port::Settled;
use surefoot_core::settle::{Next, Settlement};
use surefoot_core::text::ErrorText;

use crate::client::Client;
use crate::observe::Event;

/// The state that a settlement leads to.
pub(crate) const fn state_of(next: &Next) -> StateName {
    match next {
        Next::Pending { .. } => StateName::Pending,
        Next::Retrying { .. } => StateName::Retrying,
        Next::Verifying { .. } => StateName::Verifying,
        Next::Succeeded { .. } => StateName::Succeeded,
        Next::Dead(_) => StateName::Dead,
        Next::Cancelled { .. } => StateName::Cancelled,
    }
}

/// What an attempt said, in one line, for the record of an attempt that was settled without it.
pub(crate) fn spoken(settlement: &Settlement) -> ErrorText {
    let outcome = settlement.outcome.as_str();
    match (&settlement.next, &settlement.error) {
        (Next::Succeeded { result, .. }, _) => format!("{outcome}: {}", result.as_str()),
        (_, Some(error)) => format!("{outcome}: {error}"),
        (_, None) => outcome.to_owned(),
    }
    .into()
}

/// Tells what became of `settlement` on `job`. A repetition was told of when it was first applied or, if that answer
/// was lost, is told of here: an attempt may be counted twice then, never missed.
pub(crate) fn tell_settled(
    client: &Client,
    job: &LeasedJob,
    settlement: &Settlement,
    settled: Settled,
) {
    let observer = client.observer();
    let (id, attempt, epoch) = (job.id, job.counts.starts, settlement.fence.epoch);
    match settled {
        Settled::Applied | Settled::Already => {
            let (outcome, next) = (
                settlement.outcome.as_str(),
                state_of(&settlement.next).as_str(),
            );
            tracing::debug!(job = %id, attempt, %epoch, outcome, next, "an attempt ended");
            observer.on(&Event::AttemptEnded {
                job,
                outcome: settlement.outcome,
                next: state_of(&settlement.next),
                took: settlement.ended_at.since(job.state.started_at),
            });
            if let Next::Dead(death) = &settlement.next {
                let reason = death.reason.as_str();
                tracing::warn!(job = %id, attempt, %epoch, reason, error = %death.error, "a dead letter");
                observer.on(&Event::DeadLetter {
                    job: job.id,
                    kind: &job.kind,
                    reason: death.reason,
                });
            }
            client.local().changed(job.id);
        }
        Settled::Stale => {
            tracing::warn!(job = %id, attempt, %epoch, "a write under a lost lease was refused");
            observer.on(&Event::StaleWrite {
                job: job.id,
                epoch: settlement.fence.epoch,
            });
        }
    }
}

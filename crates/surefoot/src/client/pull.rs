//! Pull workers in any language: claim, extend, report. The same terms and the same decisions as the engine's own
//! handlers; the epoch that a worker was given fences all that it writes.

use surefoot_core::classify::Class;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Kind, Worker};
use surefoot_core::job::{Attempt, AttemptOutcome, LeasedJob, StateName};
use surefoot_core::port::{BATCH_MAX, Claim, Extended, Extension, JobRecord, Queues, Settled};
use surefoot_core::settle::{Report, settle};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::Client;
use crate::effect::present;
use crate::error::Error;
use crate::holder;
use crate::observe::Event;
use crate::settled::{state_of, tell_settled};

/// What became of a pull worker's report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// It was applied, and the job went to this state.
    Applied {
        /// The job's state from here on.
        state: StateName,
    },
    /// The same report had been applied already.
    Already {
        /// The job's present state.
        state: StateName,
    },
    /// The job does not run under this epoch any more. Nothing was written.
    Stale,
    /// A node of the engine runs it and reports by itself. Nothing was written.
    HeldByNode,
    /// There is no such job.
    NotFound,
}

/// What became of a pull worker's lease that was to be extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseExtended {
    /// It holds.
    Held {
        /// Until when.
        until: Timestamp,
        /// Somebody asked to cancel the job.
        cancel_requested: bool,
    },
    /// It does not hold any more. Nothing was written.
    Lost,
    /// A node of the engine holds it. Nothing was written.
    HeldByNode,
}

impl From<Extended> for LeaseExtended {
    fn from(extended: Extended) -> Self {
        match extended {
            Extended::Held {
                until,
                cancel_requested,
            } => Self::Held {
                until,
                cancel_requested,
            },
            Extended::Lost => Self::Lost,
        }
    }
}

impl Client {
    /// Claims up to `max` jobs of these kinds for a pull worker. Each holds for its kind's lease.
    ///
    /// # Errors
    /// [`Error::ReservedWorker`] for a name that only nodes have, [`Error::TooMany`], and what the store answered. When it
    /// was unavailable, jobs may have been claimed; they come back when their lease ends.
    pub async fn lease(
        &self,
        worker: &Worker,
        kinds: &[Kind],
        queues: Queues,
        max: u32,
    ) -> Result<Vec<LeasedJob>, Error> {
        if holder::is_node(worker) {
            return Err(Error::ReservedWorker(worker.clone()));
        }
        if kinds.len() > BATCH_MAX {
            return Err(Error::TooMany {
                items: kinds.len(),
                max: BATCH_MAX,
            });
        }
        let claim = Claim {
            worker: worker.clone(),
            kinds: kinds.iter().map(|kind| self.policies.terms(kind)).collect(),
            queues,
            queue_limits: self.queue_limits.as_ref().clone(),
            max: max.min(u32::try_from(BATCH_MAX).unwrap_or(u32::MAX)),
        };
        let advanced = self.store.advance(&[], Some(&claim), self.now()).await?;
        for job in &advanced.leased {
            self.observer.on(&Event::claimed(job));
            self.local.changed(job.id);
        }
        Ok(advanced.leased)
    }

    /// Extends a lease by its kind's lease from now, but never beyond `started_at + timeout + lease`: a pull worker
    /// gets the time that its kind's policy grants an attempt, and one lease to report it. From then on the answer is
    /// [`LeaseExtended::Lost`]. A node extends its own leases, and nobody else does.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn extend(&self, job: JobId, epoch: Epoch) -> Result<LeaseExtended, StoreError> {
        let Some(leased) = self.leased(job, epoch).await?.and_then(Result::ok) else {
            return Ok(LeaseExtended::Lost);
        };
        if holder::is_node(&leased.state.worker) {
            return Ok(LeaseExtended::HeldByNode);
        }
        let policy = self.policies.policy(&leased.kind);
        let now = self.now();
        let last = self.last_hold(&leased);
        if last <= now {
            return Ok(LeaseExtended::Lost);
        }
        let until = now.after(policy.lease).min(last);
        let answers = self
            .store
            .extend(&[Extension { job, epoch, until }], now)
            .await?;
        answers
            .first()
            .map(|extended| LeaseExtended::from(*extended))
            .ok_or_else(|| StoreError::Broken("an extension had no answer".to_owned()))
    }

    /// Until when a pull worker holds a job at most.
    pub(super) fn last_hold(&self, leased: &LeasedJob) -> Timestamp {
        let policy = self.policies.policy(&leased.kind);
        leased
            .state
            .started_at
            .after(policy.timeout)
            .after(policy.lease)
    }

    /// Reports how an attempt went; what follows is decided by the kind's policy, and while an effect of it is in doubt by
    /// that effect. It may be repeated. What comes after the lease was lost is kept with the attempt and changes nothing
    /// else. An attempt that a node runs is reported by that node alone: its call may be under way.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn report(
        &self,
        job: JobId,
        epoch: Epoch,
        report: Report,
    ) -> Result<Reported, StoreError> {
        let _telling = self.local.tells(job).await;
        let leased = match self.leased(job, epoch).await? {
            None => return Ok(Reported::NotFound),
            Some(Err(record)) => {
                let reported = earlier(&record, epoch, &report);
                if reported == Reported::Stale {
                    self.store.late(job, epoch, &spoken(&report)).await?;
                }
                return Ok(reported);
            }
            Some(Ok(leased)) if holder::is_node(&leased.state.worker) => {
                return Ok(Reported::HeldByNode);
            }
            Some(Ok(leased)) => leased,
        };
        let policy = self.policies.policy(&leased.kind);
        let said = spoken(&report);
        let effects = present(self.store.effects(&[job]).await?, leased.generation);
        let report = asked_only(report, &leased, &effects);
        let (now, roll) = (self.now(), self.dice.roll());
        let settlement = settle(&leased, &effects, report, policy, now, roll);
        let advanced = self
            .store
            .advance(std::slice::from_ref(&settlement), None, self.now())
            .await?;
        let settled = advanced.settled.first().copied();
        let settled =
            settled.ok_or_else(|| StoreError::Broken("a settlement had no answer".to_owned()))?;
        tell_settled(self, &leased, &settlement, settled);
        self.local.work.notify_one();
        Ok(match settled {
            Settled::Applied => Reported::Applied {
                state: state_of(&settlement.next),
            },
            Settled::Already => Reported::Already {
                state: state_of(&settlement.next),
            },
            Settled::Stale => {
                self.store.late(job, epoch, &said).await?;
                Reported::Stale
            }
        })
    }

    /// The job when it runs under this epoch, else its record; `None` when there is none.
    pub(super) async fn leased(
        &self,
        job: JobId,
        epoch: Epoch,
    ) -> Result<Option<Result<LeasedJob, JobRecord>>, StoreError> {
        let Some(record) = self.store.job(job).await? else {
            return Ok(None);
        };
        Ok(Some(match record.job.clone().into_leased() {
            Ok(leased) if leased.state.epoch == epoch => Ok(leased),
            Ok(_) | Err(_) => Err(record),
        }))
    }
}

/// An attempt that sent nothing and only asked what became of earlier calls uses up no attempt.
fn asked_only(report: Report, job: &LeasedJob, effects: &[Effect]) -> Report {
    let mut open = effects.iter().filter_map(Effect::open_since).peekable();
    let in_doubt = open.peek().is_some();
    let nothing_sent = open.all(|since| since < job.state.started_at);
    match report {
        Report::Failed(failure) if failure.class == Class::Unknown && in_doubt && nothing_sent => {
            Report::StillUnknown(failure.text)
        }
        report => report,
    }
}

/// What a report means when the job does not run under its epoch any more: the same report once more, or a stale one.
fn earlier(record: &JobRecord, epoch: Epoch, report: &Report) -> Reported {
    // While an effect is in doubt a success is put on record as unknown.
    let recorded = |outcome| {
        let success = matches!(report, Report::Succeeded(_));
        outcome == outcome_of(report) || (success && outcome == AttemptOutcome::Unknown)
    };
    let same = |attempt: &Attempt| attempt.epoch == epoch && attempt.outcome.is_some_and(recorded);
    if record.attempts.iter().any(same) {
        Reported::Already {
            state: record.job.state.name(),
        }
    } else {
        Reported::Stale
    }
}

/// What a report says, in one line, for the record of an attempt that was settled without it.
fn spoken(report: &Report) -> ErrorText {
    let outcome = outcome_of(report).as_str();
    match report {
        Report::Succeeded(result) => format!("{outcome}: {}", result.as_str()),
        Report::Failed(failure) => format!("{outcome}: {}", failure.text),
        Report::StillUnknown(error) | Report::Released(error) | Report::Interrupted(error) => {
            format!("{outcome}: {error}")
        }
        Report::TimedOut(kind) => format!("{outcome}: {kind} fired"),
        Report::Lost => outcome.to_owned(),
    }
    .into()
}

fn outcome_of(report: &Report) -> AttemptOutcome {
    match report {
        Report::Succeeded(_) => AttemptOutcome::Succeeded,
        Report::Failed(failure) => match failure.class {
            Class::Transient if failure.put_off => AttemptOutcome::Released,
            Class::Transient => AttemptOutcome::Transient,
            Class::Permanent => AttemptOutcome::Permanent,
            Class::Unknown => AttemptOutcome::Unknown,
            Class::Cancelled => AttemptOutcome::Cancelled,
        },
        Report::StillUnknown(_) => AttemptOutcome::Unknown,
        Report::TimedOut(_) => AttemptOutcome::TimedOut,
        Report::Released(_) | Report::Interrupted(_) => AttemptOutcome::Released,
        Report::Lost => AttemptOutcome::Lost,
    }
}

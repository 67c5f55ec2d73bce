//! Pull workers: claim, extend, report. Whoever writes under a lease names its epoch.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::time::Duration;
use surefoot::Policies;
use surefoot_core::failure::Failure;
use surefoot_core::id::{Epoch, JobId, Kind, Queue, Worker};
use surefoot_core::job::{LeasedJob, StateName};
use surefoot_core::port::Queues;
use surefoot_core::settle::Report;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use utoipa::ToSchema;

use super::enqueue::payload;
use super::json::RawJson;
use super::text::Text;
use super::time::WireTime;
use super::word::{RecoveryWord, StateWord};
use crate::problem::Problem;

/// The most leases of one claim. Each may carry a payload of 1 MiB.
pub(crate) const LEASES_MAX: u32 = 100;
/// The most kinds, and the most queues, of one claim.
const NAMES_MAX: usize = 100;
/// The longest delay that a worker may ask for: 30 days.
const RETRY_AFTER_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;

/// What a worker would run.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Claim)]
pub(crate) struct ClaimBody {
    /// Who claims: unique for each start of a worker. 1 to 128 letters, digits and `_ . : / -`,
    /// but not `node:` at the start: only nodes of the engine are called so.
    #[schema(example = "grader-7f3a")]
    worker: String,
    /// The kinds it can run, 1 to 100.
    #[schema(min_items = 1, max_items = 100)]
    kinds: Vec<String>,
    /// The queues it serves, 1 to 100. Default: every queue there is.
    #[schema(min_items = 1, max_items = 100)]
    queues: Option<Vec<String>>,
    /// The most jobs to claim. Default 1.
    #[schema(minimum = 1, maximum = 100)]
    max: Option<u32>,
}

/// A checked claim.
pub(crate) struct Claim {
    pub(crate) worker: Worker,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) queues: Queues,
    pub(crate) max: u32,
}

impl ClaimBody {
    pub(crate) fn into_claim(self) -> Result<Claim, Problem> {
        let max = self.max.unwrap_or(1);
        if !(1..=LEASES_MAX).contains(&max) {
            return Err(Problem::field(
                "max",
                format!("max is {max}, give 1 to {LEASES_MAX}"),
            ));
        }
        let queues = match self.queues {
            None => Queues::All,
            Some(queues) => Queues::Only(names("queues", queues, Queue::new)?),
        };
        Ok(Claim {
            worker: Worker::new(self.worker).map_err(|error| Problem::name("worker", &error))?,
            kinds: names("kinds", self.kinds, Kind::new)?,
            queues,
            max,
        })
    }
}

/// 1 to [`NAMES_MAX`] names, each once.
fn names<T: Ord>(
    field: &str,
    texts: Vec<String>,
    check: impl Fn(String) -> Result<T, surefoot_core::id::NameError>,
) -> Result<Vec<T>, Problem> {
    if texts.is_empty() || texts.len() > NAMES_MAX {
        let detail = format!("{field} has {} entries, give 1 to {NAMES_MAX}", texts.len());
        return Err(Problem::field(field, detail));
    }
    let checked: Result<BTreeSet<T>, _> = texts.into_iter().map(check).collect();
    Ok(checked
        .map_err(|error| Problem::name(field, &error))?
        .into_iter()
        .collect())
}

/// What was claimed.
#[derive(Serialize, ToSchema)]
pub(crate) struct Leases {
    /// One entry for each claimed job; empty when none is due.
    pub(crate) leases: Vec<Lease>,
}

/// A claimed job.
#[derive(Serialize, ToSchema)]
pub(crate) struct Lease {
    /// Which job.
    #[schema(format = "uuid")]
    job: String,
    /// Fences every write of this attempt: send it along with each report.
    epoch: i64,
    /// What it does.
    kind: String,
    /// What makes it one intent.
    #[schema(required)]
    key: Option<String>,
    /// What to work on, byte for byte as it was handed in.
    payload: RawJson,
    /// 1 for the first attempt.
    #[schema(minimum = 1)]
    attempt: u32,
    /// The key to give to a provider: the same on every attempt.
    provider_key: String,
    /// When the lease ends unless it is extended.
    lease_until: WireTime,
    /// How long the attempt may take, in milliseconds from the claim.
    timeout_ms: u64,
    /// After this the work is of no use any more.
    #[schema(required)]
    deadline_at: Option<WireTime>,
    /// What an unknown outcome allows; `null` when the kind declares nothing.
    #[schema(required)]
    recovery: Option<RecoveryWord>,
    /// The caller's trace context.
    #[schema(required)]
    traceparent: Option<String>,
}

/// A claimed job as its worker gets it.
pub(crate) fn lease(job: &LeasedJob, policies: &Policies) -> Lease {
    let Epoch(epoch) = job.state.epoch;
    Lease {
        job: job.id.to_string(),
        epoch,
        kind: job.kind.to_string(),
        key: job.key.as_ref().map(ToString::to_string),
        payload: RawJson(job.payload.clone()),
        attempt: job.counts.starts,
        provider_key: job.provider_key().to_string(),
        lease_until: job.state.lease_until.into(),
        timeout_ms: millis(timeout(job, policies)),
        deadline_at: job.deadline_at.map(WireTime),
        recovery: job.state.recovery.map(RecoveryWord),
        traceparent: job.trace.as_ref().map(|trace| trace.as_str().to_owned()),
    }
}

/// The kind's time-out, or what is left until the job's deadline where that is less.
fn timeout(job: &LeasedJob, policies: &Policies) -> Duration {
    let timeout = policies.policy(&job.kind).timeout;
    job.deadline_at.map_or(timeout, |deadline| {
        timeout.min(deadline.since(job.state.started_at))
    })
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A lease to extend.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Extend)]
pub(crate) struct EpochBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
}

/// A lease that was extended.
#[derive(Serialize, ToSchema)]
pub(crate) struct Extension {
    /// Which job.
    #[schema(format = "uuid")]
    job: String,
    /// When the lease ends unless it is extended again.
    lease_until: WireTime,
    /// Somebody asked to cancel the job: stop, and report what happened.
    cancel_requested: bool,
}

impl Extension {
    pub(crate) fn new(job: JobId, until: Timestamp, cancel_requested: bool) -> Self {
        Self {
            job: job.to_string(),
            lease_until: until.into(),
            cancel_requested,
        }
    }
}

/// The attempt succeeded.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Succeed)]
pub(crate) struct SucceedBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
    /// What the job returns: any JSON of at most 1 MiB, kept byte for byte. Default `null`.
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Box<RawValue>>,
}

impl SucceedBody {
    pub(crate) fn into_report(self) -> Result<Report, Problem> {
        Ok(Report::Succeeded(payload("result", self.result)?))
    }
}

/// The attempt failed, and it is certain that it did.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Fail)]
pub(crate) struct FailBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
    /// Whether trying again may help.
    class: FailClass,
    /// What happened, for the person who reads it. Control characters are replaced, what is over 8 KiB is left out.
    error: Option<Text>,
    /// When to try again at the earliest, in milliseconds from now, at most 30 days. Default: by the kind's backoff.
    /// Only with class `transient`.
    #[schema(maximum = 2_592_000_000_u64)]
    retry_after_ms: Option<u64>,
}

/// Whether trying again may help.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum FailClass {
    /// It may pass: the kind's backoff and number of attempts apply.
    Transient,
    /// It will not pass: the job is a dead letter at once.
    Permanent,
}

impl FailBody {
    pub(crate) fn into_report(self) -> Result<Report, Problem> {
        let error = text(self.error, "the worker gave no reason");
        let failure = match (self.class, self.retry_after_ms) {
            (FailClass::Transient, None) => Failure::transient(error),
            (FailClass::Transient, Some(delay)) if delay <= RETRY_AFTER_MS_MAX => {
                Failure::retry_after(Duration::from_millis(delay), error)
            }
            (FailClass::Transient, Some(delay)) => {
                let detail =
                    format!("retry_after_ms is {delay}, give at most {RETRY_AFTER_MS_MAX}");
                return Err(Problem::field("retry_after_ms", detail));
            }
            (FailClass::Permanent, None) => Failure::permanent(error),
            (FailClass::Permanent, Some(_)) => {
                let detail = "a permanent failure is not tried again; leave retry_after_ms out or say transient";
                return Err(Problem::field("retry_after_ms", detail));
            }
        };
        Ok(Report::Failed(failure))
    }
}

/// Nobody knows whether the effect happened.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Unknown)]
pub(crate) struct UnknownBody {
    /// The epoch of the lease.
    pub(crate) epoch: i64,
    /// What happened, for the person who reads it.
    error: Option<Text>,
}

impl UnknownBody {
    pub(crate) fn into_report(self) -> Report {
        let error = text(self.error, "the worker does not know whether it happened");
        Report::Failed(Failure::unknown(error))
    }
}

/// The text, or what stands for none.
fn text(given: Option<Text>, otherwise: &str) -> ErrorText {
    given.map_or_else(|| ErrorText::from(otherwise), |Text(text)| text)
}

/// What became of a report.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reported {
    /// Which job.
    #[schema(format = "uuid")]
    job: String,
    /// Whether this request ended the attempt.
    outcome: ReportOutcome,
    /// The job's state from here on.
    state: StateWord,
}

/// Whether a request ended its attempt.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportOutcome {
    /// It did.
    Applied,
    /// The same report had ended it already.
    Already,
}

impl Reported {
    pub(crate) fn new(job: JobId, outcome: ReportOutcome, state: StateName) -> Self {
        Self {
            job: job.to_string(),
            outcome,
            state: StateWord(state),
        }
    }
}

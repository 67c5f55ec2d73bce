//! What is known of a kind and of a dependency before anything runs.

use std::time::Duration;

use crate::effect::{EffectRecovery, VerifyPlan};
use crate::policy::JobPolicy;

use super::FaultName;

/// What is known of a kind of job.
#[derive(Clone, Debug, PartialEq)]
pub struct KindFacts {
    /// The kind.
    pub kind: String,
    /// What it does outside, in words or as the request that it sends; `None` when nobody said.
    pub side_effect: Option<String>,
    /// What an unknown outcome means; `None` when nobody said.
    pub recovery: Option<EffectRecovery>,
    /// How the provider is asked, where it is.
    pub verify: Option<VerifyFacts>,
    /// How the kind is run.
    pub policy: JobPolicy,
    /// The call that the engine makes; `None` for pull workers and for handlers in Rust.
    pub call: Option<CallFacts>,
    /// Who is told of dead letters, in words; `None` when nobody is.
    pub alert: Option<String>,
    /// What its author knows and accepts.
    pub waivers: Vec<Waiver>,
}

/// How a provider is asked what became of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyFacts {
    /// What is asked, such as `GET /refunds/{key}`.
    pub what: String,
    /// How often and how long.
    pub plan: VerifyPlan,
}

/// A call that the engine makes for a job.
#[derive(Clone, Debug, PartialEq)]
pub struct CallFacts {
    /// The dependency.
    pub dependency: String,
    /// The longest that connecting may take.
    pub connect: Option<Duration>,
    /// The longest that one try may take.
    pub attempt: Duration,
    /// The most tries inside of one attempt of the job.
    pub tries_max: u32,
    /// The most sends inside of one attempt of the job: its tries, and the second copies of slow ones.
    pub sends_max: u32,
    /// The longest that all tries inside of one attempt may take.
    pub time_max: Duration,
}

impl CallFacts {
    /// A call that is sent once and takes this long at most, by a client without a policy.
    #[must_use]
    pub fn once(dependency: &str, timeout: Duration) -> Self {
        Self {
            dependency: dependency.to_owned(),
            connect: None,
            attempt: timeout,
            tries_max: 1,
            sends_max: 1,
            time_max: timeout,
        }
    }
}

/// What is known of a dependency.
#[derive(Clone, Debug, PartialEq)]
pub struct DependencyFacts {
    /// Its name.
    pub name: String,
    /// Whether what needs it must fail when it fails.
    pub critical: bool,
    /// What is served in its place; `None` when nothing is.
    pub fallback: Option<String>,
    /// When it is given a rest; `None` when it never is.
    pub breaker: Option<BreakerFacts>,
    /// How its calls are tried again; `None` when each is tried once.
    pub retries: Option<RetryFacts>,
    /// The most calls at once.
    pub concurrency_max: u32,
    /// The longest that one try may take.
    pub attempt: Duration,
    /// What its author knows and accepts.
    pub waivers: Vec<Waiver>,
}

/// How the calls of a dependency are tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryFacts {
    /// The most tries of one call, two or more.
    pub tries_max: u32,
    /// Whether retries are bounded over all calls.
    pub budgeted: bool,
    /// Whether the waits in between are spread.
    pub spread: bool,
}

/// When a breaker opens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BreakerFacts {
    /// The time that is looked at.
    pub window: Duration,
    /// Below so many calls within the window a ratio says nothing.
    pub calls_min: u32,
    /// The ratio of failed calls that opens it.
    pub failure_ratio: f64,
    /// So many failures in a row open it; 0 is never.
    pub consecutive_failures: u32,
}

/// A fault that its author knows and accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// Which.
    pub fault: FaultName,
    /// Why.
    pub reason: String,
}

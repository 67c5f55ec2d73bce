//! How a kind of job is run, as plain data with documented defaults and one `validate` that reports every
//! fault at once.

use std::time::Duration;

use crate::backoff::Backoff;
use crate::timeouts::TimeoutLadder;

/// What the author of a kind declares for an attempt of which nobody knows whether it did something. It stands on the
/// lease, and decides where the job has no effect on record; each effect has its own word, which is
/// [`EffectRecovery`](crate::effect::EffectRecovery).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Recovery {
    /// The provider deduplicates by key: send again under the same key.
    SameKey,
    /// Never send again: an unknown outcome waits for a person.
    AtMostOnce,
    /// Doing it twice does no harm: send again.
    Repeatable,
}

impl Recovery {
    /// Every recovery.
    pub const ALL: [Self; 3] = [Self::SameKey, Self::AtMostOnce, Self::Repeatable];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SameKey => "same_key",
            Self::AtMostOnce => "at_most_once",
            Self::Repeatable => "repeatable",
        }
    }

    /// The recovery with this name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|recovery| recovery.as_str() == text)
    }
}

/// How a kind of job is run.
#[derive(Clone, Debug, PartialEq)]
pub struct JobPolicy {
    /// The longest an attempt may take. Default 30 s.
    pub timeout: Duration,
    /// How long a claim holds without an extension; longer than `timeout`, so that an attempt ends before
    /// another can start. Default 40 s.
    pub lease: Duration,
    /// How many attempts may fail before the job is a dead letter. Default 5.
    pub attempts_max: u32,
    /// How many times its holder may be lost before the job is a dead letter. Default 3.
    pub crashes_max: u32,
    /// How long to wait after a failure. Default 10 s, 30 s, 2 min, 10 min, each ± 25 %.
    pub backoff: Backoff,
    /// What an unknown outcome allows. Without it, a lost or timed-out attempt is run again (the handler must
    /// bear that), and an attempt that *reports* an unknown outcome waits for a person.
    pub recovery: Option<Recovery>,
    /// How long after it was enqueued a job that names no deadline may still run. Default: no limit.
    pub deadline: Option<Duration>,
    /// How many jobs of this kind run at once over all nodes. Default: no limit.
    pub concurrency_max: Option<u32>,
    /// How many jobs of this kind and one concurrency key run at once over all nodes. Default: no limit.
    pub concurrency_per_key_max: Option<u32>,
}

impl Default for JobPolicy {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            lease: Duration::from_secs(40),
            attempts_max: 5,
            crashes_max: 3,
            backoff: Backoff::default(),
            recovery: None,
            deadline: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }
    }
}

impl JobPolicy {
    /// The room between a job's time-out and the end of its lease when only the time-out is given.
    pub const LEASE_MARGIN: Duration = Duration::from_secs(10);

    /// A default policy with this time-out and a lease that is [`LEASE_MARGIN`](Self::LEASE_MARGIN) longer.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            timeout,
            lease: timeout.saturating_add(Self::LEASE_MARGIN),
            ..Self::default()
        }
    }

    /// Every contradiction in this policy, each with its remedy; empty when it is sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = TimeoutLadder {
            connect: None,
            attempt: None,
            job: self.timeout,
            lease: self.lease,
        }
        .validate();
        faults.extend(self.backoff.validate());
        if self.attempts_max == 0 {
            faults.push("attempts_max is 0, so the job could never run; set 1 or more".to_owned());
        }
        if self.crashes_max == 0 {
            faults.push(
                "crashes_max is 0, so a crash could never be survived; set 1 or more".to_owned(),
            );
        }
        if self.concurrency_max == Some(0) || self.concurrency_per_key_max == Some(0) {
            faults.push(
                "a concurrency limit of 0 would stop the kind; pause its queue instead".to_owned(),
            );
        }
        if self
            .deadline
            .is_some_and(|deadline| deadline < self.timeout)
        {
            faults.push(format!(
                "deadline {:?} is shorter than timeout {:?}, so an attempt could never use its time; raise the \
                 deadline or lower the timeout",
                self.deadline.unwrap_or_default(),
                self.timeout
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_policy_is_sound() {
        assert_eq!(JobPolicy::default().validate(), Vec::<String>::new());
        assert_eq!(
            JobPolicy::with_timeout(Duration::from_secs(150)).validate(),
            Vec::<String>::new()
        );
    }

    #[test]
    fn every_fault_is_reported_at_once() {
        let policy = JobPolicy {
            timeout: Duration::from_secs(60),
            lease: Duration::from_secs(30),
            attempts_max: 0,
            crashes_max: 0,
            deadline: Some(Duration::from_secs(1)),
            concurrency_max: Some(0),
            ..JobPolicy::default()
        };
        assert_eq!(policy.validate().len(), 5, "{:?}", policy.validate());
    }
}

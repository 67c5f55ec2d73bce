//! What core's checklist wants to know of a policy. It states facts and judges none.

use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::checklist::{BreakerFacts, CallFacts, DependencyFacts, RetryFacts};
use surefoot_core::effect::EffectRecovery;

use super::Policy;
use crate::breaker::BreakerMode;
use crate::meta::Criticality;

impl Policy {
    /// What is known of the dependency of this name, without waivers.
    #[must_use]
    pub fn facts(&self, name: &str) -> DependencyFacts {
        DependencyFacts {
            name: name.to_owned(),
            critical: self.criticality == Criticality::Critical,
            fallback: self
                .fallback
                .as_ref()
                .map(|fallback| fallback.kind.as_str().to_owned()),
            breaker: self.breaker_facts(),
            retries: self.retry_facts(),
            concurrency_max: self
                .adaptive
                .as_ref()
                .map_or(self.bulkhead.limit, |adaptive| adaptive.limit_max),
            attempt: self.timeout.attempt,
            waivers: Vec::new(),
        }
    }

    /// What is known of one call of the dependency of this name, where an unknown outcome of it means `unknown`.
    #[must_use]
    pub fn call_facts(&self, name: &str, recovery: EffectRecovery) -> CallFacts {
        let explained = self.explain();
        let tries_max = self.retry.attempts_max;
        CallFacts {
            dependency: name.to_owned(),
            connect: Some(self.timeout.connect),
            attempt: self.timeout.attempt,
            tries_max,
            sends_max: match recovery {
                // A second copy never leaves under them.
                EffectRecovery::AtMostOnce | EffectRecovery::Verify { .. } => tries_max,
                EffectRecovery::Step
                | EffectRecovery::SameKey { .. }
                | EffectRecovery::Repeatable => explained.sends_max,
            },
            time_max: explained.time_max,
        }
    }

    fn breaker_facts(&self) -> Option<BreakerFacts> {
        let breaker = &self.breaker;
        match breaker.mode {
            BreakerMode::On => Some(BreakerFacts {
                window: breaker.window,
                calls_min: breaker.calls_min,
                failure_ratio: breaker.failure_ratio,
                consecutive_failures: breaker.consecutive_failures,
            }),
            BreakerMode::MetricsOnly | BreakerMode::Disabled => None,
        }
    }

    fn retry_facts(&self) -> Option<RetryFacts> {
        let retry = &self.retry;
        let (Backoff::List { jitter, .. } | Backoff::Exponential { jitter, .. }) =
            retry.backoff.backoff();
        (retry.attempts_max > 1).then_some(RetryFacts {
            tries_max: retry.attempts_max,
            budgeted: self.budget.enabled,
            spread: jitter != Jitter::None,
        })
    }
}

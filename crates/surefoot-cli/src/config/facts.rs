//! What the checklist of core wants to know, from what the file says. It states facts and judges none.

use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::checklist::{
    BreakerFacts, CallFacts, DependencyFacts, KindFacts, RetryFacts, VerifyFacts,
};
use surefoot_core::effect::Unknown;
use surefoot_core::id::Kind;
use surefoot_core::policy::{JobPolicy, Recovery};
use surefoot_policy::Criticality;
use surefoot_policy::breaker::BreakerMode;

use super::{Dependency, JobKind, Request, RequestRecovery};

impl JobKind {
    /// What is known of the kind; `alert` is who is told of the dead letters of all kinds.
    pub(crate) fn facts(&self, kind: &Kind, alert: Option<&str>) -> KindFacts {
        let answers = &self.answers;
        let request = self.request.as_ref();
        KindFacts {
            kind: kind.to_string(),
            side_effect: side_effect(answers.effect.as_deref(), request),
            unknown: unknown(&self.policy, request),
            verify: request.and_then(verify),
            policy: self.policy.clone(),
            call: request.map(call),
            alert: answers.alert.as_deref().or(alert).map(str::to_owned),
            waivers: answers.waivers.clone(),
        }
    }
}

/// The words of its author, and the request that says the same to a machine.
fn side_effect(words: Option<&str>, request: Option<&Request>) -> Option<String> {
    let line = request.map(|request| {
        let Request {
            dependency,
            method,
            path,
            ..
        } = request;
        format!("{method} {path} of {}", dependency.name)
    });
    match (words, line) {
        (Some(words), Some(line)) => Some(format!("{words} ({line})")),
        (Some(words), None) => Some(words.to_owned()),
        (None, line) => line,
    }
}

fn unknown(policy: &JobPolicy, request: Option<&Request>) -> Option<Unknown> {
    match (request, policy.recovery) {
        (Some(request), _) => Some(request.recovery.unknown()),
        (None, Some(Recovery::SameKey)) => Some(Unknown::SameKey { ttl: None }),
        (None, Some(Recovery::AtMostOnce)) => Some(Unknown::AtMostOnce),
        (None, Some(Recovery::Repeatable)) => Some(Unknown::Repeatable),
        (None, None) => None,
    }
}

fn verify(request: &Request) -> Option<VerifyFacts> {
    match &request.recovery {
        RequestRecovery::Verify(verification) => Some(VerifyFacts {
            what: format!(
                "{} {} of {}",
                verification.method, verification.path, request.dependency.name
            ),
            plan: verification.plan.clone(),
        }),
        RequestRecovery::SameKey { .. }
        | RequestRecovery::AtMostOnce
        | RequestRecovery::Repeatable => None,
    }
}

fn call(request: &Request) -> CallFacts {
    let policy = &request.dependency.policy;
    let tries_max = policy.retry.attempts_max;
    let sends_max = match request.recovery {
        // A second copy never leaves under them.
        RequestRecovery::AtMostOnce | RequestRecovery::Verify(_) => tries_max,
        RequestRecovery::SameKey { .. } | RequestRecovery::Repeatable => policy.explain().sends_max,
    };
    CallFacts {
        dependency: request.dependency.name.to_string(),
        connect: Some(policy.timeout.connect),
        attempt: policy.timeout.attempt,
        tries_max,
        sends_max,
        time_max: request.call_max,
    }
}

impl Dependency {
    /// What is known of the dependency.
    pub(crate) fn facts(&self) -> DependencyFacts {
        let policy = &self.policy;
        DependencyFacts {
            name: self.name.to_string(),
            critical: policy.criticality == Criticality::Critical,
            fallback: policy
                .fallback
                .as_ref()
                .map(|fallback| fallback.kind.as_str().to_owned()),
            breaker: self.breaker(),
            retries: self.retries(),
            concurrency_max: policy
                .adaptive
                .as_ref()
                .map_or(policy.bulkhead.limit, |adaptive| adaptive.limit_max),
            attempt: policy.timeout.attempt,
            waivers: self.waivers.clone(),
        }
    }

    fn breaker(&self) -> Option<BreakerFacts> {
        let breaker = &self.policy.breaker;
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

    fn retries(&self) -> Option<RetryFacts> {
        let retry = &self.policy.retry;
        let (Backoff::List { jitter, .. } | Backoff::Exponential { jitter, .. }) =
            retry.backoff.backoff();
        (retry.attempts_max > 1).then_some(RetryFacts {
            tries_max: retry.attempts_max,
            budgeted: self.policy.budget.enabled,
            spread: jitter != Jitter::None,
        })
    }
}

//! What the checklist of core wants to know, from what the file says. It states facts and judges none.

use surefoot_core::checklist::{CallFacts, DependencyFacts, KindFacts, VerifyFacts};
use surefoot_core::effect::EffectRecovery;
use surefoot_core::id::Kind;
use surefoot_core::policy::{JobPolicy, Recovery};

use super::{CallRecovery, Dependency, JobKind, Request};

impl JobKind {
    /// What is known of the kind; `alert` is who is told of the dead letters of all kinds.
    pub(crate) fn facts(&self, kind: &Kind, alert: Option<&str>) -> KindFacts {
        let answers = &self.answers;
        let request = self.request.as_ref();
        KindFacts {
            kind: kind.to_string(),
            side_effect: side_effect(answers.effect.as_deref(), request),
            recovery: recovery(&self.policy, request),
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

fn recovery(policy: &JobPolicy, request: Option<&Request>) -> Option<EffectRecovery> {
    match (request, policy.recovery) {
        (Some(request), _) => Some(request.recovery.effect()),
        (None, Some(Recovery::SameKey)) => Some(EffectRecovery::SameKey { ttl: None }),
        (None, Some(Recovery::AtMostOnce)) => Some(EffectRecovery::AtMostOnce),
        (None, Some(Recovery::Repeatable)) => Some(EffectRecovery::Repeatable),
        (None, None) => None,
    }
}

fn verify(request: &Request) -> Option<VerifyFacts> {
    match &request.recovery {
        CallRecovery::Verify(verification) => Some(VerifyFacts {
            what: format!(
                "{} {} of {}",
                verification.method, verification.path, request.dependency.name
            ),
            plan: verification.plan.clone(),
        }),
        CallRecovery::SameKey { .. } | CallRecovery::AtMostOnce | CallRecovery::Repeatable => None,
    }
}

fn call(request: &Request) -> CallFacts {
    let dependency = &request.dependency;
    let (name, recovery) = (dependency.name.as_str(), request.recovery.effect());
    CallFacts {
        time_max: request.call_max,
        ..dependency.policy.call_facts(name, recovery)
    }
}

impl Dependency {
    /// What is known of the dependency.
    pub(crate) fn facts(&self) -> DependencyFacts {
        DependencyFacts {
            waivers: self.waivers.clone(),
            ..self.policy.facts(self.name.as_str())
        }
    }
}

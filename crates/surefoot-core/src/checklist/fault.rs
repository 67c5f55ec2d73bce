//! What is unanswered or contradictory about a kind, each with its remedy.

use std::time::Duration;

use super::question::{Answer, Question, answers};
use super::worst::horizon;
use super::{KindFacts, Waiver, written};
use crate::effect::{EffectRecovery, EffectTerms};
use crate::timeouts::TimeoutLadder;

/// Something that is unanswered or contradictory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which, to waive it by.
    pub name: FaultName,
    /// What is wrong, with its values.
    pub what: String,
    /// What to do.
    pub remedy: String,
    /// Why its author accepts it.
    pub waived: Option<String>,
}

macro_rules! fault_names {
    ($($(#[$doc:meta])* $name:ident = $word:literal,)*) => {
        /// The name of a fault, the same in configuration, code and output.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FaultName {
            $($(#[$doc])* $name,)*
        }

        impl FaultName {
            /// Every name.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }

            /// The fault with this name.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|name| name.as_str() == text)
            }
        }
    };
}

fault_names! {
    /// Nobody said what the kind does outside.
    NoSideEffect = "no_side_effect",
    /// Nobody said what an unknown outcome means.
    NoRecovery = "no_recovery",
    /// Waits are not spread.
    NoJitter = "no_jitter",
    /// Nobody is told of dead letters.
    NoAlert = "no_alert",
    /// Time limits that must lie around one another do not.
    TimeoutLadder = "timeout_ladder",
    /// Both the job and the call inside of it try again.
    RetryLayers = "retry_layers",
    /// The last try may come after the provider has forgotten the key.
    KeyRetention = "key_retention",
    /// Nothing may be sent again, and yet there are attempts to spare.
    AtMostOnceRetries = "at_most_once_retries",
    /// All waits together are longer than the deadline.
    BackoffDeadline = "backoff_deadline",
    /// What is declared about verification cannot work.
    Verification = "verification",
    /// A value that no job could run with.
    Policy = "policy",
    /// It may fail without a replacement, although nothing depends on it.
    NoFallback = "no_fallback",
    /// Nothing bounds how far retries multiply the calls of a dependency that is down.
    RetryBudget = "retry_budget",
    /// The breaker can never open.
    BreakerNever = "breaker_never",
    /// The breaker opens at the first failure.
    BreakerEager = "breaker_eager",
}

pub(super) fn of_kind(kind: &KindFacts) -> Vec<Fault> {
    let mut faults = unanswered(kind);
    faults.extend(ladder(kind));
    faults.extend(layers(kind));
    faults.extend(retention(kind));
    faults.extend(at_most_once(kind));
    faults.extend(deadline(kind));
    faults.extend(verification(kind));
    waived(faults, &kind.waivers)
}

/// The same faults, with the reasons of those that are waived.
pub(super) fn waived(mut faults: Vec<Fault>, waivers: &[Waiver]) -> Vec<Fault> {
    for fault in &mut faults {
        let waiver = waivers.iter().find(|waiver| waiver.fault == fault.name);
        fault.waived = waiver.map(|waiver| waiver.reason.clone());
    }
    faults
}

pub(super) fn fault(name: FaultName, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
    Fault {
        name,
        what: what.into(),
        remedy: remedy.into(),
        waived: None,
    }
}

fn unanswered(kind: &KindFacts) -> Vec<Fault> {
    let missing = answers(kind)
        .into_iter()
        .filter(|(_, answer)| *answer == Answer::Missing);
    missing
        .filter_map(|(question, _)| match question {
            Question::SideEffect => Some(fault(
                FaultName::NoSideEffect,
                "nobody said what it does outside",
                "say it: effect = \"takes the payment back\"",
            )),
            Question::Twice => Some(fault(
                FaultName::NoRecovery,
                "nobody said what an unknown outcome means",
                "declare recovery: verify, same_key, at_most_once or repeatable; there is no default",
            )),
            Question::Jitter => Some(fault(
                FaultName::NoJitter,
                "waits have no jitter, so jobs that fail together come back together",
                "set jitter, for example \"full\"",
            )),
            Question::Alert => Some(fault(
                FaultName::NoAlert,
                "nobody is told of dead letters",
                "say who: alert = \"pages the payments team\", and alert on surefoot_dead_letters",
            )),
            // It is the same question as what happens if it is done twice; the rest always has an answer.
            Question::Verification
            | Question::Key
            | Question::Constraint
            | Question::States
            | Question::Timeouts
            | Question::Retried
            | Question::NotRetried
            | Question::Attempts
            | Question::Backoff
            | Question::AfterTheLast
            | Question::DeadLetters
            | Question::Replay
            | Question::TimeoutMeans
            | Question::AttemptsLogged => None,
        })
        .collect()
}

fn ladder(kind: &KindFacts) -> Vec<Fault> {
    let policy = &kind.policy;
    let ladder = TimeoutLadder {
        connect: kind.call.as_ref().and_then(|call| call.connect),
        attempt: kind.call.as_ref().map(|call| call.attempt),
        job: policy.timeout,
        lease: policy.lease,
    };
    let split = |text: String| match text.split_once("; ") {
        Some((what, remedy)) => (what.to_owned(), remedy.to_owned()),
        None => (text, "change one of them".to_owned()),
    };
    let of_ladder = ladder.validate();
    let of_policy: Vec<String> = policy
        .validate()
        .into_iter()
        .filter(|fault| !of_ladder.contains(fault))
        .collect();
    let named = |name| {
        move |text: String| {
            let (what, remedy) = split(text);
            fault(name, what, remedy)
        }
    };
    of_ladder
        .into_iter()
        .map(named(FaultName::TimeoutLadder))
        .chain(of_policy.into_iter().map(named(FaultName::Policy)))
        .collect()
}

fn layers(kind: &KindFacts) -> Option<Fault> {
    let call = kind.call.as_ref()?;
    (call.tries_max > 1 && kind.policy.attempts_max > 1).then(|| {
        let product = call.tries_max.saturating_mul(kind.policy.attempts_max);
        fault(
            FaultName::RetryLayers,
            format!(
                "the job tries {} times and each attempt calls {} up to {} times: {product} calls for one intent",
                kind.policy.attempts_max, call.dependency, call.tries_max
            ),
            "let one layer try again: set the dependency's attempts to 1",
        )
    })
}

fn retention(kind: &KindFacts) -> Option<Fault> {
    let Some(EffectRecovery::SameKey { ttl: Some(ttl) }) = kind.recovery else {
        return None;
    };
    let horizon = horizon(kind);
    (horizon >= ttl).then(|| {
        fault(
            FaultName::KeyRetention,
            format!(
                "the last try may leave {} after the first, and the provider keeps keys for {}",
                written(horizon),
                written(ttl)
            ),
            "shorten the backoff, set a deadline below it, or declare verify",
        )
    })
}

fn at_most_once(kind: &KindFacts) -> Option<Fault> {
    (kind.recovery == Some(EffectRecovery::AtMostOnce) && kind.policy.attempts_max > 1).then(|| {
        fault(
            FaultName::AtMostOnceRetries,
            format!(
                "nothing is sent again after an unknown outcome, and yet it may be tried {} times",
                kind.policy.attempts_max
            ),
            "set attempts_max = 1, declare verify, or waive it: what was refused or never left is tried again",
        )
    })
}

fn deadline(kind: &KindFacts) -> Option<Fault> {
    let deadline = kind.policy.deadline?;
    let waits = (1..kind.policy.attempts_max)
        .map(|failures| kind.policy.backoff.longest(failures))
        .fold(Duration::ZERO, Duration::saturating_add);
    (waits >= deadline).then(|| {
        fault(
            FaultName::BackoffDeadline,
            format!(
                "all waits together may take {}, the deadline is {}: the last tries never run",
                written(waits),
                written(deadline)
            ),
            "raise the deadline, shorten the backoff, or lower attempts_max",
        )
    })
}

fn verification(kind: &KindFacts) -> Vec<Fault> {
    let Some(recovery) = kind.recovery else {
        return Vec::new();
    };
    let timeout = kind
        .call
        .as_ref()
        .map_or(kind.policy.timeout, |call| call.time_max);
    let mut texts = EffectTerms { recovery, timeout }.validate(kind.policy.lease);
    if let (EffectRecovery::Verify { settles_within }, Some(verify)) = (recovery, &kind.verify) {
        texts.extend(verify.plan.validate(settles_within));
    }
    texts
        .into_iter()
        .map(|text| {
            let (what, remedy) = text
                .rsplit_once("; ")
                .unwrap_or((&text, "change one of them"));
            fault(FaultName::Verification, what, remedy)
        })
        .collect()
}

//! The questions and their answers.

use super::{KindFacts, written};
use crate::backoff::{Backoff, Jitter};
use crate::effect::EffectRecovery;

/// What must be answered before a kind is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// What does it do outside?
    SideEffect,
    /// What if it is done twice?
    Twice,
    /// What makes it one intent?
    Key,
    /// What enforces that?
    Constraint,
    /// Which states can it be in?
    States,
    /// How long may each step take?
    Timeouts,
    /// Which errors are tried again?
    Retried,
    /// Which are not?
    NotRetried,
    /// How often at most?
    Attempts,
    /// How long is the wait in between?
    Backoff,
    /// Are waits spread?
    Jitter,
    /// What happens after the last try?
    AfterTheLast,
    /// Where do dead letters go?
    DeadLetters,
    /// Who is told?
    Alert,
    /// Can a person run it again?
    Replay,
    /// What does a time-out mean?
    TimeoutMeans,
    /// How is an unknown outcome found out?
    Verification,
    /// Is each attempt on record?
    AttemptsLogged,
}

impl Question {
    /// Every question.
    pub const ALL: [Self; 18] = [
        Self::SideEffect,
        Self::Twice,
        Self::Key,
        Self::Constraint,
        Self::States,
        Self::Timeouts,
        Self::Retried,
        Self::NotRetried,
        Self::Attempts,
        Self::Backoff,
        Self::Jitter,
        Self::AfterTheLast,
        Self::DeadLetters,
        Self::Alert,
        Self::Replay,
        Self::TimeoutMeans,
        Self::Verification,
        Self::AttemptsLogged,
    ];

    /// The question in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::SideEffect => "what does it do outside?",
            Self::Twice => "what if it is done twice?",
            Self::Key => "what makes it one intent?",
            Self::Constraint => "what enforces that?",
            Self::States => "which states can it be in?",
            Self::Timeouts => "how long may each step take?",
            Self::Retried => "which errors are tried again?",
            Self::NotRetried => "which errors are not?",
            Self::Attempts => "how often at most?",
            Self::Backoff => "how long is the wait in between?",
            Self::Jitter => "are waits spread?",
            Self::AfterTheLast => "what happens after the last try?",
            Self::DeadLetters => "where do dead letters go?",
            Self::Alert => "who is told?",
            Self::Replay => "can a person run it again?",
            Self::TimeoutMeans => "what does a time-out mean?",
            Self::Verification => "how is an unknown outcome found out?",
            Self::AttemptsLogged => "is each attempt on record?",
        }
    }
}

/// An answer, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The engine answers it for every kind.
    Engine(String),
    /// The configuration or the program answers it.
    Declared(String),
    /// Nobody did.
    Missing,
}

/// The answers for a kind, in the order of [`Question::ALL`].
#[must_use]
pub fn answers(kind: &KindFacts) -> Vec<(Question, Answer)> {
    Question::ALL
        .map(|question| (question, answer(kind, question)))
        .to_vec()
}

fn answer(kind: &KindFacts, question: Question) -> Answer {
    let engine = |text: &str| Answer::Engine(text.to_owned());
    let declared = |text: Option<String>| text.map_or(Answer::Missing, Answer::Declared);
    match question {
        Question::SideEffect => declared(kind.side_effect.clone()),
        Question::Twice => declared(kind.recovery.map(twice)),
        Question::Key => engine(
            "tenant, kind and the key that its caller gives; without a key each call is an intent of its own",
        ),
        Question::Constraint => engine(
            "a unique constraint on tenant, kind and key; another payload under a key is a conflict",
        ),
        Question::States => engine(
            "pending, running, retrying, verifying, succeeded, dead, cancelled, ignored; never backwards",
        ),
        Question::Timeouts => Answer::Declared(timeouts(kind)),
        Question::Retried => engine(
            "408, 425, 429, 502, 503, 504, resets, deadlocks, lost leases; after an unknown outcome only as declared",
        ),
        Question::NotRetried => engine(
            "400, 401, 403, 404, 409, 422, what cannot be decoded, what the handler calls permanent",
        ),
        Question::Attempts => Answer::Declared(format!(
            "{} failures, {} crashes",
            kind.policy.attempts_max, kind.policy.crashes_max
        )),
        Question::Backoff => Answer::Declared(backoff(&kind.policy.backoff)),
        Question::Jitter => declared(jitter(&kind.policy.backoff)),
        Question::AfterTheLast => {
            engine("it becomes a dead letter and waits for a person; it is never deleted unhandled")
        }
        Question::DeadLetters => {
            engine("with its attempts and effects under `surefoot dead` and GET /v1/dead")
        }
        Question::Alert => declared(kind.alert.clone()),
        Question::Replay => engine(
            "inspect, edit, replay, ignore; after an unknown outcome the replay says same or new effect",
        ),
        Question::TimeoutMeans => engine("nobody knows whether it happened"),
        Question::Verification => declared(kind.recovery.map(|recovery| found_out(kind, recovery))),
        Question::AttemptsLogged => engine("each start of a handler, also when its process died"),
    }
}

fn twice(recovery: EffectRecovery) -> String {
    match recovery {
        EffectRecovery::Step => "it does nothing outside",
        EffectRecovery::Verify { .. } => {
            "it must not be: the provider is asked before anything is sent again"
        }
        EffectRecovery::SameKey { .. } => {
            "the provider deduplicates by the key that the engine sends"
        }
        EffectRecovery::AtMostOnce => {
            "it must not be: nothing is sent again after an unknown outcome"
        }
        EffectRecovery::Repeatable => "it does no harm",
    }
    .to_owned()
}

fn found_out(kind: &KindFacts, recovery: EffectRecovery) -> String {
    match (recovery, &kind.verify) {
        (EffectRecovery::Verify { settles_within }, Some(verify)) => format!(
            "{}, at most {} times within {}; \"did not happen\" counts {} after the call left",
            verify.what,
            verify.plan.asks_max,
            written(verify.plan.give_up_after),
            written(settles_within)
        ),
        (EffectRecovery::Verify { settles_within }, None) => {
            format!(
                "the handler asks; \"did not happen\" counts {} after the call left",
                written(settles_within)
            )
        }
        (EffectRecovery::SameKey { ttl: Some(ttl) }, _) => {
            format!(
                "by a second call under the same key, within {}; later a person decides",
                written(ttl)
            )
        }
        (EffectRecovery::SameKey { ttl: None }, _) => {
            "by a second call under the same key".to_owned()
        }
        (EffectRecovery::AtMostOnce, _) => "a webhook or a person says so".to_owned(),
        (EffectRecovery::Step | EffectRecovery::Repeatable, _) => "it does not matter".to_owned(),
    }
}

fn timeouts(kind: &KindFacts) -> String {
    let policy = &kind.policy;
    let call = kind.call.as_ref().map_or_else(String::new, |call| {
        let connect = call.connect.map_or_else(String::new, |connect| {
            format!("connect {}, ", written(connect))
        });
        format!("{connect}call {}, ", written(call.attempt))
    });
    let deadline = policy.deadline.map_or_else(|| "none".to_owned(), written);
    format!(
        "{call}attempt {}, lease {}, total {deadline}",
        written(policy.timeout),
        written(policy.lease)
    )
}

fn backoff(backoff: &Backoff) -> String {
    match backoff {
        Backoff::List { delays, .. } => {
            let delays: Vec<String> = delays.iter().copied().map(written).collect();
            delays.join(", ")
        }
        Backoff::Exponential {
            base, factor, cap, ..
        } => {
            format!(
                "{}, then {factor} times longer each time, at most {}",
                written(*base),
                written(*cap)
            )
        }
    }
}

fn jitter(backoff: &Backoff) -> Option<String> {
    let (Backoff::List { jitter, .. } | Backoff::Exponential { jitter, .. }) = backoff;
    match jitter {
        Jitter::None => None,
        Jitter::Full => Some("full".to_owned()),
        Jitter::Equal => Some("equal".to_owned()),
        Jitter::Fraction(fraction) => Some(format!("{:.0} % to each side", fraction * 100.0)),
        Jitter::Decorrelated => Some("decorrelated".to_owned()),
    }
}

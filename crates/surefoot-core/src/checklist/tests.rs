//! A sound kind has no fault, and each way to be unsound has its own.

use std::time::Duration;

use super::*;
use crate::backoff::{Backoff, Jitter};
use crate::effect::{EffectRecovery, VerifyPlan};
use crate::policy::JobPolicy;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn sound() -> KindFacts {
    KindFacts {
        kind: "refund".to_owned(),
        side_effect: Some("POST /refunds".to_owned()),
        recovery: Some(EffectRecovery::Verify {
            settles_within: s(60),
        }),
        verify: Some(VerifyFacts {
            what: "GET /refunds/{key}".to_owned(),
            plan: VerifyPlan::default(),
        }),
        policy: JobPolicy::default(),
        call: Some(CallFacts {
            dependency: "psp".to_owned(),
            connect: Some(Duration::from_millis(250)),
            attempt: s(10),
            tries_max: 1,
            sends_max: 1,
            time_max: s(10),
        }),
        alert: Some("pages payments".to_owned()),
        waivers: Vec::new(),
    }
}

fn dependency() -> DependencyFacts {
    DependencyFacts {
        name: "psp".to_owned(),
        critical: true,
        fallback: None,
        breaker: Some(BreakerFacts {
            window: s(30),
            calls_min: 20,
            failure_ratio: 0.5,
            consecutive_failures: 10,
        }),
        retries: None,
        concurrency_max: 16,
        attempt: s(10),
        waivers: Vec::new(),
    }
}

const RETRIES: RetryFacts = RetryFacts {
    tries_max: 3,
    budgeted: true,
    spread: true,
};

fn names(faults: &[Fault]) -> Vec<&'static str> {
    faults.iter().map(|fault| fault.name.as_str()).collect()
}

#[test]
fn a_sound_kind_answers_every_question() {
    let review = review(&sound());
    assert_eq!(
        names(&review.faults),
        Vec::<&str>::new(),
        "{:?}",
        review.faults
    );
    assert_eq!(review.answers.len(), Question::ALL.len());
    assert!(
        review
            .answers
            .iter()
            .all(|(_, answer)| *answer != Answer::Missing)
    );
    assert_eq!(
        (review.worst.calls_max, review.worst.questions_max),
        (7, 140)
    );
    assert_eq!(names(&review_dependency(&dependency())), Vec::<&str>::new());
}

#[test]
fn each_fault_of_a_kind_is_found_by_itself() {
    type Change = fn(&mut KindFacts);
    let cases: [(&str, Change); 14] = [
        ("no_side_effect", |kind| kind.side_effect = None),
        ("no_recovery", |kind| kind.recovery = None),
        ("no_alert", |kind| kind.alert = None),
        ("no_jitter", |kind| {
            kind.policy.backoff = Backoff::List {
                delays: vec![s(10)],
                jitter: Jitter::None,
            };
        }),
        ("timeout_ladder", |kind| kind.policy.lease = s(30)),
        ("timeout_ladder", |kind| {
            kind.call.as_mut().unwrap().attempt = s(31);
        }),
        ("timeout_ladder", |kind| {
            kind.call.as_mut().unwrap().connect = Some(s(11));
        }),
        ("retry_layers", |kind| {
            kind.call.as_mut().unwrap().tries_max = 3
        }),
        ("key_retention", |kind| {
            kind.recovery = Some(EffectRecovery::SameKey { ttl: Some(s(600)) });
        }),
        ("at_most_once_retries", |kind| {
            kind.recovery = Some(EffectRecovery::AtMostOnce)
        }),
        ("backoff_deadline", |kind| {
            kind.policy.deadline = Some(s(300))
        }),
        ("verification", |kind| {
            kind.recovery = Some(EffectRecovery::Verify {
                settles_within: s(5),
            });
        }),
        ("verification", |kind| {
            kind.verify.as_mut().unwrap().plan.give_up_after = s(60);
        }),
        ("policy", |kind| kind.policy.attempts_max = 0),
    ];
    for (expected, change) in cases {
        let mut kind = sound();
        change(&mut kind);
        let faults = review(&kind).faults;
        assert_eq!(names(&faults), [expected], "{faults:?}");
        assert!(faults.iter().all(|fault| !fault.remedy.is_empty()));
    }
}

#[test]
fn each_fault_of_a_dependency_is_found_by_itself() {
    type Change = fn(&mut DependencyFacts);
    let cases: [(&str, Change); 7] = [
        ("no_fallback", |dependency| dependency.critical = false),
        ("breaker_never", |dependency| dependency.breaker = None),
        ("breaker_never", |dependency| {
            let breaker = dependency.breaker.as_mut().unwrap();
            (breaker.consecutive_failures, breaker.calls_min) = (0, 49);
        }),
        ("breaker_eager", |dependency| {
            dependency.breaker.as_mut().unwrap().consecutive_failures = 1
        }),
        ("breaker_eager", |dependency| {
            dependency.breaker.as_mut().unwrap().calls_min = 1
        }),
        ("retry_budget", |dependency| {
            dependency.retries = Some(RetryFacts {
                budgeted: false,
                ..RETRIES
            });
        }),
        ("no_jitter", |dependency| {
            dependency.retries = Some(RetryFacts {
                spread: false,
                ..RETRIES
            });
        }),
    ];
    for (expected, change) in cases {
        let mut dependency = dependency();
        change(&mut dependency);
        assert_eq!(names(&review_dependency(&dependency)), [expected]);
    }
    let mut enough = dependency();
    enough.retries = Some(RETRIES);
    let breaker = enough.breaker.as_mut().unwrap();
    // 16 calls at once of 10 s each are 48 in 30 s.
    (breaker.consecutive_failures, breaker.calls_min) = (0, 48);
    assert_eq!(names(&review_dependency(&enough)), Vec::<&str>::new());
}

#[test]
fn a_waiver_keeps_the_fault_and_says_why() {
    let mut kind = sound();
    kind.alert = None;
    kind.waivers = vec![Waiver {
        fault: FaultName::NoAlert,
        reason: "a batch job that is looked at each morning".to_owned(),
    }];
    let faults = review(&kind).faults;
    assert_eq!(names(&faults), ["no_alert"]);
    assert_eq!(
        faults[0].waived.as_deref(),
        Some("a batch job that is looked at each morning")
    );
}

#[test]
fn names_read_back() {
    for name in FaultName::ALL {
        assert_eq!(FaultName::parse(name.as_str()), Some(*name));
    }
    assert_eq!(FaultName::parse("nonsense"), None);
}

#[test]
fn what_cannot_be_sent_again_costs_no_call_after_a_crash() {
    let mut kind = sound();
    kind.recovery = Some(EffectRecovery::AtMostOnce);
    kind.verify = None;
    assert_eq!((worst(&kind).calls_max, worst(&kind).questions_max), (5, 0));
}

#[test]
fn second_copies_are_calls_and_no_layer_of_retries() {
    let mut kind = sound();
    kind.call.as_mut().unwrap().sends_max = 2;
    let review = review(&kind);
    assert_eq!(names(&review.faults), Vec::<&str>::new());
    assert_eq!(review.worst.calls_max, 14);
}

#[test]
fn the_longest_time_adds_up() {
    let policy = JobPolicy {
        attempts_max: 3,
        crashes_max: 2,
        backoff: Backoff::List {
            delays: vec![s(10), s(20)],
            jitter: Jitter::None,
        },
        ..JobPolicy::with_timeout(s(30))
    };
    // 30 + 10 + 30 + 20 for two failures, 40 + 30 + 10 for a crash, 40 + 30 for the last attempt if it is lost.
    assert_eq!(time_max(&policy), s(240));
    let limited = JobPolicy {
        deadline: Some(s(60)),
        ..policy
    };
    assert_eq!(time_max(&limited), s(100));
}

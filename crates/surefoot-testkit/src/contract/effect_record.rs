//! What is on record of an effect is what was written, whatever the core made of it.

use std::slice::from_ref;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::effect::{
    Asked, Begin, Cost, DISPUTES_MAX, Declared, Dispute, Effect, EffectRecovery, EffectState,
    EffectTerms, Verdict, VerifyPlan, Witness, Witnessed, asked, begin, permitted, remembered,
    witnessed,
};
use surefoot_core::id::{Actor, DependencyName, EffectName, Epoch};
use surefoot_core::payload::{PAYLOAD_BYTES_MAX, Payload};
use surefoot_core::port::{By, EffectWritten, Store};
use surefoot_core::text::ErrorText;
use surefoot_core::time::{Roll, Timestamp};

use super::fixture::effect::{
    declared, effects, free, held, intended, unknown, write, write_all, wrote,
};
use super::fixture::{START, at, by, payload, running};

fn caller(name: &str) -> Witness {
    Witness::Caller(Actor::new(name).expect("an actor"))
}

/// Who may be a witness, a name and a reason of any script among them.
fn witnesses() -> Vec<Witness> {
    let person = By {
        actor: Actor::new("Nguyễn Thị Ánh 'x\"; --").expect("an actor"),
        reason: ErrorText::from("đã gọi ngân hàng\n確認済み \u{1f600} {\"a\":\"\\u0000\"}"),
    };
    vec![
        Witness::Answer,
        Witness::Query,
        caller("webhook"),
        caller("حساب"),
        Witness::Person(by("")),
        Witness::Person(person),
    ]
}

/// Errors in several scripts, empty, with what databases trip over, and as long as one may be.
fn errors() -> Vec<ErrorText> {
    vec![
        ErrorText::from(""),
        ErrorText::from("a\0b"),
        ErrorText::from("Hết thời gian chờ; タイムアウト; انتهت المهلة; время вышло"),
        ErrorText::from("'; drop table effects; -- \\x00 \\u0000 \\ $1 ?1 %s {} \"\""),
        ErrorText::from("\u{10ffff}\u{202e}\u{feff}\u{1f600}\r\n\t"),
        ErrorText::from("é".repeat(64 * 1024)),
    ]
}

/// Results, each to be kept byte for byte.
fn results() -> Vec<Payload> {
    let large = format!("\"{}\"", "x".repeat(PAYLOAD_BYTES_MAX - 2));
    let texts = [
        "null",
        " [ ] ",
        "9223372036854775807",
        "18446744073709551616",
        "-0.0",
        "1e400",
        r#""\u0000""#,
        r#"{"\u0000":"a\u0000b\ud800"}"#,
        "\"\u{fffd}\u{10ffff} tab\\t\"",
        r#"{"b":9007199254740993,"a":{"z":1,"y":2},"\u0062b":1}"#,
        large.as_str(),
    ];
    texts.into_iter().map(payload).collect()
}

/// Every state, with each of the witnesses, errors and results, and with times at both ends.
fn states() -> Vec<EffectState> {
    let mut states = Vec::new();
    for epoch in [Epoch(1), Epoch(i64::MAX)] {
        states.push(EffectState::Intended { epoch, at: at(1) });
    }
    for by in witnesses() {
        let result = payload(r#"{"refund":1}"#);
        states.push(EffectState::Confirmed {
            at: at(2),
            result,
            by: by.clone(),
        });
        states.push(EffectState::Absent {
            at: Timestamp::MAX,
            by,
        });
    }
    for result in results() {
        let by = Witness::Query;
        states.push(EffectState::Confirmed {
            at: Timestamp::MIN,
            result,
            by,
        });
    }
    for error in errors() {
        states.push(EffectState::Rejected {
            at: at(3),
            error: error.clone(),
        });
        states.push(EffectState::Unknown {
            since: at(4),
            ask_at: at(5),
            error: error.clone(),
        });
        states.push(EffectState::NeedsHuman {
            since: at(6),
            error,
        });
    }
    states.push(EffectState::Unknown {
        since: Timestamp::MIN,
        ask_at: Timestamp::MAX,
        error: "for ever".into(),
    });
    states
}

fn terms() -> Vec<EffectTerms> {
    let of = |recovery, timeout| EffectTerms { recovery, timeout };
    let second = Duration::from_secs(1);
    let long = Duration::from_secs(10 * 365 * 86_400) + Duration::from_micros(1);
    vec![
        of(EffectRecovery::Step, Duration::ZERO),
        of(
            EffectRecovery::Verify {
                settles_within: long,
            },
            second,
        ),
        of(
            EffectRecovery::Verify {
                settles_within: Duration::ZERO,
            },
            Duration::from_micros(1_000_001),
        ),
        of(EffectRecovery::SameKey { ttl: None }, long),
        of(EffectRecovery::SameKey { ttl: Some(long) }, second),
        of(
            EffectRecovery::SameKey {
                ttl: Some(Duration::ZERO),
            },
            second,
        ),
        of(EffectRecovery::AtMostOnce, Duration::from_millis(1)),
        of(EffectRecovery::Repeatable, Duration::from_micros(1)),
    ]
}

/// Variants of one effect that differ from it in one field each.
fn variants(effect: &Effect) -> Vec<Effect> {
    let base = || effect.clone();
    let mut variants: Vec<Effect> = states()
        .into_iter()
        .map(|state| Effect { state, ..base() })
        .collect();
    variants.extend(terms().into_iter().map(|terms| Effect { terms, ..base() }));
    for cost in costs() {
        variants.push(Effect { cost, ..base() });
    }
    for (first_sent_at, leaves_by) in [
        (None, None),
        (Some(Timestamp::MIN), None),
        (None, Some(Timestamp::MAX)),
        (Some(at(1)), Some(at(2))),
    ] {
        variants.push(Effect {
            first_sent_at,
            leaves_by,
            ..base()
        });
    }
    for number in [0, 1, i32::MAX.unsigned_abs() + 1, u32::MAX] {
        variants.push(Effect {
            generation: number,
            ..base()
        });
        variants.push(Effect {
            sends: number,
            ..base()
        });
        variants.push(Effect {
            asked: number,
            ..base()
        });
    }
    for in_doubt in [false, true] {
        variants.push(Effect { in_doubt, ..base() });
    }
    let longest = "a/B_9.:-".repeat(16);
    variants.push(Effect {
        name: EffectName::new(longest.clone()).expect("an effect name"),
        dependency: Some(DependencyName::new(longest).expect("a dependency")),
        ..base()
    });
    variants.push(Effect {
        disputes: disputes(),
        ..base()
    });
    variants
}

fn costs() -> Vec<Cost> {
    let numbers = [0, 1, i64::MAX.unsigned_abs(), u64::MAX];
    numbers
        .iter()
        .flat_map(|reserved| {
            let settled = [None, Some(0), Some(u64::MAX - reserved)];
            settled.map(|settled| Cost {
                reserved: *reserved,
                settled,
                earlier: u64::MAX - reserved,
            })
        })
        .collect()
}

/// As many disputes as one effect keeps, by every witness.
fn disputes() -> Vec<Dispute> {
    let all = witnesses()
        .into_iter()
        .cycle()
        .zip(errors().into_iter().cycle());
    let disputes = all.enumerate().map(|(number, (by, said))| Dispute {
        at: at(number as u64),
        by,
        said,
    });
    disputes.take(DISPUTES_MAX).collect()
}

pub async fn every_field_is_kept(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let mut all = variants(&intended(&leased, 0));
    for (place, effect) in (0..).zip(&mut all) {
        effect.place = place;
    }
    let writes: Vec<_> = all.iter().cloned().map(free).collect();
    let answers = write_all(&*store, &writes).await;
    assert_eq!(answers, vec![EffectWritten::Applied; all.len()]);
    same(&effects(&*store, leased.id).await, &all);
    let answers = write_all(&*store, &writes).await;
    assert_eq!(
        answers,
        vec![EffectWritten::Already; all.len()],
        "a repeated write is told from another one by every field"
    );
}

pub async fn every_field_is_kept_by_a_change(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let first = intended(&leased, 0);
    wrote(&*store, &held(&leased, first.clone())).await;
    let mut version = first.version;
    for mut effect in variants(&first) {
        version += 1;
        effect.version = version;
        wrote(&*store, &free(effect.clone())).await;
        same(&effects(&*store, leased.id).await, from_ref(&effect));
        let other = Effect {
            asked: effect.asked ^ 1,
            ..effect.clone()
        };
        let told = write(&*store, &free(other)).await;
        assert!(
            told == EffectWritten::Changed(Some(Box::new(effect.clone()))),
            "who comes second is told all of it: {}",
            brief(&effect)
        );
    }
}

/// Compares without printing megabytes.
fn same(found: &[Effect], expected: &[Effect]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            found == expected,
            "honest-unknown: it reads back as it was written\nwritten: {}\n   read: {}",
            brief(expected),
            brief(found)
        );
    }
}

fn brief(effect: &Effect) -> String {
    format!("{effect:?}").chars().take(1_500).collect()
}

pub async fn the_whole_way_of_an_effect_is_kept(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let mut way = vec![intended(&leased, 0)];
    let mut step = |effect: Effect| {
        way.push(effect.clone());
        effect
    };
    let timed_out = step(unknown(&intended(&leased, 0), at(10)));
    let still = Verdict::StillUnknown { ask_again_in: None };
    let (asked_once, follows) = asked(&timed_out, still, &plan(), at(30), at(30), Roll(0));
    assert!(matches!(follows, Asked::AskAt(..)), "{follows:?}");
    let asked_once = step(asked_once);
    let needs = Verdict::NeedsHuman("two refunds of this amount".into());
    let (person, _) = asked(&asked_once, needs, &plan(), at(60), at(60), Roll(0));
    let person = step(person);
    let allowed = permitted(&person, by("checked with the bank"), at(100)).expect("allowed");
    let allowed = step(allowed);
    let Begin::Ask(again) = begin(Some(&allowed), &declared(0), &leased, at(130), at(110)) else {
        panic!("it is asked about first");
    };
    let absent = Verdict::DidNotHappen;
    let (absent, _) = asked(&again, absent, &plan(), at(1_000), at(1_000), Roll(0));
    let absent = step(absent);
    let happened = Verdict::Happened {
        result: payload("1"),
        cost: Some(u64::MAX),
    };
    let Witnessed::Disputed(disputed) = witnessed(&absent, &happened, caller("hook"), at(1_001))
    else {
        panic!("it is a dispute");
    };
    let disputed = step(*disputed);
    let Witnessed::Settled(done) = witnessed(&disputed, &happened, caller("hook"), at(1_002))
    else {
        panic!("it is settled");
    };
    step(*done);
    for effect in &way {
        wrote(&*store, &held(&leased, effect.clone())).await;
        assert_eq!(effects(&*store, leased.id).await, from_ref(effect));
    }
    assert_eq!(way.len(), 8);
}

fn plan() -> VerifyPlan {
    VerifyPlan {
        backoff: Backoff::List {
            delays: vec![Duration::from_secs(5)],
            jitter: Jitter::None,
        },
        ..VerifyPlan::default()
    }
}

pub async fn a_step_is_remembered(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let step = Declared {
        terms: EffectTerms {
            recovery: EffectRecovery::Step,
            timeout: Duration::ZERO,
        },
        ..declared(0)
    };
    let written = remembered(&step, &leased, payload("[1, 2]"), at(1));
    wrote(&*store, &held(&leased, written.clone())).await;
    let known = effects(&*store, leased.id).await;
    assert_eq!(known, [written]);
    let next = begin(known.first(), &step, &leased, at(40), at(2));
    assert_eq!(
        next,
        Begin::Return(payload("[1, 2]")),
        "it is not computed again"
    );
}

//! Every shape of an effect, there and back, and what a document that is broken says.

use std::time::Duration;

use surefoot_core::effect::{
    Cost, Dispute, Effect, EffectRecovery, EffectState, EffectTerms, Witness,
};
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::payload::Payload;
use surefoot_core::port::By;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::{decode, encode};

const AT: Timestamp = Timestamp::from_micros(1_772_366_400_000_001);

fn job() -> JobId {
    JobId::new(AT, [7; 10])
}

fn person() -> Witness {
    Witness::Person(By {
        actor: "Lê \"Thị\" ' \\".parse().unwrap(),
        reason: "saw it\n\tin the \u{fffd} ledger \u{10ffff} \u{2028}".into(),
    })
}

fn effect(state: EffectState) -> Effect {
    Effect {
        job: job(),
        place: 3,
        name: "psp.refund".parse().unwrap(),
        dependency: Some("psp".parse().unwrap()),
        generation: 2,
        terms: EffectTerms {
            recovery: EffectRecovery::Verify {
                settles_within: Duration::from_secs(60),
            },
            timeout: Duration::from_secs(20),
        },
        version: 5,
        sends: 2,
        first_sent_at: Some(AT),
        leaves_by: Some(AT),
        in_doubt: true,
        asked: 4,
        cost: Cost {
            reserved: 1_500_000,
            settled: None,
            earlier: 0,
        },
        state,
        disputes: vec![Dispute {
            at: AT,
            by: Witness::Caller("hook".parse().unwrap()),
            said: "did_not_happen".into(),
        }],
    }
}

fn confirmed(result: &str, by: Witness) -> EffectState {
    EffectState::Confirmed {
        at: AT,
        result: Payload::parse(result).unwrap(),
        by,
    }
}

fn same(effect: &Effect) {
    let text = encode(effect).unwrap();
    assert_eq!(
        decode(effect.job, effect.place, &text).unwrap(),
        *effect,
        "{text}"
    );
}

/// What is on disk stays readable only while this document is what is written.
#[test]
fn a_document_looks_like_this() {
    let text = encode(&effect(confirmed(r#"{ "id" : 1.0 }"#, Witness::Query))).unwrap();
    assert_eq!(
        text,
        r#"{"format":1,"name":"psp.refund","dependency":"psp","generation":2,"terms":{"unknown":{"verify":{"settles_within":{"secs":60,"nanos":0}}},"timeout":{"secs":20,"nanos":0}},"version":5,"sends":2,"first_sent_at":1772366400000001,"leaves_by":1772366400000001,"in_doubt":true,"asked":4,"cost":{"reserved":1500000},"state":{"confirmed":{"at":1772366400000001,"result":"{ \"id\" : 1.0 }","by":"query"}},"disputes":[{"at":1772366400000001,"by":{"caller":{"actor":"hook"}},"said":"did_not_happen"}]}"#
    );
}

#[test]
fn every_state_and_witness_reads_back() {
    let error = ErrorText::from("HTTP 503 \"x\" \\ \0 \u{7f} ạ\n\t");
    let witnesses = [
        Witness::Answer,
        Witness::Query,
        Witness::Caller("hook".parse().unwrap()),
        person(),
    ];
    let mut states = vec![
        EffectState::Intended {
            epoch: Epoch(i64::MAX),
            at: AT,
        },
        EffectState::Rejected {
            at: AT,
            error: error.clone(),
        },
        EffectState::Unknown {
            since: Timestamp::MIN,
            ask_at: Timestamp::MAX,
            error: error.clone(),
        },
        EffectState::NeedsHuman { since: AT, error },
    ];
    for by in witnesses {
        states.push(confirmed("null", by.clone()));
        states.push(EffectState::Absent { at: AT, by });
    }
    for state in states {
        let mut effect = effect(state);
        same(&effect);
        effect.disputes.push(Dispute {
            at: Timestamp::MAX,
            by: person(),
            said: "y".repeat(1_000_000).into(),
        });
        effect.dependency = None;
        effect.first_sent_at = None;
        effect.leaves_by = None;
        effect.in_doubt = false;
        same(&effect);
        effect.disputes.clear();
        same(&effect);
    }
}

#[test]
fn results_keep_every_byte() {
    let large = format!("\"{}\"", "\\\"".repeat(500_000));
    for result in [
        "null",
        " { \"b\" : 9007199254740993, \"a\" : 1.0 } ",
        r#""\ud800 \u0000 \u0041""#,
        "\"ạ\u{2028}\u{10ffff}\"",
        "1e400",
        "-0",
        &large,
    ] {
        same(&effect(confirmed(result, Witness::Answer)));
    }
}

#[test]
fn numbers_keep_every_digit() {
    let odd = Duration::new(u64::MAX, 999_999_999);
    for recovery in [
        EffectRecovery::Step,
        EffectRecovery::Verify {
            settles_within: odd,
        },
        EffectRecovery::SameKey { ttl: None },
        EffectRecovery::SameKey { ttl: Some(odd) },
        EffectRecovery::AtMostOnce,
        EffectRecovery::Repeatable,
    ] {
        for (reserved, settled, earlier) in [
            (0, None, 0),
            (u64::MAX, Some(u64::MAX - 1), 1),
            (9_007_199_254_740_993, Some(0), u64::MAX),
        ] {
            same(&Effect {
                terms: EffectTerms {
                    recovery,
                    timeout: Duration::from_nanos(1),
                },
                cost: Cost {
                    reserved,
                    settled,
                    earlier,
                },
                generation: u32::MAX,
                version: u32::MAX,
                sends: u32::MAX,
                asked: u32::MAX,
                ..effect(confirmed("null", Witness::Answer))
            });
        }
    }
}

#[test]
fn what_does_not_read_back_says_where_it_is() {
    let text = encode(&effect(confirmed("null", Witness::Answer))).unwrap();
    let table = [
        ("nothing", String::new(), "EOF while parsing a value"),
        (
            "a later format",
            text.replace("\"format\":1", "\"format\":2"),
            "it has format 2, this build reads 1",
        ),
        (
            "a later format of another shape",
            r#"{"format":2,"shape":"other"}"#.to_owned(),
            "it has format 2, this build reads 1",
        ),
        (
            "a field of nobody's",
            text.replace("\"asked\":4", "\"asked\":4,\"more\":1"),
            "unknown field `more`",
        ),
        (
            "no version",
            text.replace("\"version\":5,", ""),
            "missing field `version`",
        ),
        (
            "an unknown state",
            text.replace("\"confirmed\":", "\"lost\":"),
            "unknown variant `lost`",
        ),
        (
            "an empty name",
            text.replace("\"name\":\"psp.refund\"", "\"name\":\"\""),
            "effect is empty",
        ),
        (
            "a time before all times",
            text.replace("\"leaves_by\":", "\"leaves_by\":-"),
            "-1772366400000001 microseconds since 1970 is no time that is kept",
        ),
    ];
    for (what, broken, expected) in table {
        assert_ne!(broken, text, "{what}");
        let said = decode(job(), 3, &broken).unwrap_err().to_string();
        let place = format!(
            "broken invariant: the document of effect 3 of job {}: ",
            job()
        );
        assert!(
            said.starts_with(&place) && said.contains(expected),
            "{what}: {said}"
        );
    }
}

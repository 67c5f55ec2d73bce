//! What may be done about an effect, for each thing that can be known of it.

use std::time::Duration;

use super::*;
use crate::backoff::{Backoff, Jitter};
use crate::id::{Kind, Queue, Tenant, Worker};
use crate::job::{Counts, Job, LeasedJob, Run};
use crate::time::Roll;

const T0: Timestamp = Timestamp::from_micros(1_000_000_000);
const TIMEOUT: Duration = Duration::from_secs(10);
const SETTLES: Duration = Duration::from_secs(60);

fn at(seconds: u64) -> Timestamp {
    T0.after(Duration::from_secs(seconds))
}

fn job(epoch: i64) -> LeasedJob {
    Job {
        id: JobId::new(T0, [1; 10]),
        tenant: Tenant::single(),
        kind: Kind::new("refund").unwrap(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        revision: 0,
        generation: 1,
        trace: None,
        enqueued_at: T0,
        deadline_at: None,
        counts: Counts::default(),
        state: Run {
            epoch: Epoch(epoch),
            worker: Worker::new("w").unwrap(),
            started_at: T0,
            lease_until: at(40),
            recovery: None,
            cancel_requested: false,
        },
    }
}

fn declared(recovery: EffectRecovery) -> Declared {
    Declared {
        place: 0,
        name: EffectName::new("psp.refund").unwrap(),
        dependency: None,
        terms: EffectTerms {
            recovery,
            timeout: TIMEOUT,
        },
        cost: 7,
    }
}

fn verify() -> Declared {
    declared(EffectRecovery::Verify {
        settles_within: SETTLES,
    })
}

fn plan() -> VerifyPlan {
    VerifyPlan {
        backoff: Backoff::List {
            delays: vec![Duration::from_secs(5)],
            jitter: Jitter::None,
        },
        asks_max: 3,
        give_up_after: Duration::from_secs(600),
    }
}

/// The effect that was sent at T0 and may leave until 30 s later.
fn sent(declared: &Declared) -> Effect {
    match begin(None, declared, &job(1), at(30), T0) {
        Begin::Send(effect) => *effect,
        other => panic!("{other:?}"),
    }
}

fn result() -> Payload {
    Payload::parse(r#"{"refund":1}"#).unwrap()
}

fn word(begin: &Begin) -> String {
    match begin {
        Begin::Send(effect) => format!("send {}", effect.sends),
        Begin::Return(_) => "return".to_owned(),
        Begin::Ask(_) => "ask".to_owned(),
        Begin::AskAt(at, _) => format!("ask at {:?}", at.since(T0)),
        Begin::Person(_) => "person".to_owned(),
        Begin::Changed(name) => format!("changed {name}"),
    }
}

#[test]
fn a_call_that_was_lost_on_its_way_is_treated_as_its_author_said() {
    let ttl = Some(Duration::from_secs(100));
    let cases = [
        (
            EffectRecovery::Verify {
                settles_within: SETTLES,
            },
            35,
            "ask at 41s",
        ),
        (
            EffectRecovery::Verify {
                settles_within: SETTLES,
            },
            41,
            "ask",
        ),
        (EffectRecovery::SameKey { ttl }, 50, "send 2"),
        (EffectRecovery::SameKey { ttl }, 59, "send 2"),
        // It may leave until 90 s and arrive 10 s later, when the provider has forgotten the key.
        (EffectRecovery::SameKey { ttl }, 60, "person"),
        (EffectRecovery::SameKey { ttl }, 70, "person"),
        (EffectRecovery::SameKey { ttl: None }, 70, "send 2"),
        (EffectRecovery::AtMostOnce, 50, "person"),
        (EffectRecovery::Repeatable, 50, "send 2"),
        (EffectRecovery::Step, 50, "send 2"),
    ];
    for (recovery, seconds, expected) in cases {
        let declared = declared(recovery);
        let next = begin(
            Some(&sent(&declared)),
            &declared,
            &job(2),
            at(seconds + 30),
            at(seconds),
        );
        assert_eq!(word(&next), expected, "{recovery:?} after {seconds} s");
    }
}

#[test]
fn a_confirmed_effect_is_never_called_again_also_as_a_new_one() {
    let answer = Answer::Applied {
        result: result(),
        cost: Some(5),
    };
    let effect = answered(&sent(&verify()), answer, Some(at(1)), at(2));
    assert_eq!(effect.cost.booked(), 5);
    let mut again = job(2);
    again.generation = 2;
    for job in [job(2), again] {
        assert_eq!(
            begin(Some(&effect), &verify(), &job, at(90), at(60)),
            Begin::Return(result())
        );
    }
}

#[test]
fn another_effect_at_its_place_stops_the_job() {
    let mut other = verify();
    other.name = EffectName::new("psp.charge").unwrap();
    let next = begin(Some(&sent(&verify())), &other, &job(2), at(90), at(60));
    assert_eq!(word(&next), "changed psp.refund");
}

#[test]
fn a_new_effect_has_a_new_key_and_a_new_retention() {
    let declared = declared(EffectRecovery::SameKey {
        ttl: Some(Duration::from_secs(100)),
    });
    let old = answered(
        &sent(&declared),
        Answer::MaybeApplied("time-out".into()),
        Some(T0),
        at(10),
    );
    let mut replayed = job(2);
    replayed.generation = 2;
    let Begin::Send(new) = begin(Some(&old), &declared, &replayed, at(530), at(500)) else {
        panic!("a new effect is sent");
    };
    assert_ne!(new.key(), old.key());
    assert_eq!(
        (new.sends, new.first_sent_at, new.version),
        (1, Some(at(500)), old.version + 1)
    );
}

#[test]
fn a_refusal_after_a_doubtful_call_says_nothing_about_the_first_one() {
    let declared = declared(EffectRecovery::SameKey { ttl: None });
    let doubtful = answered(
        &sent(&declared),
        Answer::MaybeApplied("reset".into()),
        Some(T0),
        at(10),
    );
    for answer in [
        Answer::Rejected("400".into()),
        Answer::NotSent("breaker".into()),
    ] {
        let Begin::Send(second) = begin(Some(&doubtful), &declared, &job(2), at(90), at(60)) else {
            panic!("the same key is sent again");
        };
        let after = answered(&second, answer, None, at(61));
        assert!(after.is_open(), "{after:?}");
        assert_eq!(after.cost.booked(), 7);
    }
    let refused = answered(
        &sent(&declared),
        Answer::Rejected("400".into()),
        Some(T0),
        at(10),
    );
    assert!(!refused.is_open());
    assert_eq!(refused.cost.booked(), 0);
}

#[test]
fn a_call_that_never_left_does_not_count() {
    let effect = answered(
        &sent(&verify()),
        Answer::NotSent("no connection".into()),
        None,
        at(1),
    );
    assert_eq!(
        (effect.sends, effect.first_sent_at, effect.cost.booked()),
        (0, None, 0)
    );
    let next = begin(Some(&effect), &verify(), &job(2), at(90), at(60));
    assert_eq!(word(&next), "send 1");
}

#[test]
fn did_not_happen_counts_only_when_the_call_can_have_no_effect_any_more() {
    let unknown = answered(
        &sent(&verify()),
        Answer::MaybeApplied("time-out".into()),
        Some(at(2)),
        at(12),
    );
    let (early, follows) = asked(
        &unknown,
        Verdict::DidNotHappen,
        &plan(),
        at(20),
        at(20),
        Roll(0),
    );
    assert!(early.is_open());
    assert!(
        matches!(follows, Asked::AskAt(when, _) if when == at(62)),
        "{follows:?}"
    );
    let (absent, follows) = asked(
        &early,
        Verdict::DidNotHappen,
        &plan(),
        at(62),
        at(62),
        Roll(0),
    );
    assert_eq!(follows, Asked::Send);
    assert_eq!(absent.cost.booked(), 0);
    assert_eq!(
        word(&begin(Some(&absent), &verify(), &job(2), at(99), at(63))),
        "send 2"
    );
}

#[test]
fn an_earlier_holder_that_was_never_heard_of_may_still_send() {
    let declared = declared(EffectRecovery::SameKey { ttl: None });
    let Begin::Send(second) = begin(Some(&sent(&declared)), &declared, &job(2), at(50), at(20))
    else {
        panic!("the same key is sent again");
    };
    let answer = Answer::MaybeApplied("x".into());
    let unknown = answered(&second, answer, Some(at(20)), at(25));
    assert_eq!(
        unknown.settles_at(),
        at(50).after(TIMEOUT),
        "the first holder may send until 30 s"
    );
}

#[test]
fn happened_counts_at_any_time() {
    let unknown = answered(
        &sent(&verify()),
        Answer::MaybeApplied("time-out".into()),
        Some(at(2)),
        at(12),
    );
    let happened = Verdict::Happened {
        result: result(),
        cost: None,
    };
    let (effect, follows) = asked(&unknown, happened, &plan(), at(13), at(13), Roll(0));
    assert_eq!(follows, Asked::Return(result()));
    assert_eq!(effect.cost.booked(), 7, "what timed out is not free");
}

#[test]
fn what_is_repeated_is_paid_for_each_time() {
    let cases = [
        (declared(EffectRecovery::Repeatable), 7 + 5),
        (declared(EffectRecovery::SameKey { ttl: None }), 5),
    ];
    for (declared, booked) in cases {
        let silent = Answer::MaybeApplied("time-out".into());
        let timed_out = answered(&sent(&declared), silent, Some(at(2)), at(12));
        assert_eq!(timed_out.cost.booked(), 7);
        let Begin::Send(second) = begin(Some(&timed_out), &declared, &job(2), at(25), at(20))
        else {
            panic!("it is sent again");
        };
        let applied = Answer::Applied {
            result: result(),
            cost: Some(5),
        };
        let confirmed = answered(&second, applied, Some(at(20)), at(22));
        assert_eq!(confirmed.cost.booked(), booked, "{declared:?}");
        let refused = answered(&second, Answer::Rejected("no".into()), Some(at(20)), at(22));
        assert_eq!(refused.cost.booked(), 7, "{declared:?}");
    }
}

#[test]
fn questions_are_bounded_in_number_and_in_time() {
    let still = |ask_again_in| Verdict::StillUnknown { ask_again_in };
    let mut effect = answered(
        &sent(&verify()),
        Answer::MaybeApplied("x".into()),
        Some(T0),
        at(12),
    );
    let mut follows = Vec::new();
    for second in [12, 20, 30] {
        let (next, follow) = asked(
            &effect,
            still(None),
            &plan(),
            at(second),
            at(second),
            Roll(0),
        );
        follows.push(matches!(follow, Asked::Person(_)));
        effect = next;
    }
    assert_eq!(follows, [false, false, true]);
    assert_eq!(effect.state.as_str(), "needs_human");
    assert_eq!(
        word(&begin(Some(&effect), &verify(), &job(3), at(99), at(50))),
        "person"
    );

    let fresh = answered(
        &sent(&verify()),
        Answer::MaybeApplied("x".into()),
        Some(T0),
        at(12),
    );
    let (_, follow) = asked(
        &fresh,
        still(Some(Duration::from_secs(601))),
        &plan(),
        at(13),
        at(13),
        Roll(0),
    );
    assert!(
        matches!(follow, Asked::Person(_)),
        "asking again would be after the plan gives up"
    );
}

#[test]
fn the_first_witness_counts_and_a_later_one_is_a_dispute() {
    let by = || Witness::Caller(Actor::new("webhook").unwrap());
    let happened = Verdict::Happened {
        result: result(),
        cost: None,
    };
    let sent = sent(&verify());
    let Witnessed::Settled(confirmed) = witnessed(&sent, &happened, by(), at(5)) else {
        panic!("a witness counts while the call is on its way");
    };
    assert_eq!(
        witnessed(&confirmed, &happened, by(), at(6)),
        Witnessed::Same
    );
    let Witnessed::Disputed(disputed) = witnessed(&confirmed, &Verdict::DidNotHappen, by(), at(99))
    else {
        panic!("the other word is a dispute");
    };
    assert_eq!(
        (disputed.state.as_str(), disputed.disputes.len()),
        ("confirmed", 1)
    );
    assert_eq!(
        witnessed(&sent, &Verdict::DidNotHappen, by(), at(50)),
        Witnessed::TooEarly(at(90))
    );
    let Witnessed::Settled(absent) = witnessed(&sent, &Verdict::DidNotHappen, by(), at(90)) else {
        panic!("by then nothing is on its way");
    };
    let Witnessed::Disputed(disputed) = witnessed(&absent, &happened, by(), at(91)) else {
        panic!("the other word is a dispute");
    };
    assert_eq!(
        disputed.state.as_str(),
        "needs_human",
        "it is not sent on a disputed word"
    );
}

#[test]
fn a_witness_need_not_wait_for_the_next_question() {
    let by = || Witness::Caller(Actor::new("webhook").unwrap());
    let unknown = answered(
        &sent(&verify()),
        Answer::MaybeApplied("x".into()),
        Some(at(2)),
        at(12),
    );
    let still = Verdict::StillUnknown {
        ask_again_in: Some(Duration::from_secs(500)),
    };
    let (asked, _) = asked(&unknown, still, &plan(), at(13), at(13), Roll(0));
    let word = |seconds| witnessed(&asked, &Verdict::DidNotHappen, by(), at(seconds));
    assert_eq!(word(61), Witnessed::TooEarly(at(62)));
    assert!(matches!(word(62), Witnessed::Settled(_)), "{:?}", word(62));
}

#[test]
fn not_found_says_nothing_about_what_came_after_the_question() {
    let answer = Answer::MaybeApplied("time-out".into());
    let unknown = answered(&sent(&verify()), answer, Some(at(2)), at(12));
    let no = || Verdict::DidNotHappen;
    let (still, _) = asked(&unknown, no(), &plan(), at(61), at(70), Roll(0));
    assert!(
        still.is_open(),
        "asked before it could have no effect any more"
    );
    let (absent, _) = asked(&unknown, no(), &plan(), at(62), at(70), Roll(0));
    assert!(!absent.is_open());
}

#[test]
fn an_order_to_go_on_says_nothing_about_what_happened() {
    let by = || By {
        actor: Actor::new("ann").unwrap(),
        reason: "checked with the bank".into(),
    };
    let once = declared(EffectRecovery::AtMostOnce);
    let doubtful = answered(
        &sent(&once),
        Answer::MaybeApplied("x".into()),
        Some(T0),
        at(12),
    );
    let allowed = permitted(&doubtful, by(), at(100)).unwrap();
    assert!(allowed.is_open(), "it may have happened");
    assert_eq!(
        (allowed.state_name().as_str(), allowed.cost.booked()),
        ("unknown", 7)
    );
    assert_eq!(
        doubt(std::slice::from_ref(&allowed), at(100)),
        Doubt::SendAgain
    );
    let Begin::Send(again) = begin(Some(&allowed), &once, &job(2), at(130), at(101)) else {
        panic!("it is sent once more");
    };
    for answer in [
        Answer::Rejected("409".into()),
        Answer::NotSent("no room".into()),
    ] {
        let after = answered(&again, answer, None, at(102));
        assert!(
            after.is_open(),
            "a refusal says nothing about the first call"
        );
        assert_eq!(
            word(&begin(Some(&after), &once, &job(3), at(140), at(110))),
            "person"
        );
    }
    let happened = Verdict::Happened {
        result: result(),
        cost: None,
    };
    let webhook = Witness::Caller(Actor::new("psp").unwrap());
    let settled = witnessed(&allowed, &happened, webhook, at(103));
    assert!(matches!(settled, Witnessed::Settled(effect) if effect.state.as_str() == "confirmed"));
}

#[test]
fn an_order_to_go_on_asks_first_where_a_provider_can_be_asked() {
    let by = || By {
        actor: Actor::new("ann").unwrap(),
        reason: "the provider is back".into(),
    };
    let mut effect = answered(
        &sent(&verify()),
        Answer::MaybeApplied("x".into()),
        Some(T0),
        at(12),
    );
    assert_eq!(
        permitted(&effect, by(), at(100)),
        None,
        "it is asked about already"
    );
    let plan = plan();
    for second in [12, 20, 30] {
        let still = Verdict::StillUnknown { ask_again_in: None };
        effect = asked(&effect, still, &plan, at(second), at(second), Roll(0)).0;
    }
    assert_eq!(effect.state.as_str(), "needs_human");
    let again = permitted(&effect, by(), at(100)).unwrap();
    assert_eq!(
        (
            again.asked,
            word(&begin(Some(&again), &verify(), &job(3), at(130), at(101)))
        ),
        (0, "ask".to_owned())
    );
}

#[test]
fn what_is_in_doubt_decides_what_the_job_does_next() {
    let unknown = |declared: &Declared| {
        answered(
            &sent(declared),
            Answer::MaybeApplied("x".into()),
            Some(T0),
            at(12),
        )
    };
    let same_key = unknown(&declared(EffectRecovery::SameKey { ttl: None }));
    let once = unknown(&declared(EffectRecovery::AtMostOnce));
    assert_eq!(doubt(&[], at(20)), Doubt::None);
    assert_eq!(
        doubt(std::slice::from_ref(&same_key), at(20)),
        Doubt::SendAgain
    );
    let lost = sent(&verify());
    assert!(
        matches!(doubt(&[same_key.clone(), lost], at(20)), Doubt::AskAt(when, _) if when == at(41))
    );
    assert!(matches!(doubt(&[same_key, once], at(20)), Doubt::Person(_)));
}

#[test]
fn terms_that_contradict_one_another_are_named() {
    let lease = Duration::from_secs(40);
    let terms = |recovery, timeout| EffectTerms { recovery, timeout }.validate(lease).len();
    assert_eq!(
        terms(
            EffectRecovery::Verify {
                settles_within: SETTLES
            },
            TIMEOUT
        ),
        0
    );
    assert_eq!(
        terms(
            EffectRecovery::Verify {
                settles_within: TIMEOUT / 2
            },
            TIMEOUT
        ),
        1
    );
    assert_eq!(
        terms(EffectRecovery::SameKey { ttl: Some(TIMEOUT) }, TIMEOUT),
        1
    );
    assert_eq!(terms(EffectRecovery::AtMostOnce, lease), 1);
    assert_eq!(plan().validate(SETTLES), Vec::<String>::new());
    let never = VerifyPlan {
        asks_max: 0,
        give_up_after: SETTLES,
        ..plan()
    };
    assert_eq!(never.validate(SETTLES).len(), 2);
}

//! What follows for a request, for each thing that can be known of it.

use std::time::Duration;

use super::*;
use crate::backoff::{Backoff, Jitter};
use crate::effect::{DISPUTES_MAX, VerifyPlan, Witness};
use crate::id::{Actor, Epoch, Tenant, Worker};
use crate::port::By;
use crate::time::{Roll, Timestamp};

const T0: Timestamp = Timestamp::from_micros(1_000_000_000);

/// Lease 30 s, calls settle 10 s later, answers are kept for 100 s and keys for 200 s.
const CLOCKS: Clocks = Clocks {
    lease: Duration::from_secs(30),
    retention: Duration::from_secs(100),
    tombstone: Duration::from_secs(200),
    settles_within: Duration::from_secs(10),
};

fn at(seconds: u64) -> Timestamp {
    T0.after(Duration::from_secs(seconds))
}

fn arrival(number: u8, body: &str) -> NewRequest {
    let identity = Identity {
        tenant: Tenant::single(),
        key: RequestKey::new("k").unwrap(),
    };
    let operation = Operation::new("POST", "/payments").unwrap();
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: Some(b"application/json"),
        body: body.as_bytes(),
    };
    NewRequest {
        id: RequestId::new(T0, [number; 10]),
        fingerprint: Fingerprint::of(&identity, &content),
        identity,
        operation,
        clocks: CLOCKS,
        holder: Worker::new("node-1").unwrap(),
    }
}

fn run(arrived: Arrived) -> Request {
    match arrived {
        Arrived::Run(request) => *request,
        other => panic!("it runs: {other:?}"),
    }
}

fn claimed() -> Request {
    run(arrive(None, &arrival(1, "{}"), T0))
}

fn response(status: u16) -> Kept {
    Kept::Response(StoredResponse {
        status,
        headers: Vec::new(),
        body: b"done".to_vec(),
    })
}

fn written(finish: Finish) -> Request {
    match finish {
        Finish::Write(request) => *request,
        other => panic!("it is written: {other:?}"),
    }
}

fn disputed(finish: Finish) -> Request {
    match finish {
        Finish::Disputed(request) => *request,
        other => panic!("it is disputed: {other:?}"),
    }
}

fn finished() -> Request {
    written(finish(
        &claimed(),
        Epoch(1),
        End::Answered(response(201)),
        at(5),
    ))
}

fn unknown() -> Request {
    lapse(&claimed(), at(30)).unwrap()
}

fn needs_human() -> Request {
    let verdict = RequestVerdict::NeedsHuman("no look-up".into());
    asked(&unknown(), verdict, &plan(), at(31), at(31), Roll(0)).unwrap()
}

fn released() -> Request {
    written(finish(
        &claimed(),
        Epoch(1),
        End::NothingHappened("declined".into()),
        at(5),
    ))
}

fn expired() -> Request {
    finished().expired(at(105)).unwrap()
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

fn person() -> Witness {
    Witness::Person(By {
        actor: Actor::new("ada").unwrap(),
        reason: "seen in the ledger".into(),
    })
}

#[test]
fn a_key_that_nobody_has_is_claimed() {
    let request = claimed();
    assert_eq!(
        (request.version, request.epoch, request.claimed_at),
        (1, Epoch(1), T0)
    );
    assert_eq!(request.due_at(), Some(at(30)));
    assert_eq!(request.settles_at, at(40));
    assert_eq!((request.expires_at(), request.forget_at()), (None, None));
}

#[test]
fn each_state_has_its_answer_to_the_same_request() {
    let gone = Arrived::Gone {
        finished_at: at(5),
        status: 201,
    };
    let nobody_knows = |retry_after: Option<u64>| Arrived::UnknownOutcome {
        since: at(30),
        retry_after: retry_after.map(Duration::from_secs),
    };
    let running = |seconds| Arrived::Running {
        retry_after: Duration::from_secs(seconds),
    };
    let Kept::Response(stored) = response(201) else {
        panic!()
    };
    let replay = Arrived::Replay {
        response: Box::new(stored),
        finished_at: at(5),
    };
    let later = asked(
        &unknown(),
        RequestVerdict::StillUnknown { ask_again_in: None },
        &plan(),
        at(31),
        at(31),
        Roll(0),
    )
    .unwrap();
    let table = [
        ("claimed", claimed(), at(1), running(10)),
        ("claimed", claimed(), at(25), running(5)),
        (
            "claimed",
            claimed(),
            Timestamp::from_micros(at(30).as_micros() - 1),
            running(1),
        ),
        ("claimed", claimed(), at(30), nobody_knows(Some(1))),
        ("claimed", claimed(), at(1_000_000), nobody_knows(Some(1))),
        ("finished", finished(), at(6), replay.clone()),
        ("finished", finished(), at(104), replay),
        ("finished", finished(), at(105), gone.clone()),
        ("finished", finished(), at(1_000_000), gone.clone()),
        ("unknown", unknown(), at(31), nobody_knows(Some(1))),
        ("unknown", later, at(32), nobody_knows(Some(4))),
        ("unknown", unknown(), at(1_000_000), nobody_knows(Some(1))),
        ("needs_human", needs_human(), at(32), nobody_knows(None)),
        ("expired", expired(), at(106), gone.clone()),
        ("expired", expired(), at(1_000_000), gone),
    ];
    for (name, request, now, expected) in table {
        assert_eq!(request.state.name().as_str(), name);
        assert_eq!(
            arrive(Some(&request), &arrival(2, "{ }"), now),
            expected,
            "{name} at {now}"
        );
    }
}

#[test]
fn another_request_under_the_key_is_a_mismatch_in_every_state() {
    let states = [
        claimed(),
        finished(),
        unknown(),
        needs_human(),
        released(),
        expired(),
    ];
    let names: Vec<_> = states.iter().map(|request| request.state.name()).collect();
    assert_eq!(names.len(), RequestStateName::ALL.len());
    for request in states {
        let other = arrive(Some(&request), &arrival(2, r#"{"amount":1}"#), at(6));
        let Arrived::Mismatch { fields } = other else {
            panic!("{other:?}")
        };
        assert_eq!(fields, ["body", "body.amount"], "{:?}", request.state);
    }
}

#[test]
fn only_what_is_released_runs_again_and_under_a_higher_epoch() {
    let again = run(arrive(Some(&released()), &arrival(2, "{}"), at(10)));
    assert_eq!(
        (again.epoch, again.version, again.id),
        (Epoch(2), 3, claimed().id)
    );
    assert_eq!((again.due_at(), again.settles_at), (Some(at(40)), at(50)));
    assert_eq!(again.claimed_at, T0);
}

#[test]
fn the_same_call_repeated_is_told_to_run_while_its_lease_holds() {
    let request = claimed();
    assert_eq!(
        run(arrive(Some(&request), &arrival(1, "{}"), at(1))),
        request
    );
    let late = arrive(Some(&request), &arrival(1, "{}"), at(30));
    assert!(matches!(late, Arrived::UnknownOutcome { .. }));
}

#[test]
fn an_answer_that_was_not_kept_is_told_and_never_run() {
    let tombstone = Tombstone {
        status: 200,
        body_sha256: Some([9; 32]),
        body_bytes: Some(5_000_000),
        why: NotKept::BodyTooLarge,
    };
    let end = End::Answered(Kept::Tombstone(tombstone.clone()));
    let request = written(finish(&claimed(), Epoch(1), end, at(5)));
    let told = Arrived::NotKept {
        tombstone,
        finished_at: at(5),
    };
    assert_eq!(arrive(Some(&request), &arrival(2, "{}"), at(6)), told);
    assert!(matches!(
        arrive(Some(&request), &arrival(2, "{}"), at(105)),
        Arrived::Gone { status: 200, .. }
    ));
}

#[test]
fn a_run_ends_as_its_handler_says() {
    let kept = response(500);
    let request = written(finish(
        &claimed(),
        Epoch(1),
        End::Answered(kept.clone()),
        at(5),
    ));
    assert_eq!(
        request.state,
        RequestState::Finished {
            at: at(5),
            kept,
            by: Witness::Answer
        }
    );
    assert_eq!(
        (request.expires_at(), request.forget_at()),
        (Some(at(105)), Some(at(205)))
    );
    assert_eq!(released().forget_at(), Some(at(205)));
    let broke_off = written(finish(
        &claimed(),
        Epoch(1),
        End::Unknown("it panicked".into()),
        at(5),
    ));
    let expected = RequestState::Unknown {
        since: at(5),
        ask_at: at(5),
        asked: 0,
        error: "it panicked".into(),
    };
    assert_eq!((broke_off.state, broke_off.settles_at), (expected, at(15)));
}

#[test]
fn a_holder_that_comes_late_is_heard_until_somebody_else_was() {
    for open in [unknown(), needs_human()] {
        let request = written(finish(
            &open,
            Epoch(1),
            End::Answered(response(201)),
            at(60),
        ));
        assert_eq!(request.state.name(), RequestStateName::Finished);
        let free = written(finish(
            &open,
            Epoch(1),
            End::NothingHappened("declined".into()),
            at(60),
        ));
        assert_eq!(free.state.name(), RequestStateName::Released);
        assert_eq!(
            finish(&open, Epoch(1), End::Unknown("lost".into()), at(60)),
            Finish::Already
        );
    }
}

#[test]
fn a_word_that_is_on_record_is_not_written_twice_and_another_one_changes_nothing() {
    let answered = |status| End::Answered(response(status));
    let nothing = || End::NothingHappened("declined".into());
    let lost = || End::Unknown("lost".into());
    let same = |end| finish(&finished(), Epoch(1), end, at(9));
    assert_eq!(same(answered(201)), Finish::Already);
    assert_eq!(same(answered(500)), Finish::Stale);
    assert_eq!(same(lost()), Finish::Stale);
    assert_eq!(disputed(same(nothing())).state, finished().state);
    assert_eq!(
        finish(&released(), Epoch(1), nothing(), at(9)),
        Finish::Already
    );
    assert_eq!(finish(&released(), Epoch(1), lost(), at(9)), Finish::Stale);
    assert_eq!(
        finish(&expired(), Epoch(1), answered(201), at(200)),
        Finish::Stale
    );
    let after_all = disputed(finish(&released(), Epoch(1), answered(201), at(9)));
    assert_eq!(after_all.state.name(), RequestStateName::NeedsHuman);
}

#[test]
fn a_stale_epoch_changes_no_state() {
    let again = run(arrive(Some(&released()), &arrival(2, "{}"), at(10)));
    let nothing = End::NothingHappened("declined".into());
    assert_eq!(finish(&again, Epoch(1), nothing, at(11)), Finish::Stale);
    assert_eq!(
        finish(&again, Epoch(1), End::Unknown("lost".into()), at(11)),
        Finish::Stale
    );
    assert_eq!(
        finish(&again, Epoch(1), End::Answered(response(500)), at(11)),
        Finish::Stale
    );
    assert_eq!(extend(&again, Epoch(1), at(99), at(11)), None);
    let twice = disputed(finish(
        &again,
        Epoch(1),
        End::Answered(response(201)),
        at(11),
    ));
    assert_eq!((&twice.state, twice.disputes.len()), (&again.state, 1));
}

#[test]
fn a_lease_is_extended_while_it_holds_and_never_shortened() {
    let longer = extend(&claimed(), Epoch(1), at(50), at(10)).unwrap();
    assert_eq!(
        (longer.due_at(), longer.settles_at, longer.version),
        (Some(at(50)), at(60), 2)
    );
    let same = extend(&longer, Epoch(1), at(20), at(11)).unwrap();
    assert_eq!((same.due_at(), same.settles_at), (Some(at(50)), at(60)));
    assert_eq!(
        extend(&claimed(), Epoch(1), at(50), at(30)),
        None,
        "it is over"
    );
    for other in [finished(), unknown(), needs_human(), released(), expired()] {
        assert_eq!(extend(&other, Epoch(1), at(500), at(6)), None);
    }
}

#[test]
fn a_lease_that_ended_is_unknown_and_nothing_else_lapses() {
    assert_eq!(
        lapse(&claimed(), Timestamp::from_micros(at(30).as_micros() - 1)),
        None
    );
    let request = unknown();
    let RequestState::Unknown {
        since,
        ask_at,
        asked,
        ..
    } = request.state
    else {
        panic!()
    };
    assert_eq!(
        (since, ask_at, asked, request.version),
        (at(30), at(30), 0, 2)
    );
    for other in [finished(), unknown(), needs_human(), released(), expired()] {
        assert_eq!(lapse(&other, at(100_000)), None);
    }
}

#[test]
fn a_verification_settles_asks_again_or_leaves_it_to_a_person() {
    let ask = |request: &Request, verdict, now| {
        asked(request, verdict, &plan(), now, now, Roll(0)).unwrap()
    };
    let happened = ask(&unknown(), RequestVerdict::Happened(response(201)), at(31));
    assert!(matches!(
        happened.state,
        RequestState::Finished {
            by: Witness::Query,
            ..
        }
    ));
    let early = ask(&unknown(), RequestVerdict::DidNotHappen, at(31));
    assert_eq!(
        early.due_at(),
        Some(at(40)),
        "it can take effect until then"
    );
    let not = ask(&unknown(), RequestVerdict::DidNotHappen, at(40));
    assert!(matches!(
        not.state,
        RequestState::Released {
            by: Witness::Query,
            ..
        }
    ));
    let still = || RequestVerdict::StillUnknown {
        ask_again_in: Some(Duration::from_secs(9)),
    };
    let one = ask(&unknown(), still(), at(31));
    assert_eq!(one.due_at(), Some(at(40)));
    let three = ask(&ask(&one, still(), at(40)), still(), at(49));
    assert_eq!(
        three.state.name(),
        RequestStateName::NeedsHuman,
        "three questions are all"
    );
    let long = RequestVerdict::StillUnknown {
        ask_again_in: Some(Duration::from_secs(601)),
    };
    assert_eq!(
        ask(&unknown(), long, at(31)).state.name(),
        RequestStateName::NeedsHuman
    );
    for other in [claimed(), finished(), needs_human(), released(), expired()] {
        assert_eq!(
            asked(
                &other,
                RequestVerdict::DidNotHappen,
                &plan(),
                at(500),
                at(500),
                Roll(0)
            ),
            None
        );
    }
}

/// Its calls settle at 40 s. What counts is when it was looked for, not how long the answer took.
#[test]
fn what_was_not_found_counts_from_when_it_was_looked_for() {
    use RequestStateName::{Released, Unknown};
    let just_before = Timestamp::from_micros(at(40).as_micros() - 1);
    // Asked at, told at, what follows, when to ask again.
    let table = [
        (at(31), at(31), Unknown, Some(at(40))),
        (at(31), at(40), Unknown, Some(at(45))),
        (at(31), at(50), Unknown, Some(at(55))),
        (just_before, at(40), Unknown, Some(at(45))),
        (just_before, at(500), Unknown, Some(at(505))),
        (at(40), at(40), Released, None),
        (at(40), at(50), Released, None),
        (at(41), at(41), Released, None),
    ];
    for (asked_at, now, state, due_at) in table {
        let verdict = RequestVerdict::DidNotHappen;
        let next = asked(&unknown(), verdict, &plan(), asked_at, now, Roll(0)).unwrap();
        let seen = (next.state.name(), next.due_at());
        assert_eq!(
            seen,
            (state, due_at),
            "asked at {asked_at:?}, told at {now:?}"
        );
    }
}

/// That it happened is true whenever it was seen.
#[test]
fn what_was_found_counts_however_long_the_answer_took() {
    for (asked_at, now) in [(31, 31), (31, 40), (39, 50), (40, 40)] {
        let verdict = RequestVerdict::Happened(response(201));
        let next = asked(&unknown(), verdict, &plan(), at(asked_at), at(now), Roll(0)).unwrap();
        let finished = RequestState::Finished {
            at: at(now),
            kept: response(201),
            by: Witness::Query,
        };
        assert_eq!(next.state, finished, "asked at {asked_at}, told at {now}");
    }
}

#[test]
fn the_first_witness_counts() {
    let happened = || RequestVerdict::Happened(response(201));
    let say = |request: &Request, verdict, now| witnessed(request, verdict, person(), now);
    for open in [unknown(), needs_human()] {
        let Witnessed::Settled(done) = say(&open, happened(), at(31)) else {
            panic!()
        };
        assert_eq!(
            done.state,
            RequestState::Finished {
                at: at(31),
                kept: response(201),
                by: person()
            }
        );
        assert_eq!(
            say(&open, RequestVerdict::DidNotHappen, at(31)),
            Witnessed::TooEarly(at(40))
        );
        let Witnessed::Settled(free) = say(&open, RequestVerdict::DidNotHappen, at(40)) else {
            panic!()
        };
        assert!(matches!(
            free.state,
            RequestState::Released {
                by: Witness::Person(_),
                ..
            }
        ));
        let Witnessed::Disputed(disputed) = say(&free, happened(), at(41)) else {
            panic!()
        };
        assert_eq!(
            disputed.state.name(),
            RequestStateName::NeedsHuman,
            "it must not run"
        );
        let Witnessed::Disputed(disputed) = say(&done, RequestVerdict::DidNotHappen, at(500))
        else {
            panic!()
        };
        assert_eq!((&disputed.state, disputed.disputes.len()), (&done.state, 1));
        assert_eq!(say(&done, happened(), at(32)), Witnessed::Same);
        assert_eq!(
            say(&free, RequestVerdict::DidNotHappen, at(50)),
            Witnessed::Same
        );
        let nothing = RequestVerdict::StillUnknown { ask_again_in: None };
        assert_eq!(say(&open, nothing, at(50)), Witnessed::NoVerdict);
    }
    assert_eq!(say(&expired(), happened(), at(500)), Witnessed::Same);
}

#[test]
fn a_run_that_may_go_on_is_left_alone() {
    let happened = || RequestVerdict::Happened(response(201));
    for verdict in [happened(), RequestVerdict::DidNotHappen] {
        assert_eq!(
            witnessed(&claimed(), verdict, person(), at(29)),
            Witnessed::TooEarly(at(30))
        );
    }
    assert!(matches!(
        witnessed(&claimed(), happened(), person(), at(30)),
        Witnessed::Settled(_)
    ));
    let not = witnessed(&claimed(), RequestVerdict::DidNotHappen, person(), at(30));
    assert_eq!(not, Witnessed::TooEarly(at(40)));
}

#[test]
fn disputes_are_bounded() {
    let mut request = finished();
    for _ in 0..20 {
        match witnessed(&request, RequestVerdict::DidNotHappen, person(), at(500)) {
            Witnessed::Disputed(next) => request = *next,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(request.disputes.len(), DISPUTES_MAX);
    assert_eq!(request.version, 22);
}

#[test]
fn an_answer_leaves_at_the_end_of_its_retention_and_its_key_does_not() {
    assert_eq!(finished().expired(at(104)), None);
    let gone = expired();
    assert_eq!(
        gone.state,
        RequestState::Expired {
            at: at(5),
            status: 201
        }
    );
    assert_eq!(gone.forget_at(), Some(at(205)));
    assert_eq!(
        (finished().leaves_at(), gone.leaves_at()),
        (Some(at(105)), Some(at(205)))
    );
    for other in [claimed(), unknown(), needs_human(), released(), expired()] {
        assert_eq!(other.expired(Timestamp::MAX), None);
    }
}

#[test]
fn what_is_open_is_never_forgotten() {
    for open in [claimed(), unknown(), needs_human()] {
        assert_eq!(open.forget_at(), None);
    }
}

#[test]
fn words_read_back() {
    for name in RequestStateName::ALL {
        assert_eq!(RequestStateName::parse(name.as_str()), Some(name));
    }
    for keep in Keep::ALL {
        assert_eq!(Keep::parse(keep.as_str()), Some(keep));
    }
    for why in NotKept::ALL {
        assert_eq!(NotKept::parse(why.as_str()), Some(why));
    }
}

//! What a client is told agrees with what is on record: an answer that is not final never looks final, or its client would
//! give up, or try another key.

use http::HeaderValue;
use surefoot_core::request::{Keep, RequestPolicy, RequestState};
use surefoot_http::{Answered, RoutePolicy, Told};
use surefoot_testkit::{Fault, Verb};

use crate::fixture::{Got, answer, front, seconds};

fn keeping(keep: Keep) -> RoutePolicy {
    RoutePolicy {
        request: RequestPolicy {
            keep,
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    }
}

fn read(got: &Got) -> Answered {
    Answered::read(got.status, &got.headers)
}

/// A 500 under `keep = "final"` may have happened: a client that took it for the last word would ask under another key.
#[tokio::test(start_paused = true)]
async fn an_answer_that_leaves_the_outcome_unknown_is_told_as_unknown() {
    for body in ["broke", &"x".repeat(2 * 1024 * 1024)] {
        let body = body.to_owned();
        let front = front(keeping(Keep::Final), move |_| {
            std::future::ready(answer(500, body.clone()))
        });
        let got = front.post("k").await;
        assert_eq!(
            got.marks(),
            (500, Some("executed"), Some("outcome-unknown"))
        );
        assert_eq!(read(&got), Answered::Unknown { after: None });
        assert_eq!(front.guard.drain(seconds(9)).await, 0);
        let state = front.state("k").await.unwrap();
        assert!(matches!(state, RequestState::Unknown { .. }), "{state:?}");
    }
}

/// Whoever takes "nothing was run" for a final answer never sends it again: the intent is lost.
#[tokio::test(start_paused = true)]
async fn an_answer_that_frees_the_key_is_told_as_one_to_send_again() {
    let refusing = |status| move |_| std::future::ready(answer(status, "full"));
    for status in [408, 429, 503] {
        let front = front(keeping(Keep::Final), refusing(status));
        let got = front.post("k").await;
        let marks = (status, Some("executed"), Some("nothing-happened"));
        assert_eq!(got.marks(), marks);
        assert_eq!(read(&got), Answered::NotRun { after: seconds(1) });
        let state = front.state("k").await.unwrap();
        assert!(matches!(state, RequestState::Released { .. }), "{state:?}");
    }
    let front = front(RoutePolicy::default(), |_| {
        let mut away = answer(502, "no way there");
        away.extensions_mut()
            .insert(Told::NotBegun("no way there".to_owned()));
        std::future::ready(away)
    });
    let got = front.post("k").await;
    assert_eq!(
        got.marks(),
        (502, Some("executed"), Some("nothing-happened"))
    );
    assert_eq!(read(&got), Answered::NotRun { after: seconds(1) });
}

/// What says that its outcome is unknown goes on saying so when the store is away too.
#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_that_cannot_be_written_down_is_not_told_as_final() {
    let front = front(RoutePolicy::default(), |_| {
        let mut late = answer(504, "no answer");
        late.extensions_mut()
            .insert(Told::Unknown("no answer in time".to_owned()));
        std::future::ready(late)
    });
    for _ in 0..7 {
        front.faults.next(Verb::WriteRequest, Fault::Before);
    }
    let got = front.post("k").await;
    assert_eq!(
        got.marks(),
        (504, Some("executed"), Some("outcome-unknown"))
    );
    assert_eq!(read(&got), Answered::Unknown { after: None });
}

/// A word in another language than English is a word.
#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_with_its_reason_in_vietnamese_is_not_kept_as_final() {
    const BANK: &[u8] = "unknown; ng\u{e2}n h\u{e0}ng".as_bytes();
    let table: [&'static [&'static [u8]]; 5] = [
        &[BANK],
        &[b"unknown; caf\xe9"],
        &[b"Unknown"],
        &[b"nothing-happened", b"unknown"],
        &[b"unknown;", b"nothing-happened"],
    ];
    for said in table {
        let front = front(keeping(Keep::UnlessNothingHappened), move |_| {
            let mut response = answer(504, "no answer");
            for said in said {
                let said = HeaderValue::from_bytes(said).unwrap();
                response.headers_mut().append("surefoot-outcome", said);
            }
            std::future::ready(response)
        });
        let got = front.post("k").await;
        let marks = (504, Some("executed"), Some("outcome-unknown"));
        assert_eq!(got.marks(), marks, "{said:?}");
        assert!(!got.headers.contains_key("surefoot-outcome"));
        let state = front.state("k").await.unwrap();
        assert!(
            matches!(state, RequestState::Unknown { .. }),
            "{said:?} {state:?}"
        );
    }
}

//! What is kept of an answer and what a repetition gets.

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use sha2::{Digest, Sha256};
use surefoot_core::request::{Clocks, Keep, Kept, RequestPolicy, RequestState};
use surefoot_http::{RoutePolicy, Told};

use crate::fixture::{Front, answer, front, got, numbered, post, seconds};
use tower::ServiceExt;

fn keeping(body_bytes_max: usize, keep: Keep) -> RoutePolicy {
    RoutePolicy {
        request: RequestPolicy {
            body_bytes_max,
            keep,
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_replay_is_the_answer_byte_for_byte() {
    let bodies: [&'static [u8]; 4] = [b"", b"text", b"\0\xff\r\n\x80", &[7; 100_000]];
    for (status, body) in [200, 204, 201, 422].into_iter().zip(bodies) {
        let body = if status == 204 { b"" } else { body };
        let front = front(RoutePolicy::default(), move |_| async move {
            Response::builder()
                .status(status)
                .header("content-type", "application/x-thing")
                .header("location", "/payments/1")
                .header("link", "<a>")
                .header("link", "<b>")
                .header("set-cookie", "session=1")
                .header("x-internal", "1")
                .header("idempotency-status", "replayed")
                .header("idempotency-error", "forged")
                .body(Body::from(body))
                .unwrap()
        });
        let first = front.post("k").await;
        let again = front.post("k").await;
        assert_eq!(first.marks(), (status, Some("executed"), None));
        assert_eq!(again.marks(), (status, Some("replayed"), None));
        assert_eq!((&first.body[..], &again.body[..]), (body, body));
        for name in ["content-type", "location"] {
            assert_eq!(first.header(name), again.header(name));
        }
        let links: Vec<_> = again.headers.get_all("link").iter().collect();
        assert_eq!(links, ["<a>", "<b>"]);
        assert!(first.headers.contains_key("set-cookie"));
        assert!(
            !again.headers.contains_key("set-cookie") && !again.headers.contains_key("x-internal")
        );
        assert_eq!(front.ran(), 1);
    }
}

/// A body in parts, each of which can be told from the next.
fn parts(count: u8, bytes: usize) -> Body {
    let parts =
        (0..count).map(move |number| Ok::<_, std::io::Error>(Bytes::from(vec![number; bytes])));
    Body::from_stream(stream::iter(parts))
}

#[tokio::test(start_paused = true)]
async fn a_large_answer_reaches_its_client_and_leaves_a_tombstone() {
    let front = front(keeping(1000, Keep::All), |_| async {
        answer(201, parts(50, 100))
    });
    let first = front.post("k").await;
    let all: Vec<u8> = (0..50).flat_map(|number| vec![number; 100]).collect();
    assert_eq!(
        (first.marks(), &first.body[..]),
        ((201, Some("executed"), None), &all[..])
    );
    front.guard.drain(seconds(1)).await;
    let again = front.post("k").await;
    assert_eq!(
        again.marks(),
        (409, Some("replayed"), Some("result-not-kept"))
    );
    let document = again.json();
    let hex: String = Sha256::digest(&all)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(document["body_sha256"], hex);
    assert_eq!(document["body_bytes"], 5000);
    assert_eq!(document["original_status"], 201);
    assert_eq!(document["reason"], "body_too_large");
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_digest_of_a_large_answer_is_taken_without_its_client() {
    let front = front(keeping(1000, Keep::All), |_| async {
        answer(201, parts(50, 100))
    });
    let response = front.app.clone().oneshot(post("k", "{}")).await.unwrap();
    drop(response);
    assert_eq!(front.guard.drain(seconds(100)).await, 0);
    let again = front.ask(post("k", "{}")).await;
    assert_eq!(again.json()["body_bytes"], 5000);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_an_end_passes_and_does_not_run_again() {
    let events = || {
        let response =
            Response::builder().header("content-type", "text/event-stream; charset=utf-8");
        response.body(parts(3, 2)).unwrap()
    };
    let slow = || {
        let parts = stream::unfold(0_u8, |number| async move {
            tokio::time::sleep(seconds(4)).await;
            (number < 6).then(|| {
                (
                    Ok::<_, std::io::Error>(Bytes::from(vec![number; 1])),
                    number + 1,
                )
            })
        });
        answer(200, Body::from_stream(parts))
    };
    for (which, expected) in [(0, vec![0, 0, 1, 1, 2, 2]), (1, vec![0, 1, 2, 3, 4, 5])] {
        let front = front(RoutePolicy::default(), move |_| async move {
            if which == 0 { events() } else { slow() }
        });
        let first = front.post("k").await;
        assert_eq!(
            (first.marks().1, &first.body[..]),
            (Some("executed"), &expected[..])
        );
        let again = front.post("k").await;
        assert_eq!(
            again.marks(),
            (409, Some("replayed"), Some("result-not-kept"))
        );
        assert_eq!(again.json()["reason"], "streamed");
        assert_eq!(front.ran(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_breaks_off_is_an_unknown_outcome() {
    let front = front(RoutePolicy::default(), |_| async {
        let parts = [
            Ok(Bytes::from_static(b"half")),
            Err(std::io::Error::other("gone")),
        ];
        answer(200, Body::from_stream(stream::iter(parts)))
    });
    for _ in 0..2 {
        assert_eq!(
            front.post("k").await.marks(),
            (409, None, Some("outcome-unknown"))
        );
    }
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn each_policy_keeps_what_it_says() {
    // status, what the handler says, what the second request finds: under all, unless nothing happened, final.
    let unknown = (409, None, Some("outcome-unknown"));
    let kept = |status| (status, Some("replayed"), None);
    let again = |status| (status, Some("executed"), Some("nothing-happened"));
    let table = [
        (503, false, [kept(503), kept(503), again(503)]),
        (500, false, [kept(500), kept(500), unknown]),
        (422, false, [kept(422), kept(422), kept(422)]),
        (500, true, [kept(500), again(500), again(500)]),
    ];
    for (status, nothing, expected) in table {
        for (keep, expected) in Keep::ALL.into_iter().zip(expected) {
            let front = front(keeping(100, keep), move |_| async move {
                let mut response = answer(status, "said");
                if nothing {
                    let told = Told::NothingHappened("refused by the bank".to_owned());
                    response.extensions_mut().insert(told);
                }
                response
            });
            let first = front.post("k").await;
            assert_eq!(
                (first.status.as_u16(), &first.body[..]),
                (status, &b"said"[..])
            );
            let second = front.post("k").await;
            assert_eq!(second.marks(), expected, "{status} under {}", keep.as_str());
            let runs = if expected.1 == Some("executed") { 2 } else { 1 };
            assert_eq!(front.ran(), runs);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_does_not_know_says_so() {
    let front = front(RoutePolicy::default(), |_| async {
        let mut response = answer(504, "the bank timed out");
        let told = Told::Unknown("the bank timed out".to_owned());
        response.extensions_mut().insert(told);
        response
    });
    let first = front.post("k").await;
    assert_eq!(
        first.marks(),
        (504, Some("executed"), Some("outcome-unknown"))
    );
    assert_eq!(first.body, "the bank timed out");
    assert_eq!(
        front.post("k").await.marks(),
        (409, None, Some("outcome-unknown"))
    );
    assert_eq!(front.ran(), 1);
}

/// A client cannot say it in the handler's place.
#[tokio::test(start_paused = true)]
async fn a_client_cannot_speak_for_the_handler() {
    let front = front(
        keeping(100, Keep::UnlessNothingHappened),
        |request: Request<Body>| async move {
            let mut response = answer(200, "");
            if let Some(said) = request.headers().get("surefoot-outcome") {
                response
                    .headers_mut()
                    .insert("surefoot-outcome", said.clone());
            }
            response
        },
    );
    let ask = || {
        let mut request = post("k", "{}");
        let forged = "nothing-happened".parse().unwrap();
        request.headers_mut().insert("surefoot-outcome", forged);
        request
    };
    front.ask(ask()).await;
    assert_eq!(
        front.ask(ask()).await.marks(),
        (200, Some("replayed"), None)
    );
}

async fn at_end_of(front: &Front, after: u64) -> (u16, Option<String>) {
    tokio::time::advance(seconds(after)).await;
    let got = front.post("k").await;
    let (status, _, error) = got.marks();
    (status, error.map(str::to_owned))
}

#[tokio::test(start_paused = true)]
async fn an_answer_whose_time_is_over_is_gone_and_its_key_is_not() {
    let policy = RoutePolicy {
        request: RequestPolicy {
            clocks: Clocks {
                retention: seconds(1000),
                tombstone: seconds(5000),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    };
    let front = front(policy, numbered());
    front.post("k").await;
    assert_eq!(at_end_of(&front, 999).await, (201, None));
    let gone = (410, Some("result-expired".to_owned()));
    assert_eq!(at_end_of(&front, 1).await, gone);
    assert_eq!(front.ran(), 1);
}

#[tokio::test(start_paused = true)]
async fn headers_that_are_too_many_leave_a_tombstone() {
    let front = front(RoutePolicy::default(), |_| async {
        let mut response = answer(200, "x");
        for number in 0..65 {
            let link = format!("<{number}>").parse().unwrap();
            response.headers_mut().append("link", link);
        }
        response
    });
    front.post("k").await;
    assert_eq!(front.post("k").await.json()["reason"], "headers_too_large");
    let state = front.state("k").await;
    assert!(matches!(
        state,
        Some(RequestState::Finished {
            kept: Kept::Tombstone(_),
            ..
        })
    ));
}

/// What came before is not shown to whoever reads a stream that goes on.
#[tokio::test(start_paused = true)]
async fn a_large_answer_that_breaks_off_does_not_look_complete() {
    let front = front(keeping(3, Keep::All), |_| async {
        let parts = [
            Ok(Bytes::from_static(b"four")),
            Err(std::io::Error::other("gone")),
        ];
        answer(200, Body::from_stream(stream::iter(parts)))
    });
    let response = front.app.clone().oneshot(post("k", "{}")).await.unwrap();
    let read = http_body_util::BodyExt::collect(response.into_body()).await;
    assert!(read.is_err());
    front.guard.drain(seconds(1)).await;
    let again = got(front.app.clone().oneshot(post("k", "{}")).await.unwrap()).await;
    assert_eq!(
        again.marks(),
        (409, Some("replayed"), Some("result-not-kept"))
    );
    assert_eq!(front.ran(), 1);
}

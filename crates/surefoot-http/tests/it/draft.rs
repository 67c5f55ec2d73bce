//! draft-ietf-httpapi-idempotency-key-header-07, by the numbers of its requirements.

use http::Request;
use surefoot_http::{Need, RoutePolicy};

use crate::claim::front_of;
use crate::fixture::{answer, front, numbered, post, seconds};

/// 1: the header is a quoted string; the bare form of the same key is the same key.
#[tokio::test(start_paused = true)]
async fn point_1_the_header_is_a_string() {
    let front = front(RoutePolicy::default(), numbered());
    for (key, mark) in [
        ("\"8e03978e-40d5-43e8-bc93-6894a57f9324\"", "executed"),
        ("8e03978e-40d5-43e8-bc93-6894a57f9324", "replayed"),
        ("\"clkyoesmbgybucifusbbtdsbohtyuuwz\"", "executed"),
        (" clkyoesmbgybucifusbbtdsbohtyuuwz ", "replayed"),
    ] {
        assert_eq!(
            front.post(key).await.header("idempotency-status"),
            Some(mark),
            "{key}"
        );
    }
}

/// 2, 16: what is no key is refused, and so are two.
#[tokio::test(start_paused = true)]
async fn point_16_the_format_is_always_checked() {
    let front = front(RoutePolicy::default(), numbered());
    for key in ["", "\"\"", "\"a", "a b", "\"a\";v=1", &"k".repeat(256)] {
        assert_eq!(
            front.post(key).await.marks(),
            (400, None, Some("key-invalid")),
            "{key}"
        );
    }
    let mut two = post("a", "{}");
    two.headers_mut()
        .append("idempotency-key", "a".parse().unwrap());
    let two = front.ask(two).await;
    assert_eq!(two.marks(), (400, None, Some("key-invalid")));
    assert_eq!(
        two.json()["detail"],
        "Idempotency-Key was sent 2 times; send it once"
    );
    assert_eq!(front.ran(), 0);
}

/// 6: a key on what is safe is ignored, and the answer says so.
#[tokio::test(start_paused = true)]
async fn point_6_a_key_that_means_nothing_is_ignored_visibly() {
    let front = front_of(Need::Required);
    for method in ["GET", "HEAD", "OPTIONS"] {
        for _ in 0..2 {
            let request = Request::builder().method(method).uri("/payments");
            let request = request
                .header("idempotency-key", "k")
                .body("".into())
                .unwrap();
            assert_eq!(
                front.ask(request).await.marks(),
                (201, Some("ignored"), None),
                "{method}"
            );
        }
    }
    let bare = Request::get("/payments").body("".into()).unwrap();
    assert_eq!(front.ask(bare).await.marks(), (201, None, None));
}

/// 8 and 9: the first is run, the next get its answer, whether success or error.
#[tokio::test(start_paused = true)]
async fn point_9_an_error_is_replayed_as_well() {
    for status in [200, 201, 400, 404, 500, 503] {
        let front = front(RoutePolicy::default(), move |_| async move {
            answer(status, "said")
        });
        assert_eq!(
            front.post("k").await.marks(),
            (status, Some("executed"), None)
        );
        let again = front.post("k").await;
        assert_eq!(
            (again.marks(), &again.body[..]),
            ((status, Some("replayed"), None), &b"said"[..])
        );
        assert_eq!(front.ran(), 1);
    }
}

/// 10 and 13: a request that is under way is a conflict, with a time to come back.
#[tokio::test(start_paused = true)]
async fn point_13_a_request_under_way_is_a_conflict() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::time::sleep(seconds(3)).await;
        answer(200, "")
    });
    let first = tokio::spawn({
        let front = front.clone();
        async move { front.post("k").await }
    });
    tokio::task::yield_now().await;
    let second = front.post("k").await;
    assert_eq!(second.marks(), (409, None, Some("outstanding")));
    assert_eq!(
        second.json()["title"],
        "A request is outstanding for this Idempotency-Key"
    );
    assert!(
        second
            .header("retry-after")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            >= 1
    );
    assert_eq!(first.await.unwrap().status, 200);
}

/// 11: a missing key where one is needed.
#[tokio::test(start_paused = true)]
async fn point_11_a_missing_key_is_a_bad_request() {
    let front = front_of(Need::Required);
    let got = front
        .ask(Request::post("/payments").body("{}".into()).unwrap())
        .await;
    assert_eq!(got.marks(), (400, None, Some("key-missing")));
    assert_eq!(got.header("content-type"), Some("application/problem+json"));
    let document = got.json();
    assert_eq!(document["title"], "Idempotency-Key is missing");
    assert_eq!(document["type"], "urn:surefoot:problem:key-missing");
    assert_eq!(front.ran(), 0);
}

/// 12: the key of another payload.
#[tokio::test(start_paused = true)]
async fn point_12_a_key_with_another_payload_is_unprocessable() {
    let front = front(RoutePolicy::default(), numbered());
    front.ask(post("k", "{\"a\":1}")).await;
    let got = front.ask(post("k", "{\"a\":2}")).await;
    assert_eq!(got.marks(), (422, None, Some("key-reused")));
    assert_eq!(got.json()["title"], "Idempotency-Key is already used");
}

//! draft-ietf-httpapi-idempotency-key-header-07, by the numbers of its requirements.

use std::sync::Arc;

use axum::body::Body;
use http::{Method, Request};
use surefoot_core::id::Worker;
use surefoot_core::request::{Keep, RequestPolicy};
use surefoot_http::problem::{self, ProblemTypes};
use surefoot_http::{
    Answered, BearerTenants, Guard, GuardOptions, IdempotencyLayer, IntentKey, Need, RoutePolicy,
    Routes, Rule, SingleTenant,
};
use tower::ServiceExt;

use crate::claim::front_of;
use crate::fixture::{Got, answer, front, front_for, got, numbered, post, seconds, tenant};

/// 2: a key is of one payload and one operation, and is not reused for another.
#[tokio::test(start_paused = true)]
async fn point_2_a_key_is_not_reused() {
    let front = front(RoutePolicy::default(), numbered());
    front.post("k").await;
    let to = |method: Method, uri: &str| {
        let request = Request::builder().method(method).uri(uri);
        request
            .header("idempotency-key", "k")
            .header("content-type", "application/json")
            .body(Body::from("{\"amount\":1}"))
            .unwrap()
    };
    for (method, uri, field) in [
        (Method::PUT, "/payments", "method"),
        (Method::POST, "/payments/7", "path"),
        (Method::POST, "/payments?dry=1", "query.dry"),
    ] {
        let told = front.ask(to(method, uri)).await;
        assert_eq!(told.marks(), (422, None, Some("key-reused")), "{uri}");
        let named = told.json()["fields"].to_string();
        assert!(named.contains(field), "{named}");
    }
    assert_eq!(front.ran(), 1);
}

/// 3: what a key is unique in is defined here, one tenant, and clients make keys that are unique.
#[tokio::test(start_paused = true)]
async fn point_3_a_key_is_unique_within_its_tenant() {
    let tokens = [
        ("0123456789abcdef", tenant("a")),
        ("fedcba9876543210", tenant("b")),
    ];
    let tenants = BearerTenants::new(tokens).unwrap();
    let front = front_for(tenants, RoutePolicy::default(), numbered());
    assert_eq!(front.guard.published()["scope"], "tenant");
    let key = IntentKey::of("payment", "7");
    for (token, run) in [("0123456789abcdef", "run 1"), ("fedcba9876543210", "run 2")] {
        for mark in ["executed", "replayed"] {
            let mut request = post(key.as_str(), "{}");
            let bearer = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", bearer);
            let told = front.ask(request).await;
            assert_eq!(
                (told.header("idempotency-status"), &told.body[..]),
                (Some(mark), run.as_bytes())
            );
        }
    }
}

/// 4: keys count for a time that is published, and then no longer.
#[tokio::test(start_paused = true)]
async fn point_4_the_time_of_a_key_is_published_and_kept() {
    let mut policy = RoutePolicy::default();
    policy.request.clocks.retention = seconds(1000);
    policy.request.clocks.tombstone = seconds(5000);
    let front = front(policy, numbered());
    let published = front.guard.published();
    let route = &published["routes"][0];
    assert_eq!(
        (&route["kept_s"], &route["taken_s"]),
        (&1000.into(), &5000.into())
    );
    front.post("k").await;
    tokio::time::advance(seconds(999)).await;
    assert_eq!(front.post("k").await.marks(), (201, Some("replayed"), None));
    tokio::time::advance(seconds(1)).await;
    let gone = (410, Some("replayed"), Some("result-expired"));
    assert_eq!(front.post("k").await.marks(), gone);
    tokio::time::advance(seconds(4000)).await;
    let reconciler = front
        .guard
        .reconciler(surefoot_http::AskNobody, Default::default());
    let reconciler = reconciler.unwrap();
    while reconciler.round().await.unwrap().forgotten > 0 {}
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
}

/// 5: the fingerprint is over the payload's meaning, not over its spelling, and not over headers.
#[tokio::test(start_paused = true)]
async fn point_5_a_fingerprint_is_made_of_the_payload() {
    let front = front(RoutePolicy::default(), numbered());
    front
        .ask(post("k", "{\"a\":1,\"b\":9007199254740993}"))
        .await;
    let mut other_head = post("k", "{ \"b\": 9007199254740993, \"a\": 1 }");
    other_head
        .headers_mut()
        .insert("traceparent", "x".parse().unwrap());
    assert_eq!(
        front.ask(other_head).await.marks(),
        (201, Some("replayed"), None)
    );
    let near = front
        .ask(post("k", "{\"a\":1,\"b\":9007199254740992}"))
        .await;
    assert_eq!(near.marks(), (422, None, Some("key-reused")));
    assert_eq!(near.json()["fields"], serde_json::json!(["body.b"]));
}

/// 7: what holds here is published with its times, and each refusal leads there.
#[tokio::test(start_paused = true)]
async fn point_7_the_rules_are_published() {
    let front = front(RoutePolicy::default(), numbered());
    let mut options = GuardOptions::new(Worker::new("node").unwrap());
    options.problems =
        ProblemTypes::explained("https://api.example/problems/", "https://api.example/keys")
            .unwrap();
    options.routes = Routes {
        rules: vec![Rule {
            method: Some(Method::POST),
            route: "/payments".to_owned(),
            policy: RoutePolicy {
                need: Need::Required,
                ..RoutePolicy::default()
            },
        }],
        ..Routes::default()
    };
    let requests = Arc::new(front.store.clone());
    let tenants = SingleTenant(tenant("me"));
    let guard = Guard::new(requests, front.clock.clone(), tenants, options).unwrap();
    let published = guard.published();
    let routes = &published["routes"];
    assert_eq!(
        (&routes[0]["key"], &routes[0]["kept_s"]),
        (&"required".into(), &86400.into())
    );
    assert_eq!(
        (&routes[1]["key"], &routes[1]["route"]),
        (&"optional".into(), &"*".into())
    );
    let app = front.app.clone().layer(IdempotencyLayer::new(guard));
    let bare = Request::post("/payments").body(Body::from("{}")).unwrap();
    let told: Got = got(app.oneshot(bare).await.unwrap()).await;
    assert_eq!(told.marks(), (400, None, Some("key-missing")));
    assert_eq!(
        told.header("link"),
        Some("<https://api.example/keys>; rel=\"describedby\"")
    );
    assert_eq!(
        told.json()["type"],
        "https://api.example/problems/key-missing"
    );
}

/// 7: every refusal is explained where clients are told what they may be told.
#[test]
fn point_7_every_refusal_is_documented() {
    let page = include_str!("../../../../docs/front-door.md");
    for kind in problem::ALL {
        assert!(page.contains(&format!("`{}`", kind.slug)), "{}", kind.slug);
    }
}

/// 8: the first request is processed as if there were no key.
#[tokio::test(start_paused = true)]
async fn point_8_the_first_request_is_processed_normally() {
    let front = front(
        RoutePolicy::default(),
        |request: Request<Body>| async move {
            let key = request.headers()["idempotency-key"]
                .to_str()
                .unwrap()
                .to_owned();
            let body = axum::body::to_bytes(request.into_body(), 100)
                .await
                .unwrap();
            let mut response = answer(201, [key.as_bytes(), b" ", &body].concat());
            response.headers_mut().insert("x-own", "1".parse().unwrap());
            response
        },
    );
    let told = front.ask(post("\"k\"", "{\"a\":1}")).await;
    assert_eq!(told.marks(), (201, Some("executed"), None));
    assert_eq!(
        (&told.body[..], told.header("x-own")),
        (&b"\"k\" {\"a\":1}"[..], Some("1"))
    );
    assert_eq!(front.ran(), 1);
}

/// 10: of requests at the same time one is processed, and the others conflict with it.
#[tokio::test(start_paused = true)]
async fn point_10_requests_at_the_same_time_conflict() {
    let front = front(RoutePolicy::default(), |_| async {
        tokio::time::sleep(seconds(1)).await;
        answer(200, "")
    });
    let (first, second, third) = tokio::join!(front.post("k"), front.post("k"), front.post("k"));
    let mut told = [first.marks(), second.marks(), third.marks()];
    told.sort_unstable();
    let conflict = (409, None, Some("outstanding"));
    assert_eq!(told, [(200, Some("executed"), None), conflict, conflict]);
    assert_eq!(front.ran(), 1);
}

/// 14: but for 409 the client corrects its request, or gets the same error for ever.
#[tokio::test(start_paused = true)]
async fn point_14_an_error_stays_until_the_request_is_corrected() {
    let front = front_of(Need::Required);
    let bare = || Request::post("/payments").body(Body::from("{}")).unwrap();
    for _ in 0..3 {
        assert_eq!(
            front.ask(bare()).await.marks(),
            (400, None, Some("key-missing"))
        );
        assert_eq!(
            front.post("no key").await.marks(),
            (400, None, Some("key-invalid"))
        );
    }
    assert_eq!(front.post("k").await.marks(), (201, Some("executed"), None));
    for _ in 0..3 {
        let other = front.ask(post("k", "{\"amount\":2}")).await;
        assert_eq!(other.marks(), (422, None, Some("key-reused")));
        let read = Answered::read(other.status, &other.headers);
        assert_eq!(read, Answered::Refused, "sending it again changes nothing");
    }
    let corrected = front.ask(post("k2", "{\"amount\":2}")).await;
    assert_eq!(corrected.marks(), (201, Some("executed"), None));
}

/// 15: an error of the application is told apart from ours, and the published rule of its route says what becomes of it.
#[tokio::test(start_paused = true)]
async fn point_15_other_errors_follow_what_is_published() {
    let free = Some("nothing-happened");
    for (keep, again, word) in [
        (Keep::All, "replayed", None),
        (Keep::Final, "executed", free),
    ] {
        let policy = RoutePolicy {
            request: RequestPolicy {
                keep,
                ..RequestPolicy::default()
            },
            ..RoutePolicy::default()
        };
        let front = front(policy, |_| async { answer(429, "slow down") });
        let published = front.guard.published();
        let rule = published["routes"][0]["kept"].as_str().unwrap();
        assert_eq!(rule.contains("429"), keep == Keep::Final, "{rule}");
        assert_eq!(front.post("k").await.marks(), (429, Some("executed"), word));
        assert_eq!(front.post("k").await.marks(), (429, Some(again), word));
    }
    let front = front(RoutePolicy::default(), |_| async {
        answer(409, "sold out")
    });
    let told = front.post("k").await;
    assert_eq!(
        told.marks(),
        (409, Some("executed"), None),
        "no word of ours"
    );
    let read = Answered::read(told.status, &told.headers);
    assert_eq!(read, Answered::Final { replayed: false });
}

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

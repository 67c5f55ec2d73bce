//! Every kind of problem is provoked once, and no kind is left out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};
use surefoot_server::{REQUESTS_MAX, Token};
use surefoot_testkit::{Fault, Verb};

use crate::harness::{Answer, Api, request, with_json};

/// Every type of problem: the promise to clients.
const TYPES: [(&str, u16); 22] = [
    ("invalid-json", 400),
    ("unauthorized", 401),
    ("host-not-allowed", 403),
    ("cross-origin", 403),
    ("unknown-route", 404),
    ("not-found", 404),
    ("method-not-allowed", 405),
    ("request-timeout", 408),
    ("key-conflict", 409),
    ("stale-epoch", 409),
    ("held-by-a-node", 409),
    ("wrong-state", 409),
    ("effect-choice-required", 409),
    ("body-too-large", 413),
    ("unsupported-media-type", 415),
    ("invalid-field", 422),
    ("invalid-query", 422),
    ("store-refused", 500),
    ("internal", 500),
    ("too-many-streams", 503),
    ("no-answer-in-time", 503),
    ("store-unavailable", 503),
];

#[tokio::test]
async fn each_type_has_a_page_that_explains_it() {
    let api = Api::new();
    for (slug, status) in TYPES {
        let page = api.get(&format!("/problems/{slug}")).await;
        assert_eq!(page.status, 200, "{slug}");
        assert!(
            page.header("content-type").starts_with("text/plain"),
            "{slug}"
        );
        assert!(
            page.text.contains(&format!("({status})")),
            "{slug}: {}",
            page.text
        );
    }
    api.get("/problems/nonsense")
        .await
        .problem("not-found", 404);
    api.get("/problems/%ff").await.problem("not-found", 404);
}

#[tokio::test]
async fn a_problem_is_a_document_of_rfc_9457() {
    let answer = Api::new().get("/v1/jbos").await;
    let expected = json!({
        "type": "/problems/unknown-route",
        "title": "There is no such route",
        "status": 404,
        "detail": "there is no route /v1/jbos",
        "instance": "/v1/jbos",
        "remedy": "/openapi.json lists every route.",
    });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("content-type"), "application/problem+json");
}

#[tokio::test]
async fn an_answer_ends_its_line() {
    let api = Api::new();
    for path in ["/v1/jobs", "/v1/queues", "/v1/jbos", "/openapi.json"] {
        let text = api.get(path).await.text;
        assert!(text.ends_with("}\n"), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_says_where() {
    let api = Api::new();
    let table = [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{\"kind\":\"a\",}", "trailing comma at line 1 column 13"),
        (
            "{\"kind\":\"a\"} {}",
            "trailing characters at line 1 column 14",
        ),
        ("{'kind':'a'}", "key must be a string at line 1 column 2"),
        (
            "{\"kind\":\"\\ud800\"}",
            "unexpected end of hex escape at line 1 column 16",
        ),
    ];
    for (body, detail) in table {
        assert_eq!(
            api.post_text("/v1/jobs", body)
                .await
                .problem("invalid-json", 400),
            detail,
            "{body}"
        );
    }
    let broken = request(Method::POST, "/v1/jobs").header("content-type", "application/json");
    let broken = broken
        .body(Body::from(&b"{\"kind\":\"a\",\"payload\":\"\xff\"}"[..]))
        .unwrap();
    api.send(broken).await.problem("invalid-json", 400);
    for (body, what) in [
        ("[]", "an array"),
        (" [\"mail\", null, 7]", "an array"),
        ("null", "null"),
        ("7", "a number"),
        ("true", "a truth value"),
        ("\"kind\"", "a string"),
    ] {
        let answer = api.post_text("/v1/jobs", body).await;
        let detail = format!("the body is {what}, give an object");
        assert_eq!(answer.problem("invalid-field", 422), detail, "{body}");
    }
    api.post_text("/v1/jobs", "[1")
        .await
        .problem("invalid-json", 400);
}

#[tokio::test]
async fn a_body_must_be_called_json() {
    let api = Api::new();
    let with = |media_type: Option<&str>| {
        let mut request = request(Method::POST, "/v1/jobs");
        if let Some(media_type) = media_type {
            request = request.header("content-type", media_type);
        }
        request.body(Body::from(r#"{"kind":"a"}"#)).unwrap()
    };
    for refused in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/jsonp"),
        Some("text/json+json"),
    ] {
        api.send(with(refused))
            .await
            .problem("unsupported-media-type", 415);
    }
    for taken in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/vnd.api+json",
    ] {
        assert_eq!(api.send(with(Some(taken))).await.status, 202, "{taken}");
    }
}

#[tokio::test]
async fn a_body_is_bounded() {
    let api = Api::new();
    let of_payload =
        |bytes: usize| format!(r#"{{"kind":"a","payload":"{}"}}"#, "x".repeat(bytes - 2));
    assert_eq!(
        api.post_text("/v1/jobs", &of_payload(1024 * 1024))
            .await
            .status,
        202
    );
    let payload = api
        .post_text("/v1/jobs", &of_payload(1024 * 1024 + 1))
        .await;
    assert_eq!(
        payload.problem("body-too-large", 413),
        "payload has 1048577 bytes, at most 1048576 are accepted"
    );
    assert_eq!(payload.json()["field"], "payload");
    let body = api
        .post_text("/v1/jobs", &of_payload(2 * 1024 * 1024))
        .await;
    assert_eq!(
        body.problem("body-too-large", 413),
        "the body has more than 1114112 bytes"
    );
}

#[tokio::test]
async fn a_method_that_a_route_does_not_take_is_told_which_it_takes() {
    let api = Api::new();
    for (method, path, allowed) in [
        (Method::DELETE, "/v1/jobs", vec!["GET", "HEAD", "POST"]),
        (Method::GET, "/v1/leases", vec!["POST"]),
        (Method::POST, "/healthz", vec!["GET", "HEAD"]),
    ] {
        let answer = api
            .send(request(method, path).body(Body::empty()).unwrap())
            .await;
        answer.problem("method-not-allowed", 405);
        let mut given: Vec<&str> = answer.header("allow").split(',').map(str::trim).collect();
        given.sort_unstable();
        assert_eq!(given, allowed, "{path}");
    }
}

async fn stale(api: &Api) -> Answer {
    let id = api.enqueue(json!({"kind": "a"})).await;
    api.claim("a").await;
    api.post(&format!("/v1/leases/{id}/extend"), &json!({"epoch": 99}))
        .await
}

async fn undecided(api: &Api) -> Answer {
    let id = api.enqueue(json!({"kind": "refund"})).await;
    let epoch = api.claim("refund").await["epoch"].clone();
    api.post(
        &format!("/v1/leases/{id}/unknown"),
        &json!({"epoch": epoch}),
    )
    .await;
    api.post(&format!("/v1/jobs/{id}/replay"), &json!({})).await
}

async fn conflict(api: &Api) -> Answer {
    api.enqueue(json!({"kind": "a", "key": "k"})).await;
    api.post("/v1/jobs", &json!({"kind": "a", "key": "k", "payload": 1}))
        .await
}

async fn wrong_state(api: &Api) -> Answer {
    let id = api.enqueue(json!({"kind": "a"})).await;
    api.post(&format!("/v1/jobs/{id}/ignore"), &json!({"reason": "x"}))
        .await
}

async fn too_many_streams() -> Answer {
    let api = Api::with(|options| options.streams_max = 0);
    let id = api.enqueue(json!({"kind": "a"})).await;
    api.get(&format!("/v1/jobs/{id}/events")).await
}

async fn unavailable(api: &Api) -> Answer {
    api.store.next(Verb::Jobs, Fault::Before);
    api.get("/v1/jobs").await
}

async fn too_slow() -> Answer {
    let api = Api::with(|options| options.request_timeout = Duration::from_millis(50));
    api.store
        .next(Verb::Jobs, Fault::Delay(Duration::from_secs(5)));
    api.get("/v1/jobs").await
}

/// A panic in one route is that request's answer, and the server goes on.
async fn panicking() -> Answer {
    let api = Api::with(|options| options.readiness = Arc::new(|| panic!("a fault of ours")));
    let answer = api.get("/readyz").await;
    assert!(!answer.text.contains("a fault of ours"), "{}", answer.text);
    assert_eq!(api.get("/healthz").await.status, 200);
    let counted = r#"http_route="/readyz",http_response_status_code="500"} 1"#;
    assert!(api.get("/metrics").await.text.contains(counted));
    answer
}

async fn foreign_origin(api: &Api) -> Answer {
    let mut foreign = with_json(Method::POST, "/v1/jobs", "{}");
    foreign
        .headers_mut()
        .insert("origin", "https://evil.example".parse().unwrap());
    api.send(foreign).await
}

/// A body of which nothing ever arrives.
async fn silent_body(api: &Api) -> Answer {
    let body = Body::from_stream(futures_util::stream::pending::<
        Result<Vec<u8>, std::io::Error>,
    >());
    let silent = request(Method::POST, "/v1/jobs").header("content-type", "application/json");
    api.send(silent.body(body).unwrap()).await
}

#[tokio::test(start_paused = true)]
async fn every_type_that_a_caller_can_provoke_is_provoked() {
    let api = Api::new();
    let token = Token::from_secret("ops", "correct horse battery").unwrap();
    let guarded = Api::with(|options| options.tokens = vec![token]);
    let foreign_host = Request::builder()
        .uri("/v1/jobs")
        .header("host", "evil.example");
    let answers: Vec<(&str, Answer)> = vec![
        ("invalid-json", api.post_text("/v1/jobs", "{").await),
        ("unauthorized", guarded.get("/v1/jobs").await),
        (
            "host-not-allowed",
            api.send(foreign_host.body(Body::empty()).unwrap()).await,
        ),
        ("cross-origin", foreign_origin(&api).await),
        ("unknown-route", api.get("/v2").await),
        ("not-found", api.get("/v1/jobs/nonsense").await),
        ("method-not-allowed", api.get("/v1/leases").await),
        ("request-timeout", silent_body(&api).await),
        ("key-conflict", conflict(&Api::new()).await),
        ("stale-epoch", stale(&Api::new()).await),
        ("wrong-state", wrong_state(&api).await),
        ("effect-choice-required", undecided(&Api::new()).await),
        (
            "body-too-large",
            api.post_text("/v1/jobs", &" ".repeat(2 * 1024 * 1024))
                .await,
        ),
        (
            "unsupported-media-type",
            api.send(
                request(Method::POST, "/v1/jobs")
                    .body(Body::empty())
                    .unwrap(),
            )
            .await,
        ),
        ("invalid-field", api.post("/v1/jobs", &Value::Null).await),
        ("invalid-query", api.get("/v1/jobs?limit=0").await),
        ("too-many-streams", too_many_streams().await),
        ("internal", panicking().await),
        ("no-answer-in-time", too_slow().await),
        ("store-unavailable", unavailable(&Api::new()).await),
    ];
    let statuses: std::collections::BTreeMap<&str, u16> = TYPES.into_iter().collect();
    for (slug, answer) in &answers {
        answer.problem(slug, statuses[slug]);
        let retry = matches!(answer.status.as_u16(), 503);
        assert_eq!(!answer.header("retry-after").is_empty(), retry, "{slug}");
    }
    let provoked: BTreeSet<&str> = answers.iter().map(|(slug, _)| *slug).collect();
    let left: Vec<&str> = TYPES
        .iter()
        .map(|(slug, _)| *slug)
        .filter(|slug| !provoked.contains(slug))
        .collect();
    assert_eq!(
        left,
        ["held-by-a-node", "store-refused"],
        "the one needs a node, the other a fault of the database"
    );
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_limit_wait_and_probes_do_not() {
    let api = Api::new();
    let busy = Duration::from_secs(3);
    for _ in 0..REQUESTS_MAX {
        api.store.next(Verb::Jobs, Fault::Delay(busy));
    }
    let began = tokio::time::Instant::now();
    let all_slots = futures_util::future::join_all((0..REQUESTS_MAX).map(|_| api.get("/v1/jobs")));
    let one_more = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(api.get("/healthz").await.status, 200);
        assert_eq!(began.elapsed().as_secs(), 1);
        assert_eq!(api.get("/v1/queues").await.status, 200);
        began.elapsed()
    };
    let (answers, waited) = tokio::join!(all_slots, one_more);
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(waited, busy);
}

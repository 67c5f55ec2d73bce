//! Handing in and looking at one job.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};
use surefoot_testkit::{Fault, Verb};

use crate::harness::{Api, request, with_json};

/// A job as it is shown right after it was handed in, but for its id.
fn fresh(id: &str) -> Value {
    json!({
        "id": id,
        "tenant": "default",
        "kind": "refund",
        "key": "r-1",
        "queue": "money",
        "state": "pending",
        "status_text": "Planned for 10:32 UTC.",
        "attempts": [],
        "effects": [],
        "due_at": "2026-11-30T10:32:00.000000Z",
        "result": null,
        "enqueued_at": "2026-11-30T10:30:00.000000Z",
        "deadline_at": "2026-12-01T00:00:00.000000Z",
        "ended_at": null,
        "priority": -7,
        "order_key": "customer 9",
        "concurrency_key": "shop 3",
        "provider_key": id,
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "counts": {"starts": 0, "failed": 0, "crashed": 0, "deferred": 0, "unknown": 0},
        "error": null,
        "reason": null,
        "cancel_requested": false,
        "lease": null,
        "dead": null,
        "payload": {"amount": 1200},
        "revision": 0,
        "revisions": [],
        "actions": [],
    })
}

const WHOLE: &str = r#"{"kind":"refund","key":"r-1","payload":{"amount":1200},"queue":"money",
    "run_at":"2026-11-30T17:32:00+07:00","priority":-7,"order_key":"customer 9","deadline_at":"2026-12-01T00:00:00Z",
    "concurrency_key":"shop 3"}"#;

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn whole() -> axum::http::Request<Body> {
    let mut request = with_json(Method::POST, "/v1/jobs", WHOLE);
    request
        .headers_mut()
        .insert("traceparent", TRACE.parse().unwrap());
    request
}

#[tokio::test]
async fn a_job_is_created_once_and_then_existing() {
    let api = Api::new();
    let created = api.send(whole()).await;
    assert_eq!(created.status, 202, "{}", created.text);
    let mut answer = created.json();
    let id = answer["id"].as_str().unwrap().to_owned();
    assert_eq!(created.header("location"), format!("/v1/jobs/{id}"));
    assert_eq!(
        answer.as_object_mut().unwrap().remove("outcome"),
        Some(json!("created"))
    );
    assert_eq!(answer, fresh(&id));
    assert_eq!(api.job(&id).await, fresh(&id));

    let existing = api.send(whole()).await;
    assert_eq!(existing.status, 200, "{}", existing.text);
    assert_eq!(existing.header("location"), format!("/v1/jobs/{id}"));
    assert_eq!(existing.json()["outcome"], "existing");
    assert_eq!(existing.json()["id"], id);

    let other = api
        .post(
            "/v1/jobs",
            &json!({"kind": "refund", "key": "r-1", "payload": 9}),
        )
        .await;
    let detail = other.problem("key-conflict", 409);
    assert_eq!(
        detail,
        format!("the key belongs to job {id}, which was handed in with another payload")
    );
    assert_eq!(other.json()["job"], id);
}

#[tokio::test]
async fn only_the_kind_is_needed() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "report"})).await;
    let job = api.job(&id).await;
    for (field, expected) in [
        ("key", Value::Null),
        ("queue", json!("default")),
        ("payload", Value::Null),
        ("priority", json!(0)),
        ("order_key", Value::Null),
        ("deadline_at", Value::Null),
        ("traceparent", Value::Null),
        ("due_at", json!("2026-11-30T10:30:00.000000Z")),
        ("status_text", json!("Waiting for its turn.")),
    ] {
        assert_eq!(job[field], expected, "{field}");
    }
    assert_ne!(
        api.enqueue(json!({"kind": "report"})).await,
        id,
        "without a key nothing is deduplicated"
    );
}

/// Large integers, NUL, half surrogates, white space, key order, exponents: what goes in comes out.
#[tokio::test]
async fn symptom_135_136_payload_and_result_travel_byte_for_byte() {
    let api = Api::new();
    let values = [
        r#"{"n":9223372036854775807,"m":-9223372036854775808,"u":18446744073709551615}"#,
        r#"{"big":123456789012345678901234567890,"f":1.0,"e":1E+2,"z":-0}"#,
        r#""a\u0000b\ud800\/é""#,
        r#"{ "b" : 1 ,  "a" : [ ] }"#,
        "[1,2,\"\\u00e9\"]",
        "null",
        "\"\"",
    ];
    for value in values {
        let created = api
            .post_text(
                "/v1/jobs",
                &format!("{{\"kind\":\"report\",\"payload\":{value}}}"),
            )
            .await;
        assert!(
            created.text.contains(&format!("\"payload\":{value},")),
            "{value}: {}",
            created.text
        );
        let claimed = api
            .post("/v1/leases", &json!({"worker": "w", "kinds": ["report"]}))
            .await;
        assert!(
            claimed.text.contains(&format!("\"payload\":{value},")),
            "{value}: {}",
            claimed.text
        );
        // No parser that holds Unicode strings reads half a surrogate, so the id is taken from the header.
        let id = created.header("location").trim_start_matches("/v1/jobs/");
        let epoch = 1;
        let body = format!("{{\"epoch\":{epoch},\"result\":{value}}}");
        let succeeded = api
            .post_text(&format!("/v1/leases/{id}/succeed"), &body)
            .await;
        assert_eq!(succeeded.status, 200, "{}", succeeded.text);
        let shown = api.get(&format!("/v1/jobs/{id}")).await;
        assert!(
            shown.text.contains(&format!("\"result\":{value},")),
            "{value}: {}",
            shown.text
        );
    }
}

#[tokio::test]
async fn a_field_that_is_not_valid_is_refused_by_name() {
    let api = Api::new();
    let long = "k".repeat(256);
    let table = [
        (json!({}), "kind", "missing field `kind` at line 1 column 2"),
        (
            json!({"kind": ""}),
            "kind",
            "kind is empty; give 1 to 128 bytes",
        ),
        (
            json!({"kind": 7}),
            "kind",
            "invalid type: integer `7`, expected a string at line 1 column 9",
        ),
        (
            json!({"kind": "a", "ky": "x"}),
            "ky",
            "unknown field `ky`, expected one of `kind`, `key`, `payload`, `queue`, \
            `run_at`, `priority`, `order_key`, `deadline_at`, `concurrency_key` at line 1 column 16",
        ),
        (
            json!({"kind": "a b"}),
            "kind",
            "kind holds the character ' ' at byte 1; use letters, digits and _ . : / -",
        ),
        (
            json!({"kind": "a", "key": long}),
            "key",
            "key has 256 bytes, at most 255 are taken; shorten it or use a digest of it",
        ),
        (
            json!({"kind": "a", "key": "x\u{0}"}),
            "key",
            "key holds the character '\\0' at byte 1; use any character but control characters",
        ),
        (
            json!({"kind": "a", "queue": "q q"}),
            "queue",
            "queue holds the character ' ' at byte 1; use letters, digits and _ . : / -",
        ),
        (
            json!({"kind": "a", "order_key": ""}),
            "order_key",
            "order_key is empty; give 1 to 255 bytes",
        ),
        (
            json!({"kind": "a", "concurrency_key": ""}),
            "concurrency_key",
            "concurrency_key is empty; give 1 to 255 bytes",
        ),
        (
            json!({"kind": "a", "priority": 101}),
            "priority",
            "priority is 101, give -100 to 100",
        ),
        (
            json!({"kind": "a", "run_at": "soon"}),
            "run_at",
            "\"soon\" is not a time; write 2026-11-30T10:32:00Z",
        ),
        (
            json!({"kind": "a", "run_at": "2026-11-30T10:00:00Z", "deadline_at": "2026-11-30T10:00:00Z"}),
            "deadline_at",
            "the deadline, by deadline_at or by the kind's policy, is not after run_at, so the job could never run",
        ),
        (
            json!({"kind": "a", "deadline_at": "2026-11-30T10:00:00Z"}),
            "deadline_at",
            "deadline_at has passed, so the job could never run",
        ),
    ];
    for (body, field, detail) in table {
        let answer = api.post("/v1/jobs", &body).await;
        let given = answer.problem("invalid-field", 422);
        assert!(given.starts_with(detail), "{body}: {given}");
        assert_eq!(
            answer.json()["field"].as_str().unwrap_or_default(),
            field,
            "{body}"
        );
    }
    let twice = api
        .post_text("/v1/jobs", r#"{"kind":"a","payload":{"x":1,"x":2}}"#)
        .await;
    assert!(
        twice
            .problem("invalid-field", 422)
            .contains("this key is in the object already")
    );
    assert_eq!(twice.json()["field"], "payload");
    assert_eq!(
        api.get("/v1/jobs").await.json()["jobs"],
        json!([]),
        "nothing was written"
    );
}

#[tokio::test]
async fn a_broken_trace_context_does_not_stop_a_job() {
    let api = Api::new();
    let mut request = with_json(Method::POST, "/v1/jobs", r#"{"kind":"a"}"#);
    request
        .headers_mut()
        .insert("traceparent", "nonsense".parse().unwrap());
    let answer = api.send(request).await;
    assert_eq!(answer.status, 202);
    assert_eq!(answer.json()["traceparent"], Value::Null);
}

/// The store goes away between the commit and the read of the answer: the caller must not hand the job in again.
#[tokio::test]
async fn a_job_that_is_durable_is_acknowledged_though_it_cannot_be_read() {
    let api = Api::new();
    api.store.next(Verb::Job, Fault::Before);
    let answer = api.send(whole()).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let mut shown = answer.json();
    assert_eq!(
        shown.as_object_mut().unwrap().remove("outcome"),
        Some(json!("created"))
    );
    let id = shown["id"].as_str().unwrap();
    assert_eq!(shown, fresh(id));
    assert_eq!(api.job(id).await, fresh(id));
}

#[tokio::test]
async fn an_answer_that_was_lost_is_no_second_job() {
    let api = Api::new();
    api.store.next(Verb::Enqueue, Fault::After);
    assert_eq!(api.send(whole()).await.status, 202);
    assert_eq!(
        api.get("/v1/jobs").await.json()["jobs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn the_reader_chooses_the_language_of_the_sentence() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "refund"})).await;
    let epoch = api.claim("refund").await["epoch"].clone();
    let failure = json!({"epoch": epoch, "class": "transient", "retry_after_ms": 3_600_000});
    api.post(&format!("/v1/leases/{id}/fail"), &failure).await;
    let mut texts = Vec::new();
    for (accepted, language) in [
        ("vi-VN,vi;q=0.9,en;q=0.5", "vi"),
        ("fr;q=1, en;q=0.1", "en"),
        ("", "en"),
    ] {
        for path in [format!("/v1/jobs/{id}"), "/v1/jobs".to_owned()] {
            let request = request(Method::GET, &path).header("accept-language", accepted);
            let answer = api.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.header("content-language"), language);
            assert_eq!(answer.header("vary"), "accept-language");
            let json = answer.json();
            let job = if path == "/v1/jobs" {
                &json["jobs"][0]
            } else {
                &json
            };
            texts.push(
                job["status_text"]
                    .as_str()
                    .unwrap()
                    .chars()
                    .take(18)
                    .collect::<String>(),
            );
        }
    }
    let (vietnamese, english) = ("Gặp lỗi tạm thời; ", "A temporary fault;");
    assert_eq!(
        texts,
        [vietnamese, vietnamese, english, english, english, english]
    );
}

#[tokio::test]
async fn a_job_that_is_not_there_is_a_problem() {
    let api = Api::new();
    let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
    let answer = api.get(&format!("/v1/jobs/{unknown}")).await;
    assert_eq!(
        answer.problem("not-found", 404),
        format!("there is no job {unknown}")
    );
    assert_eq!(answer.json()["instance"], format!("/v1/jobs/{unknown}"));
    let detail = api.get("/v1/jobs/nonsense").await.problem("not-found", 404);
    assert_eq!(
        detail,
        "\"nonsense\" is not a job id; it looks like 01890a5d-ac96-774b-bcce-b302099a8057"
    );
}

//! Requests of the front door: what is shown of them, and what witnesses may say.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Tenant, Worker};
use surefoot_core::request::{
    Arrived, Clocks, Content, End, Fingerprint, Finish, Identity, Kept, NewRequest, Operation,
    Request, RequestId, RequestKey, StoredResponse, finish,
};
use surefoot_core::time::Clock;
use surefoot_http::{DoorEvent, DoorObserver, Round, Said, problem};
use surefoot_testkit::{Fault, Verb};

use crate::harness::{Answer, Api};

fn identity(tenant: &str, key: &str) -> Identity {
    Identity {
        tenant: Tenant::new(tenant).unwrap(),
        key: RequestKey::new(key).unwrap(),
    }
}

/// Claims a key; the lease and what settles take a minute each.
async fn claimed(api: &Api, tenant: &str, key: &str) -> Request {
    let operation = Operation::new("POST", "/charges/{id}").unwrap();
    let now = api.clock.now();
    let mut random = [0; 10];
    random[..key.len().min(10)].copy_from_slice(&key.as_bytes()[..key.len().min(10)]);
    let identity = identity(tenant, key);
    let content = Content {
        operation: &operation,
        path: "/charges/7",
        query: None,
        content_type: None,
        body: b"{}",
    };
    let new = NewRequest {
        id: RequestId::new(now, random),
        fingerprint: Fingerprint::of(&identity, &content),
        identity,
        operation,
        clocks: Clocks::default(),
        holder: Worker::new("proxy-1").unwrap(),
    };
    match api.requests.begin(&new, now).await.unwrap() {
        Arrived::Run(request) => *request,
        other => panic!("{other:?}"),
    }
}

async fn ended(api: &Api, request: &Request, end: End) -> Request {
    let finished = match finish(request, request.epoch, end, api.clock.now()) {
        Finish::Write(next) => *next,
        other => panic!("{other:?}"),
    };
    api.requests.write_request(&finished).await.unwrap();
    finished
}

/// A request whose outcome nobody knows, after all of it has settled.
async fn unknown(api: &Api, tenant: &str, key: &str) -> Request {
    let request = claimed(api, tenant, key).await;
    let request = ended(api, &request, End::Unknown("no answer in time".into())).await;
    api.clock.advance(Duration::from_secs(121));
    request
}

async fn resolve(api: &Api, key: &str, body: Value) -> Answer {
    api.post(&format!("/v1/requests/{key}/resolve"), &body)
        .await
}

async fn shown(api: &Api, key: &str) -> Value {
    let answer = api.get(&format!("/v1/requests/{key}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn a_request_is_shown_with_the_answer_that_is_replayed() {
    let api = Api::new();
    let request = claimed(&api, "default", "a/b").await;
    let running = shown(&api, "a%2Fb").await;
    assert_eq!(
        (&running["state"], &running["holder"], &running["response"]),
        (&json!("claimed"), &json!("proxy-1"), &Value::Null)
    );
    assert_eq!(running["lease_until"], "2026-11-30T10:31:00.000000Z");
    let kept = Kept::Response(StoredResponse {
        status: 201,
        headers: vec![("location".to_owned(), b"/charges/7".to_vec())],
        body: b"\xff\0".to_vec(),
    });
    ended(&api, &request, End::Answered(kept)).await;
    let record = shown(&api, "a%2Fb").await;
    let expected = json!({
        "status": 201,
        "headers": [{"name": "location", "value": "/charges/7"}],
        "body_bytes": 2,
        "body": null,
        "body_base64": "/wA=",
    });
    assert_eq!(record["response"], expected);
    for (field, expected) in [
        ("id", json!(request.id.to_string())),
        ("tenant", json!("default")),
        ("key", json!("a/b")),
        ("method", json!("POST")),
        ("route", json!("/charges/{id}")),
        ("state", json!("finished")),
        ("status", json!(201)),
        ("epoch", json!(1)),
        ("lease_until", Value::Null),
        ("tombstone", Value::Null),
        ("expires_at", json!("2026-12-01T10:30:00.000000Z")),
        ("forget_at", json!("2026-12-07T10:30:00.000000Z")),
    ] {
        assert_eq!(record[field], expected, "{field}");
    }
    assert_eq!(record["witness"]["kind"], "answer");
}

#[tokio::test]
async fn the_rules_of_the_front_door_are_shown_where_there_is_one() {
    let none = Api::new();
    none.get("/v1/front-door").await.problem("not-found", 404);
    let rules = json!({"header": "Idempotency-Key", "routes": []});
    let api = Api::with(|options| options.front_door = Some(rules.clone()));
    let answer = api.get("/v1/front-door").await;
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.json(), rules);
}

#[tokio::test]
async fn a_key_counts_within_its_tenant() {
    let api = Api::new();
    claimed(&api, "acme", "k").await;
    api.get("/v1/requests/k").await.problem("not-found", 404);
    let answer = api.get("/v1/requests/k?tenant=acme").await;
    assert_eq!(answer.json()["tenant"], "acme", "{}", answer.text);
    api.get("/v1/requests/k?tenant=a%20b")
        .await
        .problem("invalid-query", 422);
    let body = json!({"verdict": "did_not_happen"});
    resolve(&api, "k", body.clone())
        .await
        .problem("not-found", 404);
    let mut named = body;
    named["tenant"] = json!("acme");
    resolve(&api, "k", named).await.problem("too-early", 409);
    let all = api.get("/v1/requests?key=k").await.json();
    assert_eq!(all["requests"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn pages_go_back_in_time_and_filters_narrow_them() {
    let api = Api::new();
    for key in ["a", "b", "c"] {
        claimed(&api, "default", key).await;
        api.clock.advance(Duration::from_millis(5));
    }
    let request = claimed(&api, "acme", "d").await;
    ended(&api, &request, End::NothingHappened("refused".into())).await;
    let keys = |page: &Value| -> Vec<String> {
        let requests = page["requests"].as_array().unwrap().iter();
        requests
            .map(|request| request["key"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = api.get("/v1/requests?limit=3").await.json();
    assert_eq!(keys(&first), ["d", "c", "b"]);
    let next = first["next"].as_str().unwrap();
    let last = api
        .get(&format!("/v1/requests?limit=3&before={next}"))
        .await
        .json();
    assert_eq!(
        (keys(&last), &last["next"]),
        (vec!["a".to_owned()], &Value::Null)
    );
    for (query, expected) in [
        ("state=released", vec!["d"]),
        ("tenant=default", vec!["c", "b", "a"]),
        ("key=b", vec!["b"]),
        ("key=b&state=finished", vec![]),
    ] {
        let page = api.get(&format!("/v1/requests?{query}")).await.json();
        assert_eq!(keys(&page), expected, "{query}");
    }
    for query in [
        "limit=201",
        "state=done",
        "before=x",
        "key=%20",
        "stat=unknown",
    ] {
        let answer = api.get(&format!("/v1/requests?{query}")).await;
        answer.problem("invalid-query", 422);
    }
}

#[tokio::test]
async fn the_word_of_a_person_is_the_answer_from_then_on() {
    let api = Api::new();
    unknown(&api, "default", "k").await;
    let told = json!({"verdict": "happened", "status": 201, "headers": [{"name": "Location", "value": "/charges/7"}],
        "body": "{\"id\":7}", "actor": "an", "reason": "seen in their console"});
    let answer = resolve(&api, "k", told.clone()).await;
    let outcome = answer.json();
    assert_eq!(
        (&outcome["outcome"], &outcome["state"]),
        (&json!("settled"), &json!("finished"))
    );
    let record = shown(&api, "k").await;
    assert_eq!(record["response"]["headers"][0]["name"], "location");
    assert_eq!(record["response"]["body"], "{\"id\":7}");
    let witness = json!({"kind": "person", "actor": "an", "reason": "seen in their console"});
    assert_eq!(record["witness"], witness);

    assert_eq!(resolve(&api, "k", told).await.json()["outcome"], "same");
    let other = json!({"verdict": "did_not_happen", "actor": "psp webhook"});
    assert_eq!(
        resolve(&api, "k", other).await.json()["outcome"],
        "disputed"
    );
    let record = shown(&api, "k").await;
    assert_eq!(
        (&record["state"], &record["disputed"]),
        (&json!("finished"), &json!(1))
    );
    assert_eq!(record["disputes"][0]["said"], "did_not_happen");
    assert_eq!(record["disputes"][0]["witness"]["kind"], "caller");
}

/// Each word of a witness counts by whose it is, what it says and what became of it.
#[tokio::test]
async fn every_word_of_a_witness_is_counted() {
    let api = Api::new();
    unknown(&api, "default", "k").await;
    let person =
        json!({"verdict": "did_not_happen", "actor": "an", "reason": "not in their console"});
    let caller = json!({"verdict": "happened", "status": 201});
    for (key, word) in [
        ("k", &person),
        ("k", &person),
        ("k", &caller),
        ("nobody-has-it", &person),
    ] {
        resolve(&api, key, word.clone()).await;
    }
    claimed(&api, "default", "runs").await;
    resolve(&api, "runs", caller).await;
    let metrics = api.get("/metrics").await.text;
    for (by, said, outcome, count) in [
        ("person", "did_not_happen", "settled", 1),
        ("person", "did_not_happen", "same", 1),
        ("caller", "happened", "disputed", 1),
        ("caller", "happened", "too_early", 1),
        ("person", "happened", "settled", 0),
    ] {
        let line = format!(
            "surefoot_requests_resolved_total{{by=\"{by}\",said=\"{said}\",outcome=\"{outcome}\"}} {count}\n"
        );
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }
    assert!(
        metrics.contains("surefoot_requests_disputed_total 1\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_did_not_happen_may_run_and_who_contradicts_takes_the_key_back() {
    let api = Api::new();
    let request = unknown(&api, "default", "k").await;
    let answer = resolve(&api, "k", json!({"verdict": "did_not_happen"})).await;
    assert_eq!(answer.json()["state"], "released", "{}", answer.text);
    let again = resolve(&api, "k", json!({"verdict": "happened", "status": 200})).await;
    assert_eq!(again.json()["outcome"], "disputed", "{}", again.text);
    let record = shown(&api, "k").await;
    assert_eq!(record["state"], "needs_human", "{record:#}");
    assert_eq!(record["id"], request.id.to_string());
}

#[tokio::test]
async fn who_does_not_know_what_was_answered_leaves_a_tombstone() {
    let api = Api::new();
    unknown(&api, "default", "k").await;
    resolve(&api, "k", json!({"verdict": "happened", "status": 204})).await;
    let record = shown(&api, "k").await;
    let expected = json!({"status": 204, "reason": "known_from_elsewhere", "body_bytes": null, "body_sha256": null});
    assert_eq!(
        (&record["tombstone"], &record["response"]),
        (&expected, &Value::Null)
    );
    unknown(&api, "default", "binary").await;
    let told = json!({"verdict": "happened", "status": 200, "body_base64": "/wA="});
    resolve(&api, "binary", told).await;
    assert_eq!(
        shown(&api, "binary").await["response"]["body_base64"],
        "/wA="
    );
}

#[tokio::test]
async fn what_may_still_take_effect_is_not_decided() {
    let api = Api::new();
    let request = claimed(&api, "default", "k").await;
    let happened = json!({"verdict": "happened", "status": 200, "body": ""});
    let running = resolve(&api, "k", happened.clone()).await;
    running.problem("too-early", 409);
    assert_eq!(running.header("retry-after"), "61");
    ended(&api, &request, End::Unknown("no answer in time".into())).await;
    let early = resolve(&api, "k", json!({"verdict": "did_not_happen"})).await;
    early.problem("too-early", 409);
    assert_eq!(shown(&api, "k").await["state"], "unknown");
    assert_eq!(
        resolve(&api, "k", happened).await.json()["outcome"],
        "settled"
    );
}

#[tokio::test]
async fn what_cannot_be_an_answer_is_refused_by_field() {
    let api = Api::new();
    unknown(&api, "default", "k").await;
    for (body, field) in [
        (json!({"verdict": "happened"}), "status"),
        (json!({"verdict": "happened", "status": 100}), "status"),
        (
            json!({"verdict": "happened", "status": 200, "headers": [{"name": "set-cookie", "value": "a"}], "body": ""}),
            "headers",
        ),
        (
            json!({"verdict": "happened", "status": 200, "headers": [{"name": "etag", "value": "a"}]}),
            "headers",
        ),
        (
            json!({"verdict": "happened", "status": 200, "body": "", "body_base64": ""}),
            "body_base64",
        ),
        (
            json!({"verdict": "happened", "status": 200, "body_base64": "?"}),
            "body_base64",
        ),
        (
            json!({"verdict": "did_not_happen", "status": 200}),
            "verdict",
        ),
        (json!({"verdict": "did_not_happen", "tenant": ""}), "tenant"),
        (
            json!({"verdict": "did_not_happen", "reason": " "}),
            "reason",
        ),
        (json!({"verdict": "still_unknown"}), "verdict"),
    ] {
        let answer = resolve(&api, "k", body.clone()).await;
        answer.problem("invalid-field", 422);
        assert_eq!(answer.json()["field"], field, "{body}: {}", answer.text);
    }
    assert_eq!(shown(&api, "k").await["state"], "unknown");
    resolve(&api, "nobody", json!({"verdict": "did_not_happen"}))
        .await
        .problem("not-found", 404);
    resolve(&api, "%20", json!({"verdict": "did_not_happen"}))
        .await
        .problem("not-found", 404);
}

/// The answer to the write is lost: the same word again is taken in as what it is.
#[tokio::test]
async fn a_word_that_was_cut_off_may_be_repeated() {
    let api = Api::new();
    unknown(&api, "default", "k").await;
    api.store.next(Verb::WriteRequest, Fault::After);
    let told = json!({"verdict": "happened", "status": 200, "body": ""});
    resolve(&api, "k", told.clone())
        .await
        .problem("store-unavailable", 503);
    assert_eq!(resolve(&api, "k", told).await.json()["outcome"], "same");
}

#[tokio::test(start_paused = true)]
async fn what_is_open_and_for_how_long_is_on_the_metrics() {
    let api = Api::new();
    claimed(&api, "default", "running").await;
    for key in ["a", "b"] {
        let request = claimed(&api, "default", key).await;
        ended(&api, &request, End::Unknown("no answer".into())).await;
        api.clock.advance(Duration::from_secs(5));
    }
    let told = api.get("/metrics").await.text;
    for line in [
        "surefoot_requests_open{state=\"claimed\"} 1",
        "surefoot_requests_open{state=\"unknown\"} 2",
        "surefoot_requests_open{state=\"needs_human\"} 0",
        "surefoot_oldest_unknown_request_age_seconds 10.0",
        "surefoot_requests_disputed_total 0",
    ] {
        assert!(told.contains(line), "{line} is missing in {told}");
    }
    tokio::time::advance(Duration::from_secs(6)).await;
    api.store.next(Verb::RequestDepth, Fault::Before);
    let away = api.get("/metrics").await.text;
    assert!(away.contains("surefoot_store_up 0"), "{away}");
    assert!(!away.contains("surefoot_requests_open"), "{away}");
}

/// The words of the front door are counted as they are said, and each kind of answer has its series from the beginning.
#[tokio::test]
async fn every_answer_of_the_front_door_has_its_series() {
    let api = Api::new();
    let metrics = api.metrics.clone();
    let operation = Operation::new("POST", "*").unwrap();
    let tell = |event: &DoorEvent<'_>| DoorObserver::on(&*metrics, event);
    for kind in problem::ALL {
        tell(&DoorEvent::Answered {
            operation: Some(&operation),
            said: Said::Guard(kind),
            status: kind.status,
            took: Duration::ZERO,
        });
    }
    let round = Round {
        lapsed: 1,
        completed: 2,
        released: 3,
        open: 4,
        needs_human: 5,
        outrun: 6,
        forgotten: 7,
    };
    tell(&DoorEvent::Reconciled(&round));
    let cause = StoreError::Unavailable("gone".into());
    tell(&DoorEvent::StoreError {
        verb: "begin",
        error: &cause,
    });
    let id = RequestId::new(surefoot_core::time::Timestamp::MIN, [0; 10]);
    tell(&DoorEvent::LeaseLost { request: id });
    tell(&DoorEvent::RunEnded {
        operation: &operation,
        request: id,
        end: &End::Unknown("why".into()),
        took: Duration::ZERO,
    });
    let told = api.get("/metrics").await.text;
    let mut expected: Vec<String> = problem::ALL
        .iter()
        .map(|kind| format!("surefoot_requests_total{{outcome=\"{}\"}} 1", kind.slug))
        .collect();
    let rounds = [
        ("lapsed", 1),
        ("completed", 2),
        ("released", 3),
        ("open", 4),
        ("needs_human", 5),
        ("outrun", 6),
    ];
    expected.extend(rounds.map(|(word, count)| {
        format!("surefoot_requests_reconciled_total{{outcome=\"{word}\"}} {count}")
    }));
    expected.extend(
        [
            "surefoot_requests_total{outcome=\"executed\"} 0",
            "surefoot_requests_reconcile_rounds_total 1",
            "surefoot_requests_forgotten_total 7",
            "surefoot_requests_leases_lost_total 1",
            "surefoot_requests_run_total{outcome=\"unknown\"} 1",
            "surefoot_requests_run_total{outcome=\"answered\"} 0",
            "surefoot_store_errors_total{verb=\"begin\"} 1",
        ]
        .map(str::to_owned),
    );
    for line in expected {
        assert!(told.contains(&line), "{line} is missing in {told}");
    }
}

//! Whatever comes in, the answer is no fault of the server, and a refusal is a problem document.

use axum::body::Body;
use axum::http::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Api, request};

const ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

const TARGETS: [(&str, &str); 13] = [
    ("POST", "/v1/jobs"),
    ("POST", "/v1/leases"),
    ("POST", "/v1/leases/{id}/extend"),
    ("POST", "/v1/leases/{id}/succeed"),
    ("POST", "/v1/leases/{id}/fail"),
    ("POST", "/v1/leases/{id}/unknown"),
    ("POST", "/v1/jobs/{id}/cancel"),
    ("POST", "/v1/jobs/{id}/replay"),
    ("POST", "/v1/jobs/{id}/ignore"),
    ("PUT", "/v1/jobs/{id}/payload"),
    ("POST", "/v1/queues/default/pause"),
    ("POST", "/v1/queues/default/resume"),
    ("DELETE", "/v1/jobs"),
];

const FIELDS: [&str; 20] = [
    "kind",
    "key",
    "payload",
    "queue",
    "run_at",
    "priority",
    "order_key",
    "deadline_at",
    "concurrency_key",
    "worker",
    "kinds",
    "queues",
    "max",
    "epoch",
    "result",
    "class",
    "error",
    "retry_after_ms",
    "effect",
    "reason",
];

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop_oneof![
            Just("mail"),
            Just("transient"),
            Just("permanent"),
            Just("same"),
            Just("2026-11-30T10:32:00Z")
        ]
        .prop_map(Value::from),
        (-200_i64..200).prop_map(Value::from),
        Just(json!(["mail"])),
    ]
}

/// A body with the right field names and any values.
fn body() -> impl Strategy<Value = String> {
    let field = prop_oneof![9 => prop::sample::select(&FIELDS[..]).prop_map(str::to_owned), 1 => "[a-z]{1,5}"];
    prop::collection::btree_map(field, leaf(), 0..8).prop_map(|fields| json!(fields).to_string())
}

fn any_body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => body().prop_map(String::into_bytes),
        1 => "[\\[\\]{}:,\"0-9a-z\\\\ud8 ]{0,40}".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..64),
    ]
}

async fn check(api: &Api, method: &str, path: &str, body: Vec<u8>) -> Result<(), TestCaseError> {
    let request =
        request(method.parse::<Method>().unwrap(), path).header("content-type", "application/json");
    let Ok(request) = request
        .header("content-length", body.len())
        .body(Body::from(body))
    else {
        return Ok(());
    };
    let answer = api.send(request).await;
    prop_assert!(answer.status.as_u16() < 500, "{path}: {}", answer.text);
    if answer.status.as_u16() >= 400 {
        prop_assert_eq!(answer.header("content-type"), "application/problem+json");
        prop_assert_eq!(&answer.json()["status"], answer.status.as_u16());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_body_is_a_fault_of_the_server(target in prop::sample::select(&TARGETS[..]), body in any_body()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let api = Api::new();
            let id = api.dead(json!({"kind": "mail"})).await;
            let (method, path) = target;
            for id in [id.as_str(), ID] {
                check(&api, method, &path.replace("{id}", id), body.clone()).await?;
            }
            Ok::<(), TestCaseError>(())
        })?;
    }

    #[test]
    fn no_path_or_query_is_a_fault_of_the_server(path in "/(v1|problems|%)/[a-z%/?=&0-9]{0,24}", query in "[ -~]{0,24}") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let api = Api::new();
            let query = query.replace([' ', '"', '<', '>', '#', '`', '{', '}', '\\', '^', '|'], "%");
            for path in [path.clone(), format!("/v1/jobs?{query}"), format!("/v1/jobs/{}", query.replace('?', ""))] {
                if path.parse::<axum::http::Uri>().is_ok() {
                    check(&api, "GET", &path, Vec::new()).await?;
                }
            }
            Ok::<(), TestCaseError>(())
        })?;
    }
}

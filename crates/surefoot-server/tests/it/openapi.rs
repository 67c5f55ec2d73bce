//! The OpenAPI document says what the router does.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Method;
use serde_json::Value;

use crate::harness::{Api, request, with_json};

/// The id of no job.
const NOBODY: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Every route, by hand: the promise to clients.
const ROUTES: [(&str, &str); 38] = [
    ("get", "/healthz"),
    ("get", "/metrics"),
    ("get", "/openapi.json"),
    ("get", "/problems/{slug}"),
    ("get", "/readyz"),
    ("get", "/v1/dead"),
    ("get", "/v1/deliveries"),
    ("get", "/v1/dependencies"),
    ("get", "/v1/effects/{key}"),
    ("get", "/v1/front-door"),
    ("get", "/v1/jobs"),
    ("get", "/v1/jobs/{id}"),
    ("get", "/v1/jobs/{id}/events"),
    ("get", "/v1/messages/{id}"),
    ("get", "/v1/queues"),
    ("get", "/v1/requests"),
    ("get", "/v1/requests/{key}"),
    ("get", "/v1/sinks"),
    ("post", "/v1/dependencies/{name}/breaker"),
    ("post", "/v1/effects/{key}/verdict"),
    ("post", "/v1/jobs"),
    ("post", "/v1/jobs/{id}/cancel"),
    ("post", "/v1/jobs/{id}/ignore"),
    ("post", "/v1/jobs/{id}/replay"),
    ("post", "/v1/leases"),
    ("post", "/v1/leases/{job}/effects"),
    ("post", "/v1/leases/{job}/effects/{place}/answer"),
    ("post", "/v1/leases/{job}/effects/{place}/verdict"),
    ("post", "/v1/leases/{job}/extend"),
    ("post", "/v1/leases/{job}/fail"),
    ("post", "/v1/leases/{job}/succeed"),
    ("post", "/v1/leases/{job}/unknown"),
    ("post", "/v1/messages"),
    ("post", "/v1/messages/{id}/deliveries/{sink}/again"),
    ("post", "/v1/messages/{id}/deliveries/{sink}/skip"),
    ("post", "/v1/queues/{queue}/pause"),
    ("post", "/v1/queues/{queue}/resume"),
    ("post", "/v1/requests/{key}/resolve"),
];

async fn document() -> Value {
    let answer = Api::new().get("/openapi.json").await;
    assert_eq!(answer.header("content-type"), "application/json");
    answer.json()
}

fn operations(document: &Value) -> Vec<(&str, &str, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = |item: &'static str| item;
    let mut all = Vec::new();
    for (path, item) in paths {
        for method in ["get", "put", "post", "delete", "patch", "head", "options"].map(methods) {
            if let Some(operation) = item.get(method) {
                all.push((method, path.as_str(), operation));
            }
        }
    }
    all
}

#[tokio::test]
async fn it_holds_every_route_and_the_router_takes_each() {
    let document = document().await;
    let found: BTreeSet<(&str, &str)> = operations(&document)
        .iter()
        .map(|(method, path, _)| (*method, *path))
        .collect();
    let mut expected = BTreeSet::from(ROUTES);
    expected.insert(("put", "/v1/jobs/{id}/payload"));
    assert_eq!(found, expected);
    let api = Api::new();
    for (method, path) in found {
        let method: Method = method.to_uppercase().parse().unwrap();
        let path = path.replace("{slug}", "internal").replace(['{', '}'], "");
        let answer = api
            .send(request(method, &path).body(Body::empty()).unwrap())
            .await;
        assert_ne!(answer.status, 405, "{path}");
        assert!(!answer.text.contains("unknown-route"), "{path}");
    }
}

#[tokio::test]
async fn it_is_version_3_1_and_every_reference_resolves() {
    let document = document().await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    let mut references = 0;
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let pointer = reference.strip_prefix('#').expect("a local reference");
                    assert!(
                        document.pointer(pointer).is_some(),
                        "{reference} leads nowhere"
                    );
                    references += 1;
                }
                open.extend(map.values());
            }
            Value::Array(values) => open.extend(values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    assert!(references > 50, "only {references} references were found");
}

#[tokio::test]
async fn every_operation_has_its_own_id_a_summary_and_documented_problems() {
    let document = document().await;
    let mut ids = BTreeSet::new();
    for (method, path, operation) in operations(&document) {
        let name = format!("{method} {path}");
        assert!(
            ids.insert(operation["operationId"].as_str().unwrap().to_owned()),
            "{name}: operationId"
        );
        assert!(
            operation["summary"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{name}: summary"
        );
        let responses = operation["responses"].as_object().unwrap();
        if !path.starts_with("/v1/") {
            continue;
        }
        let mut needed = vec!["401", "403", "500", "503"];
        if operation.get("requestBody").is_some() {
            needed.extend(["400", "413", "415", "422"]);
        }
        if path.contains("{id}") || path.contains("{job}") {
            needed.push("404");
        }
        for status in needed {
            let schema =
                &responses[status]["content"]["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{name}: {status}");
        }
    }
}

#[tokio::test]
async fn the_wire_names_are_in_the_schemas() {
    let document = document().await;
    let properties = |schema: &str| -> BTreeSet<String> {
        let schema = &document["components"]["schemas"][schema];
        let parts = schema["allOf"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![schema.clone()]);
        let resolved = parts.iter().map(|part| match part["$ref"].as_str() {
            Some(reference) => document.pointer(&reference[1..]).unwrap().clone(),
            None => part.clone(),
        });
        resolved
            .flat_map(|part| part["properties"].as_object().cloned().unwrap_or_default())
            .map(|(name, _)| name)
            .collect()
    };
    for (schema, names) in [
        (
            "Enqueue",
            "kind key payload queue run_at priority order_key deadline_at concurrency_key",
        ),
        (
            "Job",
            "id kind key queue state status_text attempts effects due_at result enqueued_at payload",
        ),
        (
            "Attempt",
            "number epoch worker started_at ended_at outcome error",
        ),
        ("Claim", "worker kinds queues max"),
        (
            "Lease",
            "job epoch kind key payload attempt provider_key lease_until timeout_ms traceparent",
        ),
        ("Succeed", "epoch result"),
        ("Fail", "epoch class error retry_after_ms"),
        ("Unknown", "epoch error"),
        ("Extend", "epoch"),
        ("JobPage", "jobs next"),
        ("Problem", "type title status detail instance remedy"),
    ] {
        let found = properties(schema);
        for name in names.split(' ') {
            assert!(found.contains(name), "{schema} has no {name}: {found:?}");
        }
    }
    for (schema, words) in [("State", 8), ("Recovery", 3), ("EffectRecoveryName", 5)] {
        let listed = &document["components"]["schemas"][schema]["enum"];
        assert_eq!(listed.as_array().unwrap().len(), words, "{listed}");
    }
}

/// A parameter that a route does not know is a typing error, on every route.
#[tokio::test]
async fn every_route_refuses_a_parameter_that_is_not_in_the_document() {
    let api = Api::new();
    let document = document().await;
    for (method, path, operation) in operations(&document) {
        let schema =
            &operation["responses"]["422"]["content"]["application/problem+json"]["schema"]["$ref"];
        assert_eq!(schema, "#/components/schemas/Problem", "{method} {path}");
        let method: Method = method.to_uppercase().parse().unwrap();
        let path = path.replace("{slug}", "internal").replace(['{', '}'], "");
        let asked = request(method, &format!("{path}?limti=1")).header("content-length", 0);
        let answer = api.send(asked.body(Body::empty()).unwrap()).await;
        let detail = answer.problem("invalid-query", 422);
        assert!(detail.contains("limti"), "{path}: {detail}");
    }
}

/// What the document calls required, nullable or optional in a body is what the routes refuse and take.
#[tokio::test]
async fn bodies_and_reasons_are_optional_where_the_document_says_so() {
    let document = document().await;
    let api = Api::new();
    let may_be_left_out = ["cancel", "replay", "pause", "resume", "again"];
    for (method, path, operation) in operations(&document) {
        let Some(body) = operation.get("requestBody") else {
            continue;
        };
        let optional = may_be_left_out.iter().any(|verb| path.ends_with(verb));
        assert_eq!(
            body["required"].as_bool().unwrap_or(false),
            !optional,
            "{method} {path}"
        );
        let schema = &body["content"]["application/json"]["schema"];
        assert!(schema["$ref"].is_string(), "{method} {path}: {schema}");
        let method: Method = method.to_uppercase().parse().unwrap();
        let path = path.replace("{id}", NOBODY).replace("{job}", NOBODY);
        let path = path.replace("{queue}", "mail").replace("{place}", "0");
        let path = path.replace("{sink}", "s");
        for body in ["null", "[]"] {
            let answer = api.send(with_json(method.clone(), &path, body)).await;
            answer.problem("invalid-field", 422);
        }
    }
    for schema in ["Edit", "Ignore", "Skip"] {
        let schema = &document["components"]["schemas"][schema];
        let required = schema["required"].as_array().unwrap();
        assert!(required.contains(&"reason".into()), "{schema}");
        assert_eq!(schema["properties"]["reason"]["type"], "string");
    }
}

#[test]
fn the_page_on_the_api_names_every_route() {
    let page = include_str!("../../../../docs/http-api.md");
    for (_, path) in ROUTES {
        let last = path.rsplit('/').next().unwrap();
        let named = [format!("{path}`"), format!("{path} "), format!("`{last}`")];
        assert!(
            named.iter().any(|text| page.contains(text)),
            "{path} is missing in docs/http-api.md"
        );
    }
}

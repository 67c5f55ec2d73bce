//! Tokens, hosts, origins.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;
use surefoot_server::Token;

use crate::harness::{Answer, Api, request};

const SECRET: &str = "correct horse battery";

fn guarded() -> Api {
    Api::with(|options| {
        options.tokens = vec![
            Token::from_secret("other", "another long secret").unwrap(),
            Token::from_secret("ops", SECRET).unwrap(),
        ];
    })
}

async fn get(api: &Api, path: &str, authorization: Option<&str>) -> Answer {
    let mut request = request(Method::GET, path);
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    api.send(request.body(Body::empty()).unwrap()).await
}

async fn post(api: &Api, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut request = request(Method::POST, path).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    api.send(request.body(Body::from(body.to_owned())).unwrap())
        .await
}

#[tokio::test]
async fn with_tokens_only_a_valid_one_opens_the_api() {
    let api = guarded();
    let good = format!("Bearer {SECRET}");
    for path in [
        "/v1/jobs",
        "/v1/dead",
        "/v1/queues",
        "/metrics",
        "/v1/jobs/nonsense/events",
    ] {
        for wrong in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer "),
            Some("Bearer wrong"),
            Some(SECRET),
            Some("Basic b3Bz"),
        ] {
            let answer = get(&api, path, wrong).await;
            answer.problem("unauthorized", 401);
            assert_eq!(
                answer.header("www-authenticate"),
                "Bearer realm=\"surefoot\""
            );
            assert!(!answer.text.contains("ops"), "{}", answer.text);
        }
        assert_ne!(get(&api, path, Some(&good)).await.status, 401, "{path}");
    }
    assert_eq!(
        get(&api, "/v1/jobs", Some(&format!("bearer  {SECRET}")))
            .await
            .status,
        200
    );
    let refused = post(&api, "/v1/jobs", &[], r#"{"kind":"a"}"#).await;
    refused.problem("unauthorized", 401);
    assert_eq!(
        get(&api, "/v1/jobs", Some(&good)).await.json()["jobs"],
        json!([])
    );
}

#[tokio::test]
async fn probes_the_document_and_the_pages_of_problems_are_open() {
    let api = guarded();
    for path in [
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/problems/unauthorized",
    ] {
        assert_eq!(get(&api, path, None).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_token_is_on_record_as_the_actor() {
    let api = guarded();
    let good = format!("Bearer {SECRET}");
    let auth = [("authorization", good.as_str())];
    let mut actors = Vec::new();
    for body in ["{}", r#"{"actor":"ann"}"#, r#"{"actor":"ops"}"#] {
        let created = post(&api, "/v1/jobs", &auth, r#"{"kind":"a"}"#).await;
        let id = created.json()["id"].as_str().unwrap().to_owned();
        assert_eq!(
            post(&api, &format!("/v1/jobs/{id}/cancel"), &auth, body)
                .await
                .status,
            200
        );
        let job = get(&api, &format!("/v1/jobs/{id}"), Some(&good))
            .await
            .json();
        actors.push(job["actions"][0]["actor"].as_str().unwrap().to_owned());
    }
    assert_eq!(actors, ["ops", "ann (token ops)", "ops"]);
}

#[tokio::test]
async fn without_tokens_a_rebound_name_reaches_nothing() {
    let api = Api::with(|options| options.hosts = vec!["queue.internal".to_owned()]);
    let at = |host: &str, path: &str| {
        Request::builder()
            .uri(path)
            .header("host", host)
            .body(Body::empty())
            .unwrap()
    };
    for path in [
        "/v1/jobs",
        "/metrics",
        "/openapi.json",
        "/v1/jobs/nonsense/events",
    ] {
        let answer = api.send(at("evil.example:7070", path)).await;
        assert_eq!(
            answer.problem("host-not-allowed", 403),
            "the request is for \"evil.example\""
        );
    }
    for host in [
        "localhost:7070",
        "127.0.0.1",
        "[::1]:7070",
        "queue.internal",
    ] {
        assert_eq!(api.send(at(host, "/v1/jobs")).await.status, 200, "{host}");
    }
    let bare = Request::builder()
        .uri("/v1/jobs")
        .body(Body::empty())
        .unwrap();
    api.send(bare).await.problem("host-not-allowed", 403);
    assert_eq!(api.send(at("evil.example", "/healthz")).await.status, 200);
    let tokens = guarded();
    tokens
        .send(at("surefoot.example", "/v1/jobs"))
        .await
        .problem("unauthorized", 401);
}

#[tokio::test]
async fn a_web_page_of_another_origin_changes_nothing() {
    let api = Api::new();
    for headers in [
        [("origin", "https://evil.example")],
        [("origin", "null")],
        [("origin", "http://127.0.0.1:8080")],
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
    ] {
        post(&api, "/v1/jobs", &headers, r#"{"kind":"a"}"#)
            .await
            .problem("cross-origin", 403);
        post(&api, "/v1/queues/default/pause", &headers, "{}")
            .await
            .problem("cross-origin", 403);
    }
    for headers in [
        [("origin", "http://127.0.0.1:7070")],
        [("sec-fetch-site", "same-origin")],
        [("sec-fetch-site", "none")],
    ] {
        assert_eq!(
            post(&api, "/v1/jobs", &headers, r#"{"kind":"a"}"#)
                .await
                .status,
            202,
            "{headers:?}"
        );
    }
}

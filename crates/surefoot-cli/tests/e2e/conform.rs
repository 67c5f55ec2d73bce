//! `surefoot conform` against the layer, against the proxy before services in Rust and Python, against one that has no
//! guard, and against the guard that is written first.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use surefoot_core::id::{Tenant, Worker};
use surefoot_core::request::{Clocks, RequestPolicy};
use surefoot_core::time::Timestamp;
use surefoot_http::{
    BearerTenants, Guard, GuardOptions, IdempotencyLayer, Need, RoutePolicy, Routes,
};
use surefoot_testkit::{MemoryStore, ScriptedProvider, TokioClock};
use tokio::net::TcpListener;

use crate::process::{Folder, Node, Run, command};

const TOKENS: [(&str, &str); 2] = [("a", "token-of-tenant-a"), ("b", "token-of-tenant-b")];

/// What the services of these tests are asked for: longer than the lease, an error, and more than is kept.
const ON_DEMAND: [&str; 6] = [
    "--slow-body",
    "{\"slow_ms\":2500}",
    "--failing-body",
    "{\"status\":500}",
    "--large-body",
    "{\"bytes\":1500000}",
];

/// A service of Python's standard library, from `fixtures`.
fn python(folder: &Folder, script: &str) -> Node {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/e2e/fixtures");
    let mut command = Command::new("python3");
    command.args(["-B", script]).current_dir(fixtures);
    Node::start(command, folder.path().join("python.log"))
}

/// Tries all there is to try, as one of two tenants.
fn tried(folder: &Folder, url: &str) -> Run {
    let first = ["conform", "--json", url];
    let tenants = [
        "--header",
        "Authorization: Bearer token-of-tenant-a",
        "--other-authorization",
        "Bearer token-of-tenant-b",
    ];
    let arguments = [&first[..], &ON_DEMAND, &tenants].concat();
    tokio::task::block_in_place(|| folder.run(&arguments))
}

#[track_caller]
fn is_sound(run: &Run) {
    let faults: Vec<_> = results(run)
        .into_iter()
        .filter(|(_, result)| result != "ok")
        .collect();
    assert_eq!((faults, run.code), (vec![], Some(0)), "{}", run.stdout);
}

/// The same work as that of the services in Python.
async fn charge(request: Request<Body>) -> Response<Body> {
    let body = to_bytes(request.into_body(), 10_000).await.unwrap();
    let asked: Value = serde_json::from_slice(&body).unwrap();
    let number = |name: &str| asked[name].as_u64();
    tokio::time::sleep(Duration::from_millis(number("slow_ms").unwrap_or(50))).await;
    let padding = "x".repeat(usize::try_from(number("bytes").unwrap_or(0)).unwrap());
    let charge = json!({ "id": fastrand::u64(..), "padding": padding });
    let status = u16::try_from(number("status").unwrap_or(201)).unwrap();
    Response::builder()
        .status(StatusCode::from_u16(status).unwrap())
        .header("set-cookie", "session=1")
        .body(Body::from(charge.to_string()))
        .unwrap()
}

fn guard() -> Guard {
    let clock = Arc::new(TokioClock::starting_at(Timestamp::from_micros(
        1_800_000_000_000_000,
    )));
    let mut options = GuardOptions::new(Worker::new("layer").unwrap());
    options.routes = Routes::all(RoutePolicy {
        need: Need::Required,
        request: RequestPolicy {
            clocks: Clocks {
                lease: Duration::from_secs(1),
                ..Clocks::default()
            },
            ..RequestPolicy::default()
        },
        ..RoutePolicy::default()
    });
    let tokens = TOKENS.map(|(tenant, token)| (token, Tenant::new(tenant).unwrap()));
    let tenants = BearerTenants::new(tokens).unwrap();
    let store = MemoryStore::new(clock.clone());
    Guard::new(Arc::new(store), clock, tenants, options).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_layer_conforms_in_an_axum_service() {
    let app = Router::new()
        .route("/charges", post(charge))
        .layer(IdempotencyLayer::new(guard()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/charges", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    is_sound(&tried(&Folder::new(), &url));
    serving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_conforms_before_a_service_in_python() {
    let folder = Folder::new();
    let service = python(&folder, "service.py");
    let upstream = service.url();
    let arguments = [
        "proxy",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        &upstream,
        "--require-key",
        "--lease",
        "1s",
    ];
    let mut proxy = command(folder.path(), &arguments);
    proxy.env(
        "SUREFOOT_TENANT_TOKENS",
        TOKENS
            .map(|(tenant, token)| format!("{tenant}={token}"))
            .join(","),
    );
    let node = Node::start(proxy, folder.path().join("proxy.log"));
    is_sound(&tried(&folder, &format!("{}/charges", node.url())));
}

/// Each fault of looking a key up, running and then remembering is named, and nothing else is.
#[tokio::test(flavor = "multi_thread")]
async fn the_guard_that_is_written_first_is_found_out_fault_by_fault() {
    let folder = Folder::new();
    let service = python(&folder, "naive.py");
    let run = tried(&folder, &format!("{}/charges", service.url()));
    assert_eq!(run.code, Some(1), "{run:?}");
    let faults: Vec<_> = results(&run)
        .into_iter()
        .filter_map(|(case, result)| (result == "FAULT").then_some(case))
        .collect();
    let expected = [
        "the quoted and the bare key are one",
        "another body under the key is refused",
        "another query under the key is refused",
        "a missing key is refused",
        "an empty key is refused",
        "two keys on one request are refused",
        "a key that is cut off is refused",
        "a refused request leaves the first answer as it was",
        "an answer of 5xx is replayed as it was",
        "a repetition while it runs is told so",
        "a run that takes long is one run",
        "a storm under one key is one run",
        "a replay sets no cookie",
        "a refusal is a problem document",
        "another tenant does not get the answer",
    ];
    assert_eq!(faults, expected, "{}", run.stdout);
    assert!(
        run.stdout.contains("different answers: it ran"),
        "{}",
        run.stdout
    );
}

/// The results by case.
fn results(run: &Run) -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let cases = document["cases"].as_array().unwrap().iter();
    cases
        .map(|case| (text(&case["case"]), text(&case["result"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_conforms_before_a_service_that_runs_whatever_it_gets() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.deduplicates(false);
    let folder = Folder::new();
    let upstream = provider.url();
    let arguments = [
        "proxy",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        &upstream,
        "--require-key",
    ];
    let mut proxy = command(folder.path(), &arguments);
    proxy.env(
        "SUREFOOT_TENANT_TOKENS",
        "a=token-of-tenant-a,b=token-of-tenant-b",
    );
    let node = Node::start(proxy, folder.path().join("proxy.log"));
    let url = format!("{}/charges", node.url());
    let arguments = [
        "conform",
        "--json",
        &url,
        "--header",
        "Authorization: Bearer token-of-tenant-a",
    ];
    let other = ["--other-authorization", "Bearer token-of-tenant-b"];
    let run = tokio::task::block_in_place(|| folder.run(&[&arguments[..], &other].concat()));
    let faults: Vec<_> = results(&run)
        .into_iter()
        .filter(|(_, result)| result == "FAULT")
        .collect();
    assert_eq!((faults, run.code), (vec![], Some(0)), "{}", run.stdout);
}

/// What it finds where nothing guards, so that it is known to find anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_a_guard_is_found_out() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.deduplicates(false);
    let folder = Folder::new();
    let url = format!("{}/charges", provider.url());
    let run = tokio::task::block_in_place(|| folder.run(&["conform", "--json", &url]));
    assert_eq!(run.code, Some(1), "{run:?}");
    let sound = [
        "two keys are two runs",
        "keys that differ in case are two keys",
        "a safe method takes no notice of a key",
        "a replay sets no cookie",
    ];
    // It does nothing of this when it is asked to.
    let skipped = [
        "another tenant does not get the answer",
        "an answer of 5xx is replayed as it was",
        "a repetition while it runs is told so",
        "a run that takes long is one run",
        "an answer that is too large to be kept is no second run",
    ];
    for (case, result) in results(&run) {
        let expected = match case.as_str() {
            case if sound.contains(&case) => "ok",
            case if skipped.contains(&case) => "skipped",
            _ => "FAULT",
        };
        assert_eq!(result, expected, "{case}: {}", run.stdout);
    }
}

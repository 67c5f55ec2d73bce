//! Signals: a first one drains, a second one ends at once.

use serde_json::{Value, json};
use surefoot_testkit::{Act, ScriptedProvider};

use crate::api::{Api, until};
use crate::http_kinds::config;
use crate::process::Folder;

/// A node that drains for a short time only.
fn config_with_grace(provider: &ScriptedProvider, recovery: &str, grace: &str) -> String {
    let text = config(provider, recovery, "timeout = \"40s\"")
        .replace("attempt_timeout = \"2s\"", "attempt_timeout = \"30s\"");
    format!("[engine]\ndrain_grace = \"{grace}\"\n{text}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_gives_attempts_back() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    folder.config(&config_with_grace(&provider, "same_key", "100ms"));
    let mut node = folder.serve(&[]);
    let id = Api::new(node.url()).enqueue("send", "1", json!({})).await;
    until("the call is out", async || provider.calls() == 1).await;
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());

    let job = folder.answer(&["jobs", "show", &id]);
    assert_eq!(
        (&job["state"], &job["attempts"][0]["outcome"]),
        (&json!("pending"), &json!("released")),
        "{job:#}"
    );
    assert_eq!(
        (&job["counts"]["failed"], &job["counts"]["crashed"]),
        (&json!(0), &json!(0))
    );

    let node = folder.serve(&[]);
    let job = Api::new(node.url())
        .job_in(&id, &["succeeded", "dead"])
        .await;
    assert_eq!(
        (&job["state"], provider.applied(&id)),
        (&json!("succeeded"), 1),
        "{job:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_in_the_middle_of_a_call_that_must_not_be_repeated_is_an_unknown_outcome() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    folder.config(&config_with_grace(&provider, "at_most_once", "100ms"));
    let mut node = folder.serve(&[]);
    let id = Api::new(node.url()).enqueue("send", "1", json!({})).await;
    until("the call is out", async || provider.calls() == 1).await;
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    let job = folder.answer(&["jobs", "show", &id]);
    assert_eq!(job["dead"]["reason"], "outcome_unknown", "{job:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_lets_running_jobs_finish_and_workers_report() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::AnswerLate(std::time::Duration::from_millis(800))]);
    let folder = Folder::new();
    folder.config(&config_with_grace(&provider, "same_key", "20s"));
    let mut node = folder.serve(&[]);
    let api = Api::new(node.url());
    let pulled = api.enqueue("pulled", "1", Value::Null).await;
    let lease = api
        .post(
            "/v1/leases",
            json!({ "worker": "me", "kinds": ["pulled"], "max": 1 }),
        )
        .await;
    let epoch = &lease.body["leases"][0]["epoch"];
    let id = api.enqueue("send", "1", json!({})).await;
    until("the call is out", async || provider.calls() == 1).await;
    node.signal("TERM");
    until("it is not ready any more", async || {
        api.get("/readyz").await.status == 503
    })
    .await;
    let done = api
        .post(
            &format!("/v1/leases/{pulled}/succeed"),
            json!({ "epoch": epoch, "result": 1 }),
        )
        .await;
    assert_eq!(done.status, 200, "{done:?}");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    for job in [&id, &pulled] {
        assert_eq!(folder.answer(&["jobs", "show", job])["state"], "succeeded");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::Hang]);
    let folder = Folder::new();
    folder.config(&config_with_grace(&provider, "same_key", "10m"));
    let mut node = folder.serve(&[]);
    Api::new(node.url()).enqueue("send", "1", json!({})).await;
    until("the call is out", async || provider.calls() == 1).await;
    node.signal("TERM");
    until("it drains", async || {
        node.log().contains("a second signal stops at once")
    })
    .await;
    node.signal("INT");
    assert_eq!(node.ended().code(), Some(130), "{}", node.log());
}

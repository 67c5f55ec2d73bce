//! Kinds whose work is a call of a service that misbehaves.

use serde_json::json;
use surefoot_testkit::{Act, Answer, ScriptedProvider};

use crate::api::Api;
use crate::process::{Folder, Node, command};

/// The kind `send`, with what a test adds to it.
pub(crate) fn config(provider: &ScriptedProvider, recovery: &str, more: &str) -> String {
    format!(
        "[dependency.mail]\nbase_url = \"{}\"\nconnect_timeout = \"1s\"\nattempt_timeout = \"2s\"\n\
         [job.send]\ndependency = \"mail\"\nrequest = {{ method = \"POST\", path = \"/send\" }}\n\
         recovery = \"{recovery}\"\nbackoff = [\"30ms\"]\n{more}\n",
        provider.url()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_service_is_tried_again_under_the_same_key() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([
        Act::Refuse(Answer::new(500, "oops")),
        Act::ApplyThenReset,
        Act::ApplyAnswering(Answer::new(201, r#"{"id":9007199254740993}"#)),
    ]);
    let folder = Folder::new();
    folder.config(&config(&provider, "same_key", ""));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());

    let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let body = json!({ "kind": "send", "key": "1", "payload": { "to": "a@example.org" } });
    let reply = api
        .call(
            reqwest::Method::POST,
            "/v1/jobs",
            Some(body),
            &[("traceparent", caller)],
        )
        .await;
    let id = reply.body["id"].as_str().unwrap().to_owned();
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["state"], "succeeded", "{job:#}");
    let outcomes: Vec<_> = job["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| &attempt["outcome"])
        .collect();
    assert_eq!(outcomes, ["unknown", "unknown", "succeeded"], "{job:#}");

    let received = provider.received();
    assert_eq!(received.len(), 3);
    for (number, call) in (1..).zip(&received) {
        assert_eq!(
            (call.method.as_str(), call.path.as_str()),
            ("POST", "/send")
        );
        assert_eq!(call.body, r#"{"to":"a@example.org"}"#);
        assert_eq!(call.key.as_deref(), Some(id.as_str()));
        assert_eq!(
            call.header("x-surefoot-attempt"),
            Some(number.to_string().as_str())
        );
        assert!(
            call.header("traceparent")
                .unwrap()
                .starts_with(&caller[..36]),
            "{call:?}"
        );
    }
    assert_eq!(provider.applied(&id), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_under_at_most_once_is_an_unknown_outcome_and_one_call() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    folder.config(&config(
        &provider,
        "at_most_once",
        "timeout = \"3s\"\nlease = \"4s\"",
    ));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(
        (&job["state"], &job["dead"]["reason"]),
        (&json!("dead"), &json!("outcome_unknown")),
        "{job:#}"
    );
    assert_eq!(
        job["dead"]["error"],
        "mail: no answer within 2s (attempt time-out fired); the call may have been applied"
    );
    assert_eq!((provider.calls(), provider.applied(&id)), (1, 1));

    // A replay has to say whether it is the same effect.
    let refused = folder.run(&["dead", "replay", &id, "--reason", "asked the provider"]);
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(
        refused.stderr.contains("nobody knows whether the effect"),
        "{refused:?}"
    );
    folder.answer(&[
        "dead",
        "replay",
        &id,
        "--effect",
        "same",
        "--reason",
        "asked the provider",
    ]);
    assert_eq!(api.job_in(&id, &["succeeded"]).await["state"], "succeeded");
    assert_eq!((provider.calls(), provider.applied(&id)), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_break_under_at_most_once_is_one_call() {
    for act in [
        Act::Reset,
        Act::ApplyThenReset,
        Act::ApplyThenCut,
        Act::Refuse(Answer::new(502, "")),
    ] {
        let provider = ScriptedProvider::start().await.unwrap();
        provider.script([act.clone()]);
        let folder = Folder::new();
        folder.config(&config(&provider, "at_most_once", ""));
        let node = folder.serve(&[]);
        let api = Api::new(node.url());
        let id = api.enqueue("send", "1", json!({})).await;
        let job = api.job_in(&id, &["succeeded", "dead"]).await;
        assert_eq!(job["dead"]["reason"], "outcome_unknown", "{act:?} {job:#}");
        assert_eq!(provider.calls(), 1, "{act:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_happened_under_the_same_key_never_ends_as_a_failure() {
    let provider = ScriptedProvider::start().await.unwrap();
    let failing = |status| Act::Refuse(Answer::new(status, ""));
    provider.script([failing(500), failing(404)]);
    let folder = Folder::new();
    // The refusal proves nothing about the first call, so the second attempt is used up and a person decides.
    folder.config(&config(&provider, "same_key", "attempts_max = 2"));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["dead"]["reason"], "outcome_unknown", "{job:#}");
    assert_eq!(provider.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_limit_puts_a_job_off_and_uses_up_no_attempt() {
    let provider = ScriptedProvider::start().await.unwrap();
    let limited = || Act::Refuse(Answer::new(429, "").retry_after("1"));
    provider.script([limited(), limited(), Act::Apply]);
    let folder = Folder::new();
    folder.config(&config(&provider, "at_most_once", "attempts_max = 1"));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["state"], "succeeded", "{job:#}");
    assert_eq!(
        (&job["counts"]["failed"], &job["counts"]["deferred"]),
        (&json!(0), &json!(2))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_there_is_a_failure_that_names_it() {
    let folder = Folder::new();
    let provider = ScriptedProvider::start().await.unwrap();
    folder.config(&config(&provider, "at_most_once", "attempts_max = 2"));
    drop(provider);
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["dead"]["reason"], "exhausted", "{job:#}");
    let error = job["dead"]["error"].as_str().unwrap();
    assert!(error.starts_with("mail: "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_needs_no_certificates() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(&config(&provider, "same_key", ""));
    let mut command = command(
        folder.path(),
        &["serve", "--json", "--listen", "127.0.0.1:0"],
    );
    command
        .env("SSL_CERT_FILE", "/nonexistent")
        .env("SSL_CERT_DIR", "/nonexistent");
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", provider.url());
    let node = Node::start(command, folder.path().join("node.log"));
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    api.job_in(&id, &["succeeded"]).await;
}

//! Calls whose outcome nobody knows at first: the provider is asked, a person decides, and nothing is done twice.

use serde_json::{Value, json};
use surefoot_testkit::{Act, ScriptedProvider};

use crate::api::Api;
use crate::process::Folder;

/// The kind `refund`, whose provider is asked at `path`.
fn config(provider: &ScriptedProvider, path: &str, recovery: &str) -> String {
    format!(
        "[dependency.psp]\nbase_url = \"{}\"\ntimeout = {{ connect = \"100ms\", attempt = \"400ms\", total = \"500ms\" }}\n\
         [job.refund]\ndependency = \"psp\"\nrequest = {{ path = \"/refunds\" }}\nbackoff = [\"30ms\"]\n\
         [job.refund.recovery]\n\
         verify = {{ path = \"{path}\", happened = [200], did_not_happen = [404] }}\n{recovery}\n",
        provider.url()
    )
}

const TAKES_EFFECT_LATE: &str = "settles_within = \"2s\"\nask_every = [\"200ms\"]";

fn effect(job: &Value) -> &Value {
    &job["effects"][0]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_out_after_the_effect_is_found_and_not_repeated() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    folder.config(&config(&provider, "/effects/{key}", TAKES_EFFECT_LATE));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("refund", "1", json!({ "amount": 5 })).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["state"], "succeeded", "{job:#}");
    assert_eq!((provider.calls(), provider.applied(&id)), (1, 1));
    let effect = effect(&job);
    assert_eq!(
        (&effect["state"], &effect["witness"]["kind"], &effect["key"]),
        (&json!("confirmed"), &json!("query"), &json!(id)),
        "{job:#}"
    );
    assert_eq!(effect["result"], job["result"], "{job:#}");

    let shown = folder.run(&["jobs", "show", &id]);
    for part in ["EFFECT", "request", "psp", "verify", "confirmed"] {
        assert!(shown.stdout.contains(part), "{part} is missing: {shown:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn not_found_proves_nothing_before_a_request_has_settled() {
    // It takes effect after the provider was asked for the first time.
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyLate(std::time::Duration::from_millis(1200))]);
    let folder = Folder::new();
    folder.config(&config(&provider, "/effects/{key}", TAKES_EFFECT_LATE));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("refund", "1", json!({})).await;
    let verifying = api.job_in(&id, &["verifying", "succeeded", "dead"]).await;
    assert_eq!(verifying["state"], "verifying", "{verifying:#}");
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["state"], "succeeded", "{job:#}");
    assert!(effect(&job)["asked"].as_u64().unwrap() >= 1, "{job:#}");
    assert_eq!((provider.calls(), provider.applied(&id)), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_happen_is_sent_again_under_the_same_key() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::Hang, Act::Apply]);
    let folder = Folder::new();
    folder.config(&config(&provider, "/effects/{key}", TAKES_EFFECT_LATE));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("refund", "1", json!({})).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["state"], "succeeded", "{job:#}");
    let received = provider.received();
    assert_eq!(received.len(), 2, "{received:?}");
    for call in &received {
        assert_eq!(call.key.as_deref(), Some(id.as_str()));
    }
    assert_eq!(provider.applied(&id), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_provider_ends_with_a_person_who_decides() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    // Its answer to the question is in neither list.
    let text = config(
        &provider,
        "/effects/{key}",
        "settles_within = \"1s\"\nask_every = [\"50ms\"]\nasks_max = 2\ngive_up_after = \"10s\"",
    );
    folder.config(&text.replace("[200]", "[201]"));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("refund", "1", json!({})).await;
    let job = api.job_in(&id, &["succeeded", "dead"]).await;
    assert_eq!(job["dead"]["reason"], "outcome_unknown", "{job:#}");
    assert_eq!(effect(&job)["state"], "needs_human", "{job:#}");
    assert_eq!((provider.calls(), provider.applied(&id)), (1, 1));

    let listed = folder.answer(&["effects", "list", &id]);
    assert_eq!(listed["effects"][0]["state"], "needs_human", "{listed:#}");
    let refused = folder.run(&["effects", "resolve", &id, "--happened", "{}"]);
    assert_eq!(refused.code, Some(2), "a reason is required: {refused:?}");
    folder.answer(&[
        "effects",
        "resolve",
        &id,
        "--happened",
        r#"{"refund":"r1"}"#,
        "--actor",
        "an",
        "--reason",
        "seen in their console",
    ]);
    let job = api.job_in(&id, &["succeeded"]).await;
    assert_eq!(job["result"], json!({ "refund": "r1" }), "{job:#}");
    assert_eq!(effect(&job)["witness"]["actor"], "an", "{job:#}");
    assert_eq!((provider.calls(), provider.applied(&id)), (1, 1));

    // Who comes later and says something else is on record, and changes nothing.
    let disputed = folder.run(&[
        "effects",
        "resolve",
        &id,
        "--did-not-happen",
        "--reason",
        "x",
    ]);
    assert_eq!(disputed.code, Some(6), "{disputed:?}");
    assert_eq!(api.job(&id).await["state"], "succeeded");
}

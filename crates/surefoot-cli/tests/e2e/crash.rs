//! `kill -9` in the middle of a thousand running jobs: no job is lost, no start is without a record, and the provider
//! applies each key once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use surefoot_testkit::{Act, Answer, ScriptedProvider};

use crate::api::{Api, until};
use crate::postgres;
use crate::process::Folder;

const JOBS: usize = 1000;

/// Short times, so that leases lapse within seconds; as many attempts as the provider's whims may need; and no breaker,
/// which would hold most jobs back from a provider like this one.
fn config(provider: &ScriptedProvider, concurrency: usize) -> String {
    format!(
        "[engine]\nconcurrency = {concurrency}\n\
         [dependency.psp]\nbase_url = \"{}\"\nconnect_timeout = \"1s\"\nattempt_timeout = \"1500ms\"\n\
         breaker = {{ mode = \"disabled\" }}\nbulkhead = {{ limit = 1000 }}\n\
         [job.pay]\ndependency = \"psp\"\nrequest = {{ method = \"POST\", path = \"/payments\" }}\n\
         recovery = \"same_key\"\ntimeout = \"2s\"\nlease = \"3s\"\nattempts_max = 20\ncrashes_max = 5\n\
         backoff = [\"200ms\"]\n",
        provider.url()
    )
}

/// A provider that deduplicates, takes its time and does not always answer.
async fn provider() -> ScriptedProvider {
    let provider = ScriptedProvider::start().await.unwrap();
    let ms = Duration::from_millis;
    provider.misbehave(
        20_261_130,
        [
            (0.50, Act::AnswerLate(ms(400))),
            (0.25, Act::ApplyLate(ms(300))),
            (0.05, Act::ApplyThenReset),
            (0.03, Act::ApplyThenCut),
            (0.03, Act::Reset),
            (0.02, Act::Refuse(Answer::new(503, "busy"))),
        ],
    );
    provider
}

/// Hands in the jobs while their queue is paused, so that all of them become due at once.
async fn hand_in(api: &Api) -> Vec<String> {
    let by = json!({ "reason": "until all are there" });
    assert_eq!(
        api.post("/v1/queues/default/pause", by.clone())
            .await
            .status,
        204
    );
    let mut jobs = Vec::new();
    for number in 0..JOBS {
        jobs.push(
            api.enqueue(
                "pay",
                &format!("order-{number}"),
                json!({ "amount": number }),
            )
            .await,
        );
    }
    assert_eq!(api.post("/v1/queues/default/resume", by).await.status, 200);
    jobs
}

/// Waits until nothing waits or runs any more.
async fn all_settled(api: &Api) {
    until("every job is settled", async || {
        let queues = api.get("/v1/queues").await.body;
        let open = ["pending", "running", "retrying"];
        queues["queues"]
            .as_array()
            .unwrap()
            .iter()
            .all(|queue| open.iter().all(|state| queue["counts"][state] == 0))
    })
    .await;
}

/// Checks every job against what the provider saw.
async fn check(api: &Api, provider: &ScriptedProvider, jobs: &[String]) {
    let report = provider.report();
    assert_eq!(report.doubles(), Vec::<&str>::new(), "no-double-effect");
    assert_eq!(report.keyless.calls, 0);
    let mut starts: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for call in provider.received() {
        let number = call.header("x-surefoot-attempt").unwrap().parse().unwrap();
        starts.entry(call.key.unwrap()).or_default().push(number);
    }
    assert_eq!(
        starts.values().map(Vec::len).sum::<usize>() as u64,
        provider.calls(),
        "every call was kept"
    );
    let mut lost = 0;
    for id in jobs {
        let job = api.job(id).await;
        assert_eq!(job["state"], "succeeded", "no-lost-intent: {job:#}");
        assert_eq!(provider.applied(id), 1, "{job:#}");
        let attempts = job["attempts"].as_array().unwrap();
        let numbers: Vec<u64> = attempts
            .iter()
            .map(|attempt| attempt["number"].as_u64().unwrap())
            .collect();
        assert_eq!(
            numbers,
            (1..=attempts.len() as u64).collect::<Vec<_>>(),
            "every-attempt-logged: {job:#}"
        );
        assert!(
            attempts
                .iter()
                .all(|attempt| attempt["outcome"] != Value::Null),
            "{job:#}"
        );
        assert!(
            starts[id].iter().all(|start| numbers.contains(start)),
            "every-attempt-logged: {:?} {job:#}",
            starts[id]
        );
        lost += attempts
            .iter()
            .filter(|attempt| attempt["outcome"] == "lost")
            .count();
    }
    assert!(
        lost >= 100,
        "the crash hit only {lost} running attempts: it proves nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_engine_on_sqlite_loses_nothing_and_does_nothing_twice() {
    let provider = provider().await;
    let folder = Folder::new();
    folder.config(&config(&provider, 450));
    let node = folder.serve(&[]);
    let jobs = hand_in(&Api::new(node.url())).await;
    until("the calls are out", async || provider.calls() > 500).await;
    node.kill();
    assert!(
        provider.report().applied() < JOBS as u64,
        "it was killed too late"
    );

    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    all_settled(&api).await;
    check(&api, &provider, &jobs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_node_of_two_on_postgres_loses_nothing_and_does_nothing_twice() {
    let provider = provider().await;
    let database = postgres::database();
    let folder = Folder::new();
    folder.config(&config(&provider, 400));
    let survivor = folder.serve(&["--database", &database]);
    let victim = folder.serve(&["--database", &database]);
    assert_ne!(survivor.facts["worker"], victim.facts["worker"]);
    let api = Api::new(survivor.url());
    let jobs = hand_in(&api).await;
    until("the calls are out", async || provider.calls() > 500).await;
    victim.kill();
    assert!(
        provider.report().applied() < JOBS as u64,
        "it was killed too late"
    );

    all_settled(&api).await;
    check(&api, &provider, &jobs).await;
}

//! A node without any configuration, and a worker that takes jobs over HTTP.

use std::path::Path;

use serde_json::{Value, json};

use crate::api::Api;
use crate::process::{Folder, Node, command};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_handed_in_taken_and_done_without_any_configuration() {
    let folder = Folder::new();
    let node = folder.serve(&[]);
    assert_eq!(node.facts["database"], "sqlite:surefoot.db");
    assert!(folder.path().join("surefoot.db").exists());
    let api = Api::new(node.url());

    let job = api
        .enqueue("hello", "hello-1", json!({ "name": "world" }))
        .await;
    assert_eq!(
        api.enqueue("hello", "hello-1", json!({ "name": "world" }))
            .await,
        job
    );
    let conflict = json!({ "kind": "hello", "key": "hello-1", "payload": { "name": "another" } });
    assert_eq!(api.post("/v1/jobs", conflict).await.status, 409);
    assert_eq!(api.job(&job).await["state"], "pending");

    let claim = json!({ "worker": "me", "kinds": ["hello"], "max": 5 });
    let leases = api.post("/v1/leases", claim.clone()).await;
    let [lease] = leases.body["leases"].as_array().unwrap().as_slice() else {
        panic!("{leases:?}")
    };
    assert_eq!((&lease["job"], &lease["attempt"]), (&json!(job), &json!(1)));
    assert_eq!(
        (&lease["payload"], &lease["provider_key"]),
        (&json!({ "name": "world" }), &json!(job))
    );
    assert_eq!(
        api.post("/v1/leases", claim).await.body["leases"],
        json!([])
    );

    let epoch = &lease["epoch"];
    let report = |verb: &str| format!("/v1/leases/{job}/{verb}");
    assert_eq!(
        api.post(&report("extend"), json!({ "epoch": epoch }))
            .await
            .status,
        200
    );
    let stale = api
        .post(&report("succeed"), json!({ "epoch": 999, "result": 1 }))
        .await;
    assert_eq!(stale.status, 409, "{stale:?}");
    let done = api
        .post(
            &report("succeed"),
            json!({ "epoch": epoch, "result": { "greeted": true } }),
        )
        .await;
    assert_eq!(done.status, 200, "{done:?}");

    let job = api.job(&job).await;
    assert_eq!(
        (&job["state"], &job["result"]),
        (&json!("succeeded"), &json!({ "greeted": true }))
    );
    let [attempt] = job["attempts"].as_array().unwrap().as_slice() else {
        panic!("{job:#}")
    };
    assert_eq!(
        (&attempt["number"], &attempt["worker"]),
        (&json!(1), &json!("me"))
    );
    assert_eq!(
        (&attempt["epoch"], &attempt["outcome"]),
        (epoch, &json!("succeeded"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_kind_keeps_its_policy_for_pull_workers() {
    let folder = Folder::new();
    folder.config(
        "[job.grade]\nattempts_max = 2\nbackoff = [\"10ms\"]\ntimeout = \"7s\"\nlease = \"8s\"\n",
    );
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let job = api.enqueue("grade", "1", Value::Null).await;
    for attempt in 1..=2 {
        let lease = loop {
            let reply = api
                .post(
                    "/v1/leases",
                    json!({ "worker": "me", "kinds": ["grade"], "max": 1 }),
                )
                .await;
            if let Some(lease) = reply.body["leases"].get(0) {
                break lease.clone();
            }
        };
        assert_eq!(
            (&lease["timeout_ms"], &lease["attempt"]),
            (&json!(7000), &json!(attempt))
        );
        let fail =
            json!({ "epoch": lease["epoch"], "class": "transient", "error": "the model is busy" });
        assert_eq!(
            api.post(&format!("/v1/leases/{job}/fail"), fail)
                .await
                .status,
            200
        );
    }
    let job = api.job(&job).await;
    assert_eq!(
        (&job["state"], &job["dead"]["reason"]),
        (&json!("dead"), &json!("exhausted"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_probes_and_metrics_answer() {
    let folder = Folder::new();
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    assert_eq!(api.get("/healthz").await.status, 200);
    assert_eq!(api.get("/readyz").await.status, 200);
    api.enqueue("hello", "1", Value::Null).await;
    let metrics = api.get("/metrics").await;
    let text = metrics.body.as_str().unwrap_or_default();
    assert!(
        text.contains(r#"surefoot_jobs_enqueued_total{kind="hello",outcome="created"} 1"#),
        "{text}"
    );
}

/// The command that is printed next: its body and its path.
#[track_caller]
fn printed(node: &Node, address: &str) -> (String, String) {
    let line = node.line();
    let (body, url) = line
        .strip_prefix("  curl --json '")
        .unwrap()
        .split_once("' ")
        .unwrap();
    (
        body.to_owned(),
        url.strip_prefix(address).unwrap().to_owned(),
    )
}

/// Starts a node as a person does, and reads to where it says what to try.
fn served(folder: &Folder, options: &[&str], path: Option<&Path>) -> (Node, String) {
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let mut command = command(folder.path(), &[&serve, options].concat());
    command.env("PATH", path.unwrap_or(Path::new("/usr/bin")));
    let node = Node::start(command, folder.path().join("node.log"));
    let first = node.facts.as_str().unwrap();
    let address = first.rsplit_once(' ').unwrap().1.to_owned();
    while node.line() != "hand in a job (curl 7.82 or later):" {}
    (node, address)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_says_to_try_next_works_at_each_start() {
    let folder = Folder::new();
    for _ in 0..2 {
        let (node, address) = served(&folder, &[], None);
        let api = Api::new(address.clone());
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let (job, jobs) = printed(&node, &address);
        assert_eq!(api.post(&jobs, json(&job)).await.status, 202);
        assert_eq!(node.line(), "take it as a worker:");
        let (claim, leases) = printed(&node, &address);
        let lease = api.post(&leases, json(&claim)).await.body["leases"][0].clone();
        assert!(node.line().starts_with("within 40s say that it is done"));
        let (done, succeed) = printed(&node, &address);
        let job = lease["job"].as_str().unwrap();
        let done = json(&done.replace("EPOCH", &lease["epoch"].to_string()));
        let succeed = succeed.replace("JOB", job);
        assert_eq!(api.post(&succeed, done).await.status, 200);
        assert_eq!(api.job(job).await["result"], "hello, world");
    }
}

#[test]
fn what_it_says_to_try_next_is_of_the_first_configured_kind() {
    let folder = Folder::new();
    let dependency = "[dependency.mail]\nbase_url = \"http://127.0.0.1:1\"\n";
    let called = "dependency = \"mail\"\nrequest = { path = \"/\" }\nrecovery = \"repeatable\"\n";
    folder.config(&format!("{dependency}[job.send]\n{called}[job.zip]\n"));
    let (node, address) = served(&folder, &[], None);
    let (job, _) = printed(&node, &address);
    assert_eq!(job, r#"{"kind":"send","payload":{}}"#);
    assert_eq!(node.line(), "this node calls mail for it");
    assert_eq!(node.line(), "see it:");
    drop(node);

    folder.config("[job.grade]\ntimeout = \"2m\"\nlease = \"3m\"\n");
    let (node, address) = served(&folder, &[], None);
    let (job, _) = printed(&node, &address);
    assert_eq!(job, r#"{"kind":"grade","payload":{}}"#);
    node.line();
    let (claim, _) = printed(&node, &address);
    assert_eq!(claim, r#"{"worker":"me","kinds":["grade"],"max":1}"#);
    assert!(node.line().starts_with("within 3m say"));
}

#[test]
fn where_it_says_to_look_is_this_program_on_this_database() {
    let program = Path::new(env!("CARGO_BIN_EXE_surefoot"));
    let look = |options: &[&str], path: Option<&Path>| {
        let folder = Folder::new();
        std::fs::write(folder.path().join("other.toml"), "").unwrap();
        let (node, _) = served(&folder, options, path);
        while node.line() != "see it:" {}
        node.line()
    };
    let at = program.display();
    assert_eq!(look(&[], None), format!("  {at} jobs list"));
    assert_eq!(look(&[], program.parent()), "  surefoot jobs list");
    let elsewhere = ["--database", "sqlite:other.db", "--config", "other.toml"];
    assert_eq!(
        look(&elsewhere, program.parent()),
        "  surefoot jobs list --database 'sqlite:other.db' --config 'other.toml'"
    );
}

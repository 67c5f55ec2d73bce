//! `jobs`, `queues` and the other commands that need no server.

use serde_json::{Value, json};

use crate::process::Folder;

#[test]
fn jobs_are_handed_in_listed_shown_and_withdrawn() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let enqueue = [
        "jobs",
        "enqueue",
        "mail.send",
        "--key",
        "order-7",
        "--payload",
        r#"{"n":9007199254740993}"#,
    ];
    let created = folder.answer(&enqueue);
    assert_eq!(created["outcome"], "created");
    let id = created["job"].as_str().unwrap();
    assert_eq!(
        folder.answer(&enqueue),
        json!({ "outcome": "existing", "job": id })
    );
    let conflict = folder.run(&[
        "jobs",
        "enqueue",
        "mail.send",
        "--key",
        "order-7",
        "--payload",
        "{}",
    ]);
    assert_eq!(conflict.code, Some(6), "{conflict:?}");
    assert!(
        conflict
            .stderr
            .contains(&format!("belongs to job {id}, which has another payload")),
        "{conflict:?}"
    );

    let later = folder.answer(&[
        "jobs",
        "enqueue",
        "later",
        "--in",
        "2h",
        "--queue",
        "slow",
        "--priority",
        "-5",
    ]);
    let jobs = folder.answer(&["jobs", "list"]);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(
        (&jobs["jobs"][0]["id"], &jobs["jobs"][0]["priority"]),
        (&later["job"], &json!(-5))
    );
    let page = folder.answer(&["jobs", "list", "--limit", "1"]);
    assert_eq!(
        (&page["jobs"][0]["id"], &page["next"]),
        (&later["job"], &later["job"])
    );
    let page = folder.answer(&[
        "jobs",
        "list",
        "--limit",
        "1",
        "--before",
        later["job"].as_str().unwrap(),
    ]);
    assert_eq!(
        (&page["jobs"][0]["id"], &page["next"]),
        (&json!(id), &Value::Null)
    );
    assert_eq!(
        folder.answer(&["jobs", "list", "--kind", "gone"])["jobs"],
        json!([])
    );

    let shown = folder.run(&["jobs", "show", id, "--json"]).stdout;
    assert!(
        shown.contains(r#""payload":{"n":9007199254740993}"#),
        "{shown}"
    );
    let cancelled = folder.answer(&["jobs", "cancel", id, "--reason", "ordered twice"]);
    assert_eq!(
        (&cancelled["state"], &cancelled["cancel_requested"]),
        (&json!("cancelled"), &json!(false))
    );
    let again = folder.run(&["jobs", "cancel", id, "--reason", "ordered twice"]);
    assert_eq!(again.code, Some(6), "{again:?}");
    let text = folder.run(&["jobs", "show", id]).stdout;
    for part in [
        "state      cancelled",
        "what people did",
        "tester",
        "ordered twice",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn queues_are_listed_paused_and_resumed() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    folder.answer(&["jobs", "enqueue", "k", "--queue", "slow"]);
    folder.answer(&[
        "queues",
        "pause",
        "slow",
        "--reason",
        "the provider is down",
    ]);
    let queues = folder.answer(&["queues", "list"]);
    let slow = &queues["queues"][0];
    assert_eq!(
        (&slow["queue"], &slow["counts"]["pending"]),
        (&json!("slow"), &json!(1)),
        "{queues:#}"
    );
    assert_eq!(
        (&slow["paused"]["actor"], &slow["paused"]["reason"]),
        (&json!("tester"), &json!("the provider is down"))
    );
    let text = folder.run(&["queues", "list"]).stdout;
    assert!(text.contains("by tester: the provider is down"), "{text}");
    assert_eq!(
        folder.answer(&["queues", "resume", "slow"])["was_paused"],
        true
    );
    assert_eq!(
        folder.answer(&["queues", "resume", "slow"])["was_paused"],
        false
    );
}

#[test]
fn a_job_may_wait_until_the_last_time_that_is_kept() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let last = "9999-12-31T23:59:59Z";
    let created = folder.answer(&["jobs", "enqueue", "k", "--run-at", last]);
    let job = folder.answer(&["jobs", "show", created["job"].as_str().unwrap()]);
    assert_eq!(job["due_at"], "9999-12-31T23:59:59.000000Z", "{job:#}");
}

#[test]
fn a_payload_comes_from_a_file() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("payload.json"), "{\"a\": 1}\n").unwrap();
    folder.answer(&["migrate"]);
    let created = folder.answer(&["jobs", "enqueue", "k", "--payload-file", "payload.json"]);
    let job = folder.answer(&["jobs", "show", created["job"].as_str().unwrap()]);
    assert_eq!(job["payload"], json!({ "a": 1 }));
}

#[test]
fn completion_scripts_are_printed() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let run = folder.run(&["completions", shell]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(
            run.stdout.contains("surefoot") && run.stdout.contains("enqueue"),
            "{shell}"
        );
    }
}

#[test]
fn the_commands_work_on_postgres() {
    let folder = Folder::new();
    let url = crate::postgres::database();
    let database = ["--database", &url];
    let with = |arguments: &[&'static str]| folder.answer(&[arguments, &database[..]].concat());
    let migrated = with(&["migrate"]);
    let shown = migrated["database"].as_str().unwrap();
    assert!(shown.starts_with("postgres://…@127.0.0.1:"), "{shown}");
    let created = with(&[
        "jobs",
        "enqueue",
        "k",
        "--key",
        "1",
        "--payload",
        r#"{"n":9007199254740993}"#,
    ]);
    assert_eq!(created["outcome"], "created");
    assert_eq!(with(&["jobs", "list"])["jobs"][0]["id"], created["job"]);
    with(&["queues", "pause", "default", "--reason", "r"]);
    assert_eq!(
        with(&["queues", "list"])["queues"][0]["paused"]["reason"],
        "r"
    );
    assert_eq!(
        with(&["dead", "list"]),
        json!({ "groups": [], "more": false })
    );
}

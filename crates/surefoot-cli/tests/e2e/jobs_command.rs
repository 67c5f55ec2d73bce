//! `jobs`, `queues` and the other commands that need no server.

use serde_json::{Value, json};

use crate::process::{Folder, command};

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
    let id = created["id"].as_str().unwrap();
    assert_eq!(
        folder.answer(&enqueue),
        json!({ "outcome": "existing", "id": id })
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
        (&later["id"], &json!(-5))
    );
    let page = folder.answer(&["jobs", "list", "--limit", "1"]);
    assert_eq!(
        (&page["jobs"][0]["id"], &page["next"]),
        (&later["id"], &later["id"])
    );
    let page = folder.answer(&[
        "jobs",
        "list",
        "--limit",
        "1",
        "--before",
        later["id"].as_str().unwrap(),
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
    let hint = format!("hint: see what became of it with: surefoot jobs show {id}");
    assert!(again.stderr.contains(&hint), "{again:?}");
    let text = folder.run(&["jobs", "show", id]).stdout;
    for part in [
        "state       cancelled",
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
    for look in [&["jobs", "list"][..], &["jobs", "list", "--queue", "slow"]] {
        let text = folder.run(look).stdout;
        let (_, remark) = text.split_once("queue slow is paused since ").unwrap();
        assert!(remark.contains("by tester: the provider is down"), "{text}");
    }
    let again = ["queues", "pause", "slow", "--reason", "another reason"];
    let text = folder.run(&again).stdout;
    assert!(text.contains("was paused already, since"), "{text}");
    assert!(text.contains("by tester: the provider is down"), "{text}");
    assert_eq!(folder.answer(&again)["was_paused"], true);
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
    let job = folder.answer(&["jobs", "show", created["id"].as_str().unwrap()]);
    assert_eq!(job["due_at"], "9999-12-31T23:59:59.000000Z", "{job:#}");
}

#[test]
fn a_payload_comes_from_a_file() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("payload.json"), "{\"a\": 1}\n").unwrap();
    folder.answer(&["migrate"]);
    let created = folder.answer(&["jobs", "enqueue", "k", "--payload-file", "payload.json"]);
    let job = folder.answer(&["jobs", "show", created["id"].as_str().unwrap()]);
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
    assert_eq!(with(&["jobs", "list"])["jobs"][0]["id"], created["id"]);
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

#[test]
fn a_paused_queue_is_told_where_a_job_waits_in_it() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let pause = [
        "queues",
        "pause",
        "default",
        "--reason",
        "the provider is down",
    ];
    let text = folder.run(&pause).stdout;
    assert!(text.starts_with("paused queue default;"), "{text}");
    let job = folder.answer(&["jobs", "enqueue", "k"]);
    let id = job["id"].as_str().unwrap();
    let text = folder.run(&["jobs", "show", id]).stdout;
    assert!(text.contains("queue default is paused since "), "{text}");
    folder.answer(&["jobs", "cancel", id, "--reason", "r"]);
    let text = folder.run(&["jobs", "show", id]).stdout;
    assert!(!text.contains("is paused"), "it waits no more: {text}");
}

#[test]
fn a_job_that_could_never_run_is_not_taken() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let enqueue = ["jobs", "enqueue", "k"];
    let before_it_runs = [
        "--run-at",
        "2100-01-02T00:00:00Z",
        "--deadline-at",
        "2100-01-01T00:00:00Z",
    ];
    let over = ["--deadline-at", "2020-01-01T00:00:00Z"];
    for (late, part) in [
        (&before_it_runs[..], "is not after run_at"),
        (&over[..], "deadline_at has passed"),
    ] {
        let run = folder.run(&[&enqueue, late].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains(part), "{run:?}");
    }
    assert_eq!(folder.answer(&["jobs", "list"])["jobs"], json!([]));
}

#[test]
fn a_kind_that_the_configuration_does_not_know_is_told() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let text = folder.run(&["jobs", "enqueue", "sned_mail"]).stdout;
    assert!(!text.contains("has no"), "{text}");
    folder.config("[job.send_mail]\n");
    let text = folder.run(&["jobs", "enqueue", "sned_mail"]).stdout;
    assert!(
        text.contains("surefoot.toml has no [job.sned_mail]: it waits for a worker"),
        "{text}"
    );
    let text = folder.run(&["jobs", "enqueue", "send_mail"]).stdout;
    assert!(!text.contains("has no"), "{text}");
}

#[test]
fn who_only_looks_needs_no_secret_of_the_configuration() {
    let folder = Folder::new();
    folder.config(
        "[database]\nurl = \"sqlite:elsewhere.db\"\n\
         [server]\ntokens = { ops = \"${SUREFOOT_TEST_GONE}\" }\n[job.send_mail]\n",
    );
    folder.answer(&["migrate"]);
    assert!(folder.path().join("elsewhere.db").exists());
    for look in [
        &["jobs", "list"][..],
        &["dead", "list"],
        &["queues", "list"],
        &["queues", "pause", "slow", "--reason", "r"],
    ] {
        folder.answer(look);
    }
    for needs_all in [&["jobs", "enqueue", "send_mail"][..], &["check"]] {
        let run = folder.run(needs_all);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(
            run.stderr.contains("SUREFOOT_TEST_GONE is not set"),
            "{run:?}"
        );
    }
    folder.config("[database]\nurl = \"${SUREFOOT_TEST_GONE}\"\n");
    let run = folder.run(&["jobs", "list"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(
        run.stderr.contains("SUREFOOT_TEST_GONE is not set"),
        "{run:?}"
    );
}

#[test]
fn nobody_acts_without_a_name_and_the_refusal_says_where_one_is_looked_for() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let pause = ["queues", "pause", "slow", "--reason", "r"];
    let with = |name: Option<&str>| {
        let mut command = command(folder.path(), &pause);
        for variable in ["SUREFOOT_ACTOR", "USER", "LOGNAME", "USERNAME"] {
            command.env_remove(variable);
        }
        if let Some(variable) = name {
            command.env(variable, "lan");
        }
        command.output().unwrap()
    };
    let refused = with(None);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let text = String::from_utf8(refused.stderr).unwrap();
    for part in ["$USER, $LOGNAME and $USERNAME", "--actor", "SUREFOOT_ACTOR"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(with(Some("LOGNAME")).status.success());
    assert_eq!(
        folder.answer(&["queues", "list"])["queues"][0]["paused"]["actor"],
        "lan"
    );
}

//! Dead letters from the command line: look, edit, replay one or all, set aside.

use serde_json::{Value, json};
use surefoot_testkit::{Act, Answer, ScriptedProvider};

use crate::api::Api;
use crate::http_kinds::config;
use crate::process::{Folder, Node};

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_edited_and_replayed() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::Refuse(Answer::new(422, "no such address"))]);
    let folder = Folder::new();
    folder.config(&config(&provider, "same_key", ""));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({ "to": "nobody" })).await;
    api.job_in(&id, &["dead"]).await;

    let table = folder.run(&["dead", "list"]).stdout;
    assert!(table.starts_with("FINGERPRINT"), "{table}");
    let groups = folder.answer(&["dead", "list"]);
    let group = &groups["groups"][0];
    assert_eq!(
        (&group["reason"], &group["count"]),
        (&json!("permanent"), &json!(1)),
        "{groups:#}"
    );
    assert_eq!(
        group["error"],
        "mail answered 422 Unprocessable Entity: no such address"
    );
    let shown = folder.run(&["dead", "show", &id]);
    for part in [
        "dead (permanent)",
        "mail answered 422",
        "payload     {\"to\":\"nobody\"}",
        "\nfingerprint ",
        "attempts",
    ] {
        assert!(
            shown.stdout.contains(part),
            "{part} is missing in {}",
            shown.stdout
        );
    }

    folder.answer(&[
        "dead",
        "edit",
        &id,
        "--payload",
        r#"{"to":"a@example.org"}"#,
        "--reason",
        "typing error",
    ]);
    folder.answer(&["dead", "replay", &id, "--reason", "mended"]);
    let job = api.job_in(&id, &["succeeded"]).await;
    assert_eq!(provider.received()[1].body, r#"{"to":"a@example.org"}"#);
    assert_eq!(job["revisions"][0]["payload"], json!({ "to": "nobody" }));
    let actions: Vec<_> = job["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| &action["verb"])
        .collect();
    assert_eq!(actions, ["edit", "replay"]);
    assert_eq!(job["actions"][0]["actor"], "tester");

    let again = folder.run(&["dead", "replay", &id, "--reason", "once more"]);
    assert_eq!(again.code, Some(6), "{again:?}");
    assert!(
        again
            .stderr
            .contains("is succeeded; only a dead letter can be changed"),
        "{again:?}"
    );
    let hint = format!("hint: see what became of it with: surefoot jobs show {id}");
    assert!(again.stderr.contains(&hint), "{again:?}");
}

/// Five dead letters of one group, the latest last.
async fn five_dead(
    folder: &Folder,
    provider: &ScriptedProvider,
) -> (Node, Api, Vec<String>, String) {
    provider.script((0..5).map(|_| Act::Refuse(Answer::new(400, "the account is closed"))));
    folder.config(&config(provider, "same_key", ""));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let mut jobs = Vec::new();
    for number in 0..5 {
        let id = api
            .enqueue("send", &number.to_string(), json!({ "number": number }))
            .await;
        api.job_in(&id, &["dead"]).await;
        jobs.push(id);
    }
    let groups = folder.answer(&["dead", "list"]);
    assert_eq!(groups["groups"].as_array().unwrap().len(), 1, "{groups:#}");
    let fingerprint = groups["groups"][0]["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned();
    (node, api, jobs, fingerprint)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_that_succeeds_is_followed_by_the_rest() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let (_node, api, jobs, fingerprint) = five_dead(&folder, &provider).await;
    let replay = [
        "dead",
        "replay",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "it is open again",
    ];

    let some = folder.answer(&[&replay[..], &["--max", "2"]].concat());
    assert_eq!(
        (&some["replayed"], &some["canary"]),
        (&json!(2), &json!(jobs[4])),
        "{some:#}"
    );
    api.job_in(&jobs[3], &["succeeded"]).await;
    assert_eq!(api.job(&jobs[2]).await["state"], "dead");

    let rest = folder.answer(&replay);
    assert_eq!(
        (&rest["replayed"], &rest["refused"]),
        (&json!(3), &json!(0)),
        "{rest:#}"
    );
    for job in &jobs {
        api.job_in(job, &["succeeded"]).await;
        assert_eq!(provider.applied(job), 1);
    }
    let canaries: Vec<_> = provider.received()[5..]
        .iter()
        .map(|call| call.key.clone().unwrap())
        .collect();
    assert_eq!((&canaries[0], &canaries[2]), (&jobs[4], &jobs[2]));
    assert_eq!(folder.run(&replay).code, Some(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_that_dies_keeps_the_rest_where_it_is() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let (_node, api, jobs, fingerprint) = five_dead(&folder, &provider).await;
    provider.script([Act::Refuse(Answer::new(400, "the account is closed"))]);
    let failed = folder.run(&[
        "dead",
        "replay",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "hope",
    ]);
    assert_eq!(failed.code, Some(7), "{failed:?}");
    assert!(
        failed.stderr.contains("is dead again (permanent)"),
        "{failed:?}"
    );
    assert!(
        failed.stderr.contains("nothing else was replayed"),
        "{failed:?}"
    );
    assert_eq!(provider.calls(), 6);
    for job in &jobs {
        assert_eq!(api.job(job).await["state"], "dead");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canary_that_nobody_runs_is_not_waited_for_without_end() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let (node, _api, _jobs, fingerprint) = five_dead(&folder, &provider).await;
    node.kill();
    let replay = [
        "dead",
        "replay",
        "--fingerprint",
        &fingerprint,
        "--reason",
        "hope",
    ];
    let failed = folder.run(&[&replay[..], &["--canary-wait", "200ms"]].concat());
    assert_eq!(failed.code, Some(7), "{failed:?}");
    assert!(
        failed.stderr.contains("check that an engine runs its kind"),
        "{failed:?}"
    );
    let all = folder.answer(&[&replay[..], &["--no-canary"]].concat());
    assert_eq!(
        (&all["replayed"], &all["canary"]),
        (&json!(4), &Value::Null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_set_aside_with_a_reason() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let (_node, api, jobs, fingerprint) = five_dead(&folder, &provider).await;
    let without = folder.run(&["dead", "ignore", &jobs[0]]);
    assert_eq!(without.code, Some(2), "{without:?}");
    folder.answer(&[
        "dead",
        "ignore",
        &jobs[0],
        "--reason",
        "paid by hand",
        "--actor",
        "Lan",
    ]);
    let job = api.job(&jobs[0]).await;
    assert_eq!(
        (&job["state"], &job["reason"]),
        (&json!("ignored"), &json!("paid by hand"))
    );
    assert_eq!(job["actions"][0]["actor"], "Lan");
    let left = folder.answer(&["dead", "list", "--fingerprint", &fingerprint]);
    assert_eq!(left["jobs"].as_array().unwrap().len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_that_are_left_out_are_told() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script(["closed", "open", "open"].map(|why| Act::Refuse(Answer::new(400, why))));
    let folder = Folder::new();
    folder.config(&config(&provider, "same_key", ""));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    for key in ["1", "2", "3"] {
        let id = api.enqueue("send", key, json!({})).await;
        api.job_in(&id, &["dead"]).await;
    }
    let page = folder.answer(&["dead", "list", "--limit", "1"]);
    assert_eq!(
        (&page["more"], page["groups"].as_array().unwrap().len()),
        (&json!(true), 1)
    );
    let text = folder.run(&["dead", "list", "--limit", "1"]).stdout;
    assert!(text.contains("there may be more groups"), "{text}");
    let all = folder.answer(&["dead", "list", "--limit", "2"]);
    assert_eq!(
        (&all["more"], all["groups"].as_array().unwrap().len()),
        (&json!(false), 2)
    );
    let text = folder.run(&["dead", "list"]).stdout;
    assert!(!text.contains("more groups"), "{text}");
}

#[test]
fn the_help_says_that_a_replay_by_fingerprint_takes_every_reason() {
    let help = Folder::new().run(&["dead", "replay", "--help"]).stdout;
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("All dead letters with this fingerprint, whatever their reason"),
        "{help}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_edit_the_advice_is_one_that_is_taken() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(&config(&provider, "at_most_once", ""));
    let node = folder.serve(&[]);
    let api = Api::new(node.url());
    let refusal = Act::Refuse(Answer::new(422, "no such address"));
    for (key, act, added) in [
        ("1", refusal, "add: --effect new"),
        ("2", Act::ApplyThenReset, "--effect same|new"),
    ] {
        provider.script([act]);
        let id = api.enqueue("send", key, json!({})).await;
        api.job_in(&id, &["dead"]).await;
        let edit = ["dead", "edit", &id, "--payload", "1", "--reason", "r"];
        let text = folder.run(&edit).stdout;
        let advice = format!("run it with: surefoot dead replay {id} --reason ...");
        assert!(text.contains(&advice) && text.contains(added), "{text}");
        let replay = ["dead", "replay", &id, "--reason", "r"];
        let plain = folder.run(&replay);
        let taken = if key == "1" {
            plain
        } else {
            assert_eq!(plain.code, Some(6), "{plain:?}");
            folder.run(&[&replay[..], &["--effect", "new"]].concat())
        };
        let look = format!("1 made pending again; see it with: surefoot jobs show {id}");
        assert!(taken.stdout.contains(&look), "{taken:?}");
        // The next act is for the next job, and not for this one's replay.
        api.job_in(&id, &["succeeded"]).await;
    }
}

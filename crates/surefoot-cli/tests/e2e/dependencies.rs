//! What protects the calls of a service is seen and steered from outside.

use serde_json::json;
use surefoot_testkit::ScriptedProvider;

use crate::api::{Api, until};
use crate::http_kinds::config;
use crate::process::Folder;

#[tokio::test(flavor = "multi_thread")]
async fn a_breaker_that_is_forced_open_puts_jobs_off_until_it_is_let_go() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(&config(&provider, "at_most_once", "attempts_max = 1"));
    let node = folder.serve(&["--explain"]);
    let api = Api::new(node.url());
    assert!(
        node.log()
            .contains("dependency mail: one call is sent at most 1 time"),
        "{}",
        node.log()
    );

    let steer = async |state: &str| {
        let order = json!({ "state": state, "actor": "an", "reason": "a drill" });
        let reply = api.post("/v1/dependencies/mail/breaker", order).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.body
    };
    let shown = steer("forced_open").await;
    assert_eq!(shown["breaker"]["state"], "forced_open", "{shown:#}");
    assert_eq!(shown["breaker"]["steered"]["actor"], "an", "{shown:#}");

    let id = api.enqueue("send", "1", json!({ "to": "a" })).await;
    let job = api.job_in(&id, &["retrying", "succeeded", "dead"]).await;
    assert_eq!(job["state"], "retrying", "{job:#}");
    assert_eq!(
        (&job["counts"]["failed"], &job["counts"]["deferred"]),
        (&json!(0), &json!(1)),
        "{job:#}"
    );
    let error = job["error"].as_str().unwrap_or_default().to_owned();
    assert!(
        job.to_string().contains("breaker_forced_open"),
        "{error} {job:#}"
    );
    let shown = folder.run(&["jobs", "show", &id]).stdout;
    assert!(
        shown.contains(&format!("\nerror       {error}\n")),
        "{shown}"
    );
    assert_eq!(provider.calls(), 0);

    for (state, expected) in [
        ("metrics_only", "metrics_only"),
        ("disabled", "disabled"),
        ("auto", "closed"),
    ] {
        let shown = steer(state).await;
        assert_eq!(shown["breaker"]["state"], expected, "{shown:#}");
    }
    let second = api.enqueue("send", "2", json!({ "to": "b" })).await;
    api.job_in(&second, &["succeeded"]).await;
    let list = api.get("/v1/dependencies").await.body;
    let mail = &list["dependencies"][0];
    assert_eq!(mail["breaker"]["steered"], json!(null), "{list:#}");
    assert_eq!(
        mail["calls"],
        json!({ "succeeded": 1, "failed": 0, "rejected": 1 }),
        "{list:#}"
    );
    let line = "surefoot_dependency_rejections_total{dependency=\"mail\",reason=\"breaker_forced_open\"} 1";
    until("the rejection is on the metrics page", async || {
        let text = api.get("/metrics").await.body;
        text.as_str().unwrap_or_default().contains(line)
    })
    .await;
}

#[test]
fn check_says_what_a_policy_amounts_to() {
    let folder = Folder::new();
    folder.config(
        "[alerts]\ndead_letters = \"ops\"\n\
         [dependency.mail]\nbase_url = \"http://127.0.0.1:1\"\nretry = { attempts_max = 3 }\nbudget.enabled = false\n\
         waive = { retry_budget = \"a test\" }\n\
         [job.send]\nwaive = { retry_layers = \"a test\" }\n\
         dependency = \"mail\"\nrequest = { path = \"/\" }\nrecovery = \"same_key\"\nattempts_max = 4\n",
    );
    let document = folder.answer(&["check"]);
    let mail = &document["dependencies"][0];
    assert_eq!(
        (&mail["dependency"], &mail["sends_max"], &mail["kinds"]),
        (&json!("mail"), &json!(3), &json!(["send"])),
        "{document:#}"
    );
    assert_eq!(mail["sends_per_hundred"], 300.0, "{document:#}");
    assert_eq!(
        mail["warnings"].as_array().unwrap().len(),
        1,
        "{document:#}"
    );
    let send = &document["kinds"][0];
    assert_eq!(
        (
            &send["recovery"],
            &send["worst"]["attempts_max"],
            &send["worst"]["calls_max"]
        ),
        (&json!("same_key"), &json!(4), &json!(18)),
        "{document:#}"
    );
    let text = folder.run(&["check"]).stdout;
    for part in [
        "dependency mail: one call is sent at most 3 times",
        "  breaker: opens at 50 % of 20 calls",
        "  warning: retries have no budget",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn an_experiment_is_shown_as_json_and_drawn() {
    let folder = Folder::new();
    let shown = folder.answer(&["lab", "amplification", "--svg", "a.svg"]);
    assert_eq!(
        (&shown["retry_at_every_layer"], &shown["retry_at_one_layer"]),
        (&json!(64), &json!(4))
    );
    let svg = std::fs::read_to_string(folder.path().join("a.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.contains(">64<"), "{svg}");
    let trace = folder.answer(&["lab", "breaker"]);
    assert_eq!(trace["trace"][7]["calls_to_dependency"], 6, "{trace:#}");
}

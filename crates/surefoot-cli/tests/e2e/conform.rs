//! `surefoot conform` against a guarded service, and against one that has no guard.

use serde_json::Value;
use surefoot_testkit::ScriptedProvider;

use crate::process::{Folder, Node, Run, command};

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
        .filter(|(_, result)| result != "ok")
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
    let sound = ["two keys are two runs", "a replay sets no cookie"];
    for (case, result) in results(&run) {
        let expected = match case.as_str() {
            case if sound.contains(&case) => "ok",
            "another tenant does not get the answer" => "skipped",
            _ => "FAULT",
        };
        assert_eq!(result, expected, "{case}: {}", run.stdout);
    }
}

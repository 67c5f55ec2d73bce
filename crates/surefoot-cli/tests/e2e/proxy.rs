//! `surefoot proxy` before a service that counts what it was made to do.

use std::time::Duration;

use reqwest::Client;
use surefoot_testkit::{Act, ScriptedProvider};
use tokio::task::JoinSet;

use crate::api::until;
use crate::process::{Folder, Node, command};

/// Starts a proxy on a free port.
pub(crate) fn proxy(folder: &Folder, provider: &ScriptedProvider, arguments: &[&str]) -> Node {
    proxy_before(folder, &provider.url(), arguments)
}

pub(crate) fn proxy_before(folder: &Folder, upstream: &str, arguments: &[&str]) -> Node {
    let first = [
        "proxy",
        "--json",
        "--listen",
        "127.0.0.1:0",
        "--upstream",
        upstream,
    ];
    let arguments = [&first, arguments].concat();
    Node::start(
        command(folder.path(), &arguments),
        folder.path().join("proxy.log"),
    )
}

pub(crate) fn client() -> Client {
    // An error says that another test of this process chose it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

/// The status, the marks and the body.
async fn post(node: &Node, key: &str, body: &str) -> (u16, String, String, String) {
    let client = client();
    let request = client
        .post(format!("{}/charges", node.url()))
        .header("content-type", "application/json")
        .body(body.to_owned());
    let answer = request.header("idempotency-key", key).send().await.unwrap();
    let header = |name: &str| {
        let value = answer.headers().get(name);
        value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    let (status, error) = (header("idempotency-status"), header("idempotency-error"));
    (
        answer.status().as_u16(),
        status,
        error,
        answer.text().await.unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_that_is_sent_again_is_made_once_also_after_a_restart() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let mut node = proxy(&folder, &provider, &[]);
    let first = post(&node, "k", "{\"amount\":1}").await;
    assert_eq!((first.0, first.1.as_str()), (200, "executed"), "{first:?}");
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());

    let node = proxy(&folder, &provider, &[]);
    let again = post(&node, "k", "{ \"amount\": 1 }").await;
    assert_eq!((again.0, again.1.as_str()), (200, "replayed"), "{again:?}");
    assert_eq!(again.3, first.3);
    let other = post(&node, "k", "{\"amount\":2}").await;
    assert_eq!(
        (other.0, other.2.as_str()),
        (422, "key-reused"),
        "{other:?}"
    );
    assert_eq!((provider.calls(), provider.applied("k")), (1, 1));
}

/// The process dies while the charge is being made: whether it happened is not known, and it is not made again.
#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_is_killed_in_the_middle_leaves_an_unknown_outcome() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    let short = ["--lease", "1s", "--settles-within", "1s"];
    let node = proxy(&folder, &provider, &short);
    let asking = {
        let url = format!("{}/charges", node.url());
        let client = client();
        tokio::spawn(client.post(url).header("idempotency-key", "k").send())
    };
    until("the charge is being made", async || provider.calls() == 1).await;
    node.kill();
    assert!(asking.await.unwrap().is_err());

    let node = proxy(&folder, &provider, &short);
    until("the lease is over", async || {
        post(&node, "k", "").await.2 == "outcome-unknown"
    })
    .await;
    let again = post(&node, "k", "").await;
    assert_eq!(
        (again.0, again.2.as_str()),
        (409, "outcome-unknown"),
        "{again:?}"
    );
    assert_eq!((provider.calls(), provider.applied("k")), (1, 1));
}

/// Many keys at two nodes over one database, one of which is killed: each is charged at most once, and what nobody knows is
/// said to be unknown.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_nodes_one_is_killed_and_no_key_is_charged_twice() {
    const KEYS: usize = 200;
    let provider = ScriptedProvider::start().await.unwrap();
    provider.deduplicates(false);
    provider.misbehave(7, [(1.0, Act::AnswerLate(Duration::from_millis(20)))]);
    let folder = Folder::new();
    let short = ["--lease", "1s", "--settles-within", "1s"];
    let dies = proxy(&folder, &provider, &short);
    let lives = proxy(&folder, &provider, &short);
    let client = client();
    let mut asking = JoinSet::new();
    for number in 0..KEYS {
        let node = if number % 2 == 0 { &dies } else { &lives };
        let request = client.post(format!("{}/charges", node.url()));
        asking.spawn(
            request
                .header("idempotency-key", format!("k{number}"))
                .send(),
        );
    }
    for _ in 0..KEYS / 4 {
        asking.join_next().await;
    }
    dies.kill();
    asking.join_all().await;
    until("leases are over", async || {
        post(&lives, "k0", "").await.2 != "outstanding"
    })
    .await;
    for number in 0..KEYS {
        let key = format!("k{number}");
        let before = provider.applied(&key);
        let told = post(&lives, &key, "").await;
        let expected: &[(u16, &str, &str)] = match before {
            // Its run was never on its way, or never claimed.
            0 => &[
                (200, "executed", ""),
                (409, "", "outcome-unknown"),
                (409, "", "outstanding"),
            ],
            _ => &[
                (200, "replayed", ""),
                (409, "", "outcome-unknown"),
                (409, "", "outstanding"),
            ],
        };
        let marks = (told.0, told.1.as_str(), told.2.as_str());
        assert!(
            expected.contains(&marks),
            "{key}, applied {before}: {told:?}"
        );
        assert!(provider.applied(&key) <= 1, "{key}");
    }
    assert!(provider.report().doubles().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_too_slow_is_unknown_and_one_that_is_away_frees_the_key() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::ApplyThenHang]);
    let folder = Folder::new();
    let node = proxy(&folder, &provider, &["--upstream-timeout", "300ms"]);
    let slow = post(&node, "slow", "").await;
    assert_eq!(
        (slow.0, slow.2.as_str()),
        (504, "outcome-unknown"),
        "{slow:?}"
    );
    let again = post(&node, "slow", "").await;
    assert_eq!(
        (again.0, again.2.as_str()),
        (409, "outcome-unknown"),
        "{again:?}"
    );
    assert_eq!(provider.applied("slow"), 1);
    drop(provider);
    for _ in 0..2 {
        let away = post(&node, "away", "").await;
        assert_eq!((away.0, away.1.as_str()), (502, "executed"), "{away:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_remedy() {
    let folder = Folder::new();
    let table: [(&[&str], &str); 4] = [
        (
            &["--upstream", "http://127.0.0.1:1", "--listen", "0.0.0.0:0"],
            "tenants are not told apart",
        ),
        (
            &["--upstream", "https://127.0.0.1:1"],
            "TLS is not spoken to an upstream",
        ),
        (
            &["--upstream", "http://127.0.0.1:1", "--retention", "1s"],
            "raise the retention",
        ),
        (
            &["--upstream", "http://127.0.0.1:1", "--verify", "ftp://x/"],
            "is no http:// address",
        ),
    ];
    for (arguments, expected) in table {
        let run = folder.run(&[&["proxy"], arguments].concat());
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(
            run.stderr.contains(expected),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

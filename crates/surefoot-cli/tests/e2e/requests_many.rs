//! Many requests at once at real proxies before a service that counts by key and remembers nothing: one key a thousand
//! times, and ten thousand keys at two nodes of which one is killed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use surefoot_testkit::{Act, ScriptedProvider};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::api::until;
use crate::asking::{Told, ask};
use crate::postgres;
use crate::process::{Folder, Node};
use crate::proxy::{client, proxy};

const STORM: usize = 1_000;
const KEYS: usize = 10_000;
/// How many requests are open at each of the two nodes at once.
const OPEN: usize = 250;

async fn provider() -> ScriptedProvider {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.deduplicates(false);
    provider
}

/// A storm under one key at one proxy: one execution, every other answer is the replay or 409, and none is a 5xx.
async fn storm(arguments: &[&str]) {
    let provider = provider().await;
    provider.script([Act::AnswerLate(Duration::from_millis(500))]);
    let folder = Folder::new();
    let node = proxy(&folder, &provider, arguments);
    let (client, url) = (client(), node.url());
    let mut asking = JoinSet::new();
    for _ in 0..STORM {
        let (client, url) = (client.clone(), url.clone());
        asking.spawn(async move { ask(&client, &url, "one").await });
    }
    let mut seen: BTreeMap<(u16, String, String), usize> = BTreeMap::new();
    let mut bodies = Vec::new();
    for told in asking.join_all().await {
        let told = told.expect("every request is answered");
        if told.status == 200 {
            bodies.push(told.body.clone());
        }
        *seen
            .entry((told.status, told.mark, told.error))
            .or_default() += 1;
    }
    let of = |status: u16, mark: &str, error: &str| {
        let marks = (status, mark.to_owned(), error.to_owned());
        seen.get(&marks).copied().unwrap_or_default()
    };
    let executed = of(200, "executed", "");
    let others = of(200, "replayed", "") + of(409, "", "outstanding");
    assert_eq!((executed, others), (1, STORM - 1), "{seen:?}");
    assert_eq!((provider.calls(), provider.applied("one")), (1, 1));
    let again = ask(&client, &url, "one").await.unwrap();
    assert!(again.is(200, "replayed", ""), "{again:?}");
    assert!(bodies.iter().all(|body| *body == again.body), "one-outcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_with_one_key_are_one_execution_on_sqlite() {
    storm(&[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_with_one_key_are_one_execution_on_postgres() {
    storm(&["--database", &postgres::database()]).await;
}

/// All of them wait, and all get the one answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_that_wait_get_the_one_answer() {
    let provider = provider().await;
    provider.script([Act::AnswerLate(Duration::from_millis(500))]);
    let folder = Folder::new();
    let node = proxy(&folder, &provider, &["--wait", "50s"]);
    let (client, url) = (client(), node.url());
    let mut asking = JoinSet::new();
    for _ in 0..STORM {
        let (client, url) = (client.clone(), url.clone());
        asking.spawn(async move { ask(&client, &url, "one").await });
    }
    let told = asking.join_all().await;
    let first = told[0].clone().unwrap().body;
    for told in &told {
        let told = told.as_ref().unwrap();
        assert_eq!((told.status, &told.body), (200, &first), "{told:?}");
    }
    assert_eq!((provider.calls(), provider.applied("one")), (1, 1));
}

/// Asks for each of these keys at a node, [`OPEN`] of them at once. `answered` counts.
fn ask_each(
    client: &Client,
    url: String,
    keys: Vec<String>,
    answered: Arc<Semaphore>,
    asking: &mut JoinSet<(String, Option<Told>)>,
) {
    let open = Arc::new(Semaphore::new(OPEN));
    for key in keys {
        let (client, url) = (client.clone(), url.clone());
        let (open, answered) = (open.clone(), answered.clone());
        asking.spawn(async move {
            let _slot = open.acquire().await;
            let told = ask(&client, &url, &key).await;
            answered.add_permits(1);
            (key, told)
        });
    }
}

/// Asks for each key once, half of them at each node; kills the first node when a quarter is answered.
async fn ask_and_kill(dies: Node, lives: &Node, client: &Client) -> BTreeMap<String, Option<Told>> {
    let answered = Arc::new(Semaphore::new(0));
    let mut asking = JoinSet::new();
    for (half, url) in [dies.url(), lives.url()].into_iter().enumerate() {
        let keys = (0..KEYS / 2).map(|number| format!("{half}-{number}"));
        ask_each(client, url, keys.collect(), answered.clone(), &mut asking);
    }
    let quarter = u32::try_from(KEYS / 4).unwrap();
    drop(answered.acquire_many(quarter).await);
    dies.kill();
    asking.join_all().await.into_iter().collect()
}

/// Asks for these keys until none of them is in a state that passes; what each was told last.
async fn ask_until(
    client: &Client,
    url: &str,
    mut keys: Vec<String>,
    passes: impl Fn(&Told) -> bool,
) -> BTreeMap<String, Told> {
    let mut told = BTreeMap::new();
    until("the answers do not pass any more", async || {
        let mut asking = JoinSet::new();
        let counted = Arc::new(Semaphore::new(0));
        let open = std::mem::take(&mut keys);
        ask_each(client, url.to_owned(), open, counted, &mut asking);
        for (key, answer) in asking.join_all().await {
            let answer = answer.expect("a node that lives answers");
            if passes(&answer) {
                keys.push(key);
            } else {
                told.insert(key, answer);
            }
        }
        keys.is_empty()
    })
    .await;
    told
}

/// Ten thousand keys at two nodes over one database, one of which is killed in the middle: each is carried out at most once,
/// what the dead node had begun is unknown, and is settled once the service can be asked.
#[tokio::test(flavor = "multi_thread")]
async fn of_ten_thousand_keys_at_two_nodes_each_is_carried_out_at_most_once() {
    let provider = provider().await;
    let ms = Duration::from_millis;
    provider.misbehave(
        20_261_130,
        [
            (0.4, Act::AnswerLate(ms(60))),
            (0.4, Act::ApplyLate(ms(60))),
        ],
    );
    provider.witnesses(false);
    let folder = Folder::new();
    let (database, verify) = (postgres::database(), format!("{}/outcome", provider.url()));
    let arguments = [
        "--database",
        &database,
        "--lease",
        "3s",
        "--settles-within",
        "2s",
        "--verify",
        &verify,
    ];
    let dies = proxy(&folder, &provider, &arguments);
    let lives = proxy(&folder, &provider, &arguments);
    let (client, url) = (client(), lives.url());
    let first = ask_and_kill(dies, &lives, &client).await;

    // Only the node that was killed leaves anybody without an answer. A machine that is too slow for all of this may refuse
    // some, which is another answer: nothing was run.
    let mut kept = BTreeMap::new();
    let mut asked_again = Vec::new();
    for (key, first) in first {
        match first {
            Some(told) if told.was_not_run() => asked_again.push(key),
            Some(told) => {
                assert!(told.ran(), "{key}: {told:?}");
                kept.insert(key, told.body);
            }
            None => {
                assert!(key.starts_with("0-"), "{key}");
                asked_again.push(key);
            }
        }
    }
    let outstanding = |told: &Told| told.is(409, "", "outstanding") || told.was_not_run();
    let mut unknown = Vec::new();
    for (key, told) in ask_until(&client, &url, asked_again, outstanding).await {
        if told.is(409, "", "outcome-unknown") {
            unknown.push(key);
        } else {
            let known = told.ran() || told.is(200, "replayed", "");
            assert!(known, "{key}: {told:?}");
            kept.insert(key, told.body);
        }
    }
    assert!(!unknown.is_empty(), "nothing was under way when it died");
    assert_eq!(provider.report().doubles(), [""; 0], "no-double-effect");

    // The service is asked, and says what it did.
    let happened: BTreeMap<_, _> = unknown
        .iter()
        .map(|key| (key.clone(), provider.applied(key) == 1))
        .collect();
    provider.witnesses(true);
    let open = |told: &Told| told.is(409, "", "outcome-unknown") || outstanding(told);
    for (key, told) in ask_until(&client, &url, unknown, open).await {
        let mark = if happened[&key] {
            "replayed"
        } else {
            "executed"
        };
        assert!(told.is(200, mark, ""), "{key}: {told:?}");
        kept.insert(key, told.body);
    }
    let report = provider.report();
    let once = report.keys.values().filter(|seen| seen.applied == 1);
    assert_eq!(once.count(), KEYS, "no-lost-intent: each happened once");
    assert_eq!(report.doubles(), [""; 0], "no-double-effect");
    let all = kept.keys().cloned().collect();
    for (key, told) in ask_until(&client, &url, all, open).await {
        assert!(told.is(200, "replayed", ""), "{key}: {told:?}");
        assert_eq!(told.body, kept[&key], "one-outcome: {key}");
    }
}

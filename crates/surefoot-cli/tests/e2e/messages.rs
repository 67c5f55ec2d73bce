//! Messages from the outside: appended over HTTP and on the command line, delivered by a relay of another program, parked,
//! seen, and decided by a person. On both databases.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use surefoot::{Failure, Relay, RelayOptions};
use surefoot_core::message::{Message, Proof, Topics};

use crate::api::{Api, until};
use crate::postgres;
use crate::process::{Folder, Node, Run};

/// The sink of a loyalty programme, in a program of its own over the same database.
#[derive(Clone, Default)]
struct Loyalty {
    /// The messages that it does not take.
    refused: Arc<Mutex<BTreeSet<String>>>,
    /// Those that it took, in order.
    taken: Arc<Mutex<Vec<String>>>,
}

impl Loyalty {
    fn refuses<const N: usize>(&self, ids: [&str; N]) {
        *self.refused.lock().unwrap() = ids.map(str::to_owned).into();
    }

    fn take(&self, message: &Message) -> Result<Proof, Failure> {
        let id = message.id.as_str().to_owned();
        if self.refused.lock().unwrap().contains(&id) {
            return Err(Failure::permanent("no such account"));
        }
        self.taken.lock().unwrap().push(id.clone());
        Ok(Proof::new(format!("added for {id}")))
    }

    fn taken(&self) -> Vec<String> {
        self.taken.lock().unwrap().clone()
    }

    async fn relay(&self, url: &str) -> Relay {
        let ports = surefoot_store::open_ports(url).await.unwrap();
        let loyalty = self.clone();
        let sink = move |message: Message| {
            let told = loyalty.take(&message);
            async move { told }
        };
        let options = RelayOptions {
            poll: std::time::Duration::from_millis(50),
            ..RelayOptions::default()
        };
        Relay::over(ports.store, ports.messages)
            .sink("loyalty", Topics::All, sink)
            .options(options)
            .start()
            .await
            .unwrap()
    }
}

struct Stand {
    folder: Folder,
    database: Vec<String>,
    /// It lives as long as the stand.
    _node: Node,
    api: Api,
    loyalty: Loyalty,
    _relay: Relay,
}

impl Stand {
    /// A node, and a relay beside it, on SQLite or on this database.
    async fn start(database: Option<String>) -> Self {
        let folder = Folder::new();
        let file = format!("sqlite:{}", folder.path().join("surefoot.db").display());
        let url = database.clone().unwrap_or(file);
        let named = database.map(|url| vec!["--database".to_owned(), url]);
        let database = named.unwrap_or_default();
        let arguments: Vec<&str> = database.iter().map(String::as_str).collect();
        let node = folder.serve(&arguments);
        let api = Api::new(node.url());
        let loyalty = Loyalty::default();
        let relay = loyalty.relay(&url).await;
        Self {
            folder,
            database,
            _node: node,
            api,
            loyalty,
            _relay: relay,
        }
    }

    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Run {
        let database = self.database.iter().map(String::as_str);
        let all: Vec<&str> = arguments.iter().copied().chain(database).collect();
        self.folder.run(&all)
    }

    #[track_caller]
    fn answer(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    async fn append(&self, id: &str, key: &str) {
        let body = json!({"id": id, "topic": "order.paid", "key": key, "payload": {"points": 15}});
        let reply = self.api.post("/v1/messages", body).await;
        assert_eq!(reply.status, 202, "{reply:?}");
    }

    async fn until_parked(&self, count: usize) -> Value {
        let mut page = Value::Null;
        until("the deliveries are parked", async || {
            page = self.api.get("/v1/deliveries?sink=loyalty").await.body;
            page["deliveries"].as_array().unwrap().len() == count
        })
        .await;
        page
    }
}

/// What an operator does who is woken at night.
async fn what_is_parked_is_seen_and_decided(database: Option<String>) {
    let stand = Stand::start(database).await;
    stand.loyalty.refuses(["a-1", "b-1"]);
    for (id, key) in [
        ("a-1", "a"),
        ("a-2", "a"),
        ("b-1", "b"),
        ("b-2", "b"),
        ("c-1", "c"),
    ] {
        stand.append(id, key).await;
    }
    let page = stand.until_parked(2).await;
    until("other keys go on", async || {
        stand.loyalty.taken() == ["c-1"]
    })
    .await;

    // The same on the command line as on the API, and in words.
    assert_eq!(stand.answer(&["messages", "parked"]), page);
    let table = stand.run(&["messages", "parked"]).stdout;
    for part in ["MESSAGE", "a-1", "b-1", "loyalty", "no such account"] {
        assert!(table.contains(part), "{part} is missing in {table}");
    }
    assert!(!table.contains("a-2"), "it waits behind: {table}");
    let first = stand.run(&["messages", "parked", "--limit", "1"]).stdout;
    let (_, after) = first.split_once("more with: --after ").unwrap();
    let rest = stand.answer(&["messages", "parked", "--after", after.trim()]);
    assert_eq!(rest["deliveries"][0]["message"]["id"], "b-1");
    let sinks = stand.answer(&["messages", "sinks"]);
    let sink = &sinks["sinks"][0];
    assert_eq!(
        [&sink["waiting"], &sink["taken"], &sink["parked"]],
        [2, 0, 2],
        "{sinks}"
    );
    assert_eq!(stand.api.get("/v1/sinks").await.body, sinks);
    let text = stand.run(&["messages", "sinks"]).stdout;
    assert!(
        text.starts_with("SINK") && text.contains("loyalty"),
        "{text}"
    );
    let metrics = stand.api.get("/metrics").await.body;
    let metrics = metrics.as_str().unwrap();
    for line in [
        "surefoot_deliveries_open{sink=\"loyalty\",state=\"parked\"} 2",
        "surefoot_messages_appended_total{outcome=\"written\"} 5",
    ] {
        assert!(metrics.contains(line), "{line} is missing in {metrics}");
    }

    // What waits is not a person's to decide, and what is not there is told as that.
    let why = ["--reason", "they mended it"];
    let again = |id, sink| stand.run(&[&["messages", "again", id, sink][..], &why].concat());
    let refused = again("a-2", "loyalty");
    assert_eq!(refused.code, Some(6), "{refused:?}");
    assert!(
        refused.stderr.contains("message a-2 is waiting at loyalty"),
        "{refused:?}"
    );
    for (id, sink) in [("x", "loyalty"), ("a-1", "books")] {
        let none = again(id, sink);
        assert_eq!(none.code, Some(5), "{none:?}");
    }

    // One is tried again, and what stood behind it follows in its order; the other is skipped.
    stand.loyalty.refuses([]);
    let done = again("a-1", "loyalty");
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.stdout.contains("delivered to loyalty again"),
        "{done:?}"
    );
    until("the key goes on", async || {
        stand.loyalty.taken() == ["c-1", "a-1", "a-2"]
    })
    .await;
    let skip = [
        "messages",
        "skip",
        "b-1",
        "loyalty",
        "--reason",
        "the customer is gone",
    ];
    let expected = json!({"id": "b-1", "tenant": "default", "sink": "loyalty", "state": "skipped"});
    assert_eq!(stand.answer(&skip), expected);
    until("what stood behind it goes on", async || {
        stand.loyalty.taken() == ["c-1", "a-1", "a-2", "b-2"]
    })
    .await;
    stand.until_parked(0).await;

    let shown = stand.answer(&["messages", "show", "b-1"]);
    assert_eq!(stand.api.get("/v1/messages/b-1").await.body, shown);
    let order = &shown["orders"][0];
    assert_eq!(
        [&order["verb"], &order["actor"], &order["reason"]],
        ["skip", "tester", "the customer is gone"],
        "{shown:#}"
    );
    let text = stand.run(&["messages", "show", "a-1"]).stdout;
    for part in [
        "message   a-1",
        "topic     order.paid",
        "payload   {\"points\":15}",
        "\ndeliveries\n",
        "delivered",
        "added for a-1",
        "\nwhat people did\n",
        "they mended it",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    let nothing = stand.run(&["messages", "parked"]).stdout;
    assert_eq!(nothing, "nothing is parked\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_parked_is_seen_and_decided_on_sqlite() {
    what_is_parked_is_seen_and_decided(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_parked_is_seen_and_decided_on_postgres() {
    what_is_parked_is_seen_and_decided(Some(postgres::database())).await;
}

#[test]
fn a_message_is_appended_once_on_the_command_line() {
    let folder = Folder::new();
    let append = |more: &[&str]| {
        let arguments = [
            "messages",
            "append",
            "order-17-paid",
            "--topic",
            "order.paid",
        ];
        folder.run(&[&arguments, more].concat())
    };
    // A name with a typing error must not become an empty database.
    assert_eq!(append(&[]).code, Some(5));
    assert_eq!(folder.run(&["migrate"]).code, Some(0));
    let payload = ["--key", "order-17", "--payload", "{\"cents\":1999}"];
    let first = append(&payload);
    assert_eq!(
        (first.code, first.stdout.as_str()),
        (
            Some(0),
            "appended message order-17-paid\nno sink on record wants the topic order.paid: it goes to whichever is \
             subscribed to it while it is kept\n"
        ),
        "{first:?}"
    );
    let again = append(&[&payload[..], &["--json"]].concat());
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    let number = &again["number"];
    assert_eq!(
        again,
        json!({"outcome": "already", "id": "order-17-paid", "tenant": "default", "number": number})
    );
    let conflict = append(&["--payload", "1"]);
    assert_eq!(conflict.code, Some(6), "{conflict:?}");
    let seen = "surefoot messages show 'order-17-paid' --tenant default";
    assert!(conflict.stderr.contains(seen), "{conflict:?}");
    // Another tenant's message is another one.
    assert_eq!(append(&["--tenant", "acme"]).code, Some(0));
    let shown = folder.answer(&["messages", "show", "order-17-paid"]);
    assert_eq!(
        (&shown["key"], &shown["payload"], &shown["deliveries"]),
        (&json!("order-17"), &json!({"cents": 1999}), &json!([]))
    );
    let of_acme = folder.answer(&["messages", "show", "order-17-paid", "--tenant", "acme"]);
    assert_eq!(of_acme["payload"], Value::Null);
    let none = folder.run(&["messages", "show", "order-18-paid"]);
    assert_eq!(none.code, Some(5), "{none:?}");
}

//! The front door of a configuration: alone, beside the API, in the hands of a person, and what it counts.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use surefoot_testkit::{Act, ScriptedProvider};

use crate::api::{Api, until};
use crate::process::{Folder, Node, command};

const REASON: [&str; 2] = ["--reason", "seen in their console"];

/// Starts `surefoot proxy` with these arguments; it shows what it does on a free port.
fn proxy(folder: &Folder, arguments: &[&str]) -> Node {
    let first = ["proxy", "--json", "--admin", "127.0.0.1:0"];
    Node::start(
        command(folder.path(), &[&first, arguments].concat()),
        folder.path().join("proxy.log"),
    )
}

fn admin(node: &Node) -> Api {
    Api::new(node.facts["admin"].as_str().unwrap().to_owned())
}

/// What a client of the front door got.
#[derive(Debug)]
struct Got {
    status: u16,
    outcome: String,
    error: String,
    location: String,
    link: String,
    body: String,
}

async fn post(url: &str, path: &str, key: Option<&str>) -> Got {
    // An error says that another test of this process chose it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut request = reqwest::Client::new().post(format!("{url}{path}"));
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let answer = request.send().await.unwrap();
    let header = |name: &str| {
        let value = answer.headers().get(name);
        value.map_or_else(String::new, |value| value.to_str().unwrap().to_owned())
    };
    Got {
        status: answer.status().as_u16(),
        outcome: header("idempotency-status"),
        error: header("idempotency-error"),
        location: header("location"),
        link: header("link"),
        body: answer.text().await.unwrap(),
    }
}

async fn metrics(api_url: &str) -> String {
    let answer = reqwest::get(format!("{api_url}/metrics")).await.unwrap();
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_route_is_guarded_as_the_file_says_and_the_command_line_counts_more() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(
        "[proxy]\nupstream = \"http://127.0.0.1:1\"\nlisten = \"127.0.0.1:0\"\n\
         [[proxy.route]]\nmethod = \"POST\"\npath = \"/charges/{id}\"\nneed = \"required\"\n\
         [[proxy.route]]\npath = \"/open\"\nneed = \"off\"\n\
         [dependency.psp]\nbase_url = \"${A_SECRET_OF_THOSE_WHO_RUN_JOBS}\"\n",
    );
    let node = proxy(&folder, &["--upstream", &provider.url()]);
    let missing = post(&node.url(), "/charges/7", None).await;
    assert_eq!(
        (missing.status, missing.error.as_str()),
        (400, "key-missing"),
        "{missing:?}"
    );
    let bare = post(&node.url(), "/notes", None).await;
    assert_eq!((bare.status, bare.outcome.as_str()), (200, ""), "{bare:?}");
    let off = post(&node.url(), "/open", Some("k")).await;
    assert_eq!(
        (off.status, off.outcome.as_str()),
        (200, "ignored"),
        "{off:?}"
    );
    for expected in ["executed", "replayed"] {
        let charge = post(&node.url(), "/charges/7", Some("k")).await;
        assert_eq!(
            (charge.status, charge.outcome.as_str()),
            (200, expected),
            "{charge:?}"
        );
    }
    let reused = post(&node.url(), "/charges/8", Some("k")).await;
    assert_eq!(
        (reused.status, reused.error.as_str()),
        (422, "key-reused"),
        "{reused:?}"
    );

    let api = admin(&node);
    let shown = api.get("/v1/requests/k").await.body;
    assert_eq!(shown["route"], "/charges/{id}", "{shown:#}");
    assert_eq!(shown["state"], "finished", "{shown:#}");
    assert_eq!(api.get("/v1/jobs").await.status, 404);
    assert_eq!(api.get("/readyz").await.status, 200);
    let told = metrics(node.facts["admin"].as_str().unwrap()).await;
    for line in [
        "surefoot_requests_total{outcome=\"executed\"} 1",
        "surefoot_requests_total{outcome=\"replayed\"} 1",
        "surefoot_requests_total{outcome=\"ignored\"} 1",
        "surefoot_requests_total{outcome=\"none\"} 1",
        "surefoot_requests_total{outcome=\"key-missing\"} 1",
        "surefoot_requests_total{outcome=\"key-reused\"} 1",
        "surefoot_requests_total{outcome=\"outstanding\"} 0",
        "surefoot_requests_total{outcome=\"outcome-unknown\"} 0",
        "surefoot_requests_total{outcome=\"result-expired\"} 0",
        "surefoot_requests_total{outcome=\"result-not-kept\"} 0",
        "surefoot_requests_total{outcome=\"key-invalid\"} 0",
        "surefoot_requests_run_total{outcome=\"answered\"} 1",
        "surefoot_requests_open{state=\"claimed\"} 0",
        "surefoot_requests_open{state=\"needs_human\"} 0",
        "surefoot_oldest_unknown_request_age_seconds 0.0",
    ] {
        assert!(told.contains(line), "{line} is missing in {told}");
    }
    let rounds = told
        .lines()
        .find_map(|line| line.strip_prefix("surefoot_requests_reconcile_rounds_total "));
    assert!(rounds.unwrap().parse::<u64>().unwrap() >= 1, "{told}");
}

/// A client that is refused is led to a page, also by what stands in place of the service's answer, and what is said there can
/// be read off the rules in force.
#[tokio::test(flavor = "multi_thread")]
async fn each_refusal_leads_to_a_page_and_the_rules_in_force_are_shown() {
    let folder = Folder::new();
    folder.config(
        "[proxy]\nupstream = \"http://127.0.0.1:1\"\nlisten = \"127.0.0.1:0\"\n\
         documentation = \"https://api.example/keys\"\n\
         [[proxy.route]]\nmethod = \"POST\"\npath = \"/charges/{id}\"\nneed = \"required\"\nretention = \"2h\"\n\
         [[proxy.route]]\npath = \"/open\"\nneed = \"off\"\n",
    );
    let node = proxy(&folder, &["--documentation", "/keys"]);
    let problem = |word: &str| format!("\"type\":\"urn:surefoot:problem:{word}\"");
    for (key, status, word) in [
        (None, 400, "key-missing"),
        (Some("k"), 502, "upstream-unreachable"),
    ] {
        let told = post(&node.url(), "/charges/7", key).await;
        assert_eq!(told.status, status, "{told:?}");
        assert!(told.body.contains(&problem(word)), "{told:?}");
        assert_eq!(told.link, "</keys>; rel=\"describedby\"", "{told:?}");
    }
    let rules = admin(&node).get("/v1/front-door").await.body;
    let seen: Vec<_> = rules["routes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            json!([
                rule["method"],
                rule["route"],
                rule["key"],
                rule["kept_s"],
                rule["taken_s"]
            ])
        })
        .collect();
    let expected = [
        json!(["POST", "/charges/{id}", "required", 7200, 604_800]),
        json!([null, "/open", "ignored", 86_400, 604_800]),
        json!([null, "*", "optional", 86_400, 604_800]),
    ];
    assert_eq!(seen, expected, "{rules:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_serves_the_api_and_the_front_door_and_drains_both() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(&format!(
        "[proxy]\nupstream = \"{}\"\nlisten = \"127.0.0.1:0\"\n",
        provider.url()
    ));
    let mut node = folder.serve(&[]);
    let door = node.facts["proxy"].as_str().unwrap().to_owned();
    let charge = post(&door, "/charges", Some("k")).await;
    assert_eq!(
        (charge.status, charge.outcome.as_str()),
        (200, "executed"),
        "{charge:?}"
    );
    let api = Api::new(node.url());
    let shown = api.get("/v1/requests/k").await.body;
    assert_eq!(shown["response"]["body"], charge.body, "{shown:#}");
    let page = api.get("/v1/requests?state=finished").await.body;
    assert_eq!(page["requests"][0]["key"], "k", "{page:#}");
    let rules = api.get("/v1/front-door").await.body;
    assert_eq!(rules["routes"][0]["key"], "optional", "{rules:#}");
    let told = metrics(&node.url()).await;
    assert!(
        told.contains("surefoot_requests_total{outcome=\"executed\"} 1"),
        "{told}"
    );

    provider.script([Act::AnswerLate(Duration::from_millis(800))]);
    let slow = tokio::spawn({
        let door = door.clone();
        async move { post(&door, "/charges", Some("slow")).await }
    });
    until("the charge is being made", async || provider.calls() == 2).await;
    node.signal("TERM");
    let slow = slow.await.unwrap();
    assert_eq!(
        (slow.status, slow.outcome.as_str()),
        (200, "executed"),
        "{slow:?}"
    );
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    let shown = folder.answer(&["requests", "show", "slow"]);
    assert_eq!(shown["state"], "finished", "{shown:#}");
}

/// A charge that timed out, whose outcome nobody can be asked about.
async fn undecided(folder: &Folder, provider: &ScriptedProvider) -> Node {
    provider.script([Act::ApplyThenHang]);
    let url = provider.url();
    let node = proxy(
        folder,
        &[
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &url,
            "--upstream-timeout",
            "300ms",
            "--lease",
            "1s",
            "--settles-within",
            "0s",
        ],
    );
    let timed_out = post(&node.url(), "/charges", Some("k")).await;
    assert_eq!(
        (timed_out.status, timed_out.error.as_str()),
        (504, "outcome-unknown")
    );
    until("a person has to decide", async || {
        let page = folder.answer(&["requests", "list", "--state", "needs_human"]);
        page["requests"].as_array().unwrap().len() == 1
    })
    .await;
    node
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_says_what_happened_and_repetitions_are_told_so() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let node = undecided(&folder, &provider).await;
    let admin_url = node.facts["admin"].as_str().unwrap();
    let told = metrics(admin_url).await;
    assert!(
        told.contains("surefoot_requests_reconciled_total{outcome=\"needs_human\"} 1"),
        "{told}"
    );

    let table = folder.run(&["requests", "list"]).stdout;
    for part in [
        "KEY",
        "k",
        "default",
        "POST *",
        "needs_human",
        "nobody can be asked",
    ] {
        assert!(table.contains(part), "{part} is missing in {table}");
    }
    let shown = folder.run(&["requests", "show", "\"k\""]).stdout;
    assert!(shown.contains("surefoot requests resolve"), "{shown}");

    let happened = [
        "requests",
        "resolve",
        "k",
        "--happened",
        "201",
        "--header",
        "Location: /charges/7",
        "--body",
        "{\"id\":7}",
    ];
    let unreasoned = folder.run(&happened);
    assert_eq!(
        unreasoned.code,
        Some(2),
        "a reason is required: {unreasoned:?}"
    );
    let resolved = folder.run(&[&["--json"], &happened[..], &REASON].concat());
    let document: Value = serde_json::from_str(&resolved.stdout).unwrap();
    assert_eq!(
        (&document["settled"], &document["state"]),
        (&json!(true), &json!("finished"))
    );
    // No node counts it: the log of the command is the trace that a node would have left.
    for part in [
        "a witness said what became of a request",
        "outcome=\"settled\"",
        "actor=\"tester\"",
        "reason=\"seen in their console\"",
        "said=\"happened\"",
    ] {
        assert!(resolved.stderr.contains(part), "{part}: {resolved:?}");
    }
    let again = post(&node.url(), "/charges", Some("k")).await;
    assert_eq!(
        (again.status, again.outcome.as_str()),
        (201, "replayed"),
        "{again:?}"
    );
    assert_eq!(
        (again.location.as_str(), again.body.as_str()),
        ("/charges/7", "{\"id\":7}")
    );
    assert_eq!((provider.calls(), provider.applied("k")), (1, 1));
    let body = folder.run(&["requests", "show", "k", "--body"]);
    assert_eq!(body.stdout, "{\"id\":7}");

    // Who comes later and says something else is on record, and changes nothing.
    let other = [
        &["requests", "resolve", "k", "--did-not-happen"],
        &REASON[..],
    ]
    .concat();
    let disputed = folder.run(&other);
    assert_eq!(disputed.code, Some(6), "{disputed:?}");
    let record = folder.answer(&["requests", "show", "k"]);
    assert_eq!(
        (&record["state"], &record["disputed"]),
        (&json!("finished"), &json!(1))
    );
    assert_eq!(record["witness"]["actor"], "tester", "{record:#}");

    let api = admin(&node);
    let word = json!({"verdict": "did_not_happen", "actor": "psp webhook"});
    let reply = api.post("/v1/requests/k/resolve", word).await;
    assert_eq!(reply.body["outcome"], "disputed", "{reply:?}");
    let told = metrics(admin_url).await;
    assert!(
        told.contains("surefoot_requests_disputed_total 1"),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_happen_runs_with_the_next_repetition() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let node = undecided(&folder, &provider).await;
    until("nothing of it can take effect any more", async || {
        let said = [
            &["requests", "resolve", "k", "--did-not-happen"],
            &REASON[..],
        ]
        .concat();
        let run = folder.run(&said);
        assert!(matches!(run.code, Some(0 | 6)), "{run:?}");
        run.code == Some(0)
    })
    .await;
    let again = post(&node.url(), "/charges", Some("k")).await;
    assert_eq!(
        (again.status, again.outcome.as_str()),
        (200, "executed"),
        "{again:?}"
    );
    assert_eq!(provider.calls(), 2);
}

#[test]
fn what_cannot_be_is_refused_by_code() {
    let folder = Folder::new();
    folder.answer(&["migrate"]);
    let reason = &REASON[..];
    let table: [(&[&str], i32, &str); 6] = [
        (
            &["requests", "show", "k"],
            5,
            "tenant default has no request under the key k",
        ),
        (&["requests", "show", "a b"], 2, "visible ASCII"),
        (
            &["requests", "list", "--state", "done"],
            2,
            "possible values: claimed",
        ),
        (
            &["requests", "resolve", "k", "--did-not-happen"],
            5,
            "no request",
        ),
        (
            &["requests", "resolve", "k", "--happened", "99"],
            2,
            "give 200 to 599",
        ),
        (
            &[
                "requests",
                "resolve",
                "k",
                "--happened",
                "200",
                "--body-file",
                "nowhere",
            ],
            5,
            "failed to read nowhere",
        ),
    ];
    for (arguments, code, expected) in table {
        let reason = if arguments[1] == "resolve" {
            reason
        } else {
            &[]
        };
        let run = folder.run(&[arguments, reason].concat());
        assert_eq!(run.code, Some(code), "{arguments:?}: {run:?}");
        assert!(
            run.stderr.contains(expected),
            "{arguments:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn the_front_door_of_a_file_that_contradicts_itself_does_not_start() {
    let folder = Folder::new();
    folder.config("[proxy]\nupstream = \"http://127.0.0.1:1\"\nretention = \"1s\"\n");
    for arguments in [&["proxy"][..], &["check"], &["serve"]] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains("raise the retention"), "{run:?}");
        assert!(run.stderr.contains("surefoot.toml:3:13"), "{run:?}");
    }
    folder.config("[proxy]\nupstream = \"http://127.0.0.1:1\"\nlisten = \"0.0.0.0:0\"\n");
    for (arguments, code) in [(&["proxy"][..], 2), (&["check"], 3), (&["serve"], 3)] {
        let run = folder.run(arguments);
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains("tenants are not told apart"), "{run:?}");
    }
    folder.config("");
    let run = folder.run(&["proxy"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("give --upstream"), "{run:?}");
    let open = [
        "proxy",
        "--upstream",
        "http://127.0.0.1:1",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "0.0.0.0:0",
    ];
    let run = folder.run(&open);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("admin_tokens"), "{run:?}");
}

/// An admin address that was chosen is needed; the one that nobody chose is done without, and the log says how to choose one.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_address_that_is_taken_stops_only_who_chose_it() {
    let folder = Folder::new();
    let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = held.local_addr().unwrap().to_string();
    let door = [
        "proxy",
        "--upstream",
        "http://127.0.0.1:1",
        "--listen",
        "127.0.0.1:0",
    ];
    folder.config(&format!(
        "[proxy]\nupstream = \"http://127.0.0.1:1\"\nadmin = \"{taken}\"\n"
    ));
    for run in [
        folder.run(&door),
        folder.run(&[&door[..], &["--admin", &taken]].concat()),
    ] {
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(
            run.stderr.contains(&format!("failed to listen on {taken}")),
            "{run:?}"
        );
        assert!(
            run.stderr.contains("--admin, or admin in [proxy]"),
            "{run:?}"
        );
    }
    drop(held);
    folder.config("");
    // Whoever holds it, this test or another process: it is taken.
    let _default = std::net::TcpListener::bind("127.0.0.1:7071");
    let log = folder.path().join("proxy.log");
    let start = [&["proxy", "--json"], &door[1..]].concat();
    let node = Node::start(command(folder.path(), &start), log.clone());
    assert_eq!(node.facts["admin"], Value::Null);
    let log = std::fs::read_to_string(log).unwrap();
    for part in ["127.0.0.1:7071 is taken", "--admin, or admin in [proxy]"] {
        assert!(log.contains(part), "{part}: {log}");
    }
}

#[test]
fn check_shows_how_each_route_is_guarded_and_whose_repetitions_outlast_it() {
    let folder = Folder::new();
    let door = "[proxy]\nupstream = \"http://127.0.0.1:3000\"\nlisten = \"127.0.0.1:8080\"\n\
                tenant_tokens = { acme = \"0123456789abcdef\" }\n\
                [[proxy.route]]\nmethod = \"POST\"\npath = \"/charges\"\nneed = \"required\"\nverify = \"http://127.0.0.1:3000/outcome\"\n\
                asks_max = 3\n";
    folder.config(door);
    let document = folder.answer(&["check"]);
    let proxy = &document["proxy"];
    assert_eq!(proxy["tenants"], "by bearer token: acme", "{proxy:#}");
    let routes = proxy["routes"].as_array().unwrap();
    let of = |route: &Value| {
        (
            route["route"].clone(),
            route["key"].clone(),
            route["verify"].clone(),
        )
    };
    assert_eq!(
        of(&routes[0]),
        (
            json!("/charges"),
            json!("required"),
            json!("http://127.0.0.1:3000/outcome")
        )
    );
    assert_eq!(of(&routes[1]), (json!("*"), json!("optional"), Value::Null));
    let text = folder.run(&["check"]).stdout;
    assert_eq!(
        (&proxy["admin"], &proxy["admin_is_required"]),
        (&json!("127.0.0.1:7071"), &json!(false))
    );
    assert_eq!(
        (&routes[0]["asks_max"], &routes[0]["give_up_after_ms"]),
        (&json!(3), &json!(86_400_000))
    );
    assert_eq!(routes[1]["asks_max"], 20);
    for part in [
        "front door at 127.0.0.1:8080",
        "admin: 127.0.0.1:7071 unless it is taken",
        "set admin in [proxy]",
        "/charges",
        "required",
        "a person decides after 3 questions or 1d",
        "a person decides",
        "surefoot.toml: ok",
    ] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    assert!(!text.contains("0123456789abcdef"), "{text}");

    // A job that calls the front door and goes on for longer than a key stays taken would be carried out twice.
    folder.config(&format!(
        "{door}\n[alerts]\ndead_letters = \"pages operations\"\n\
         [dependency.shop]\nbase_url = \"http://127.0.0.1:8080/shop\"\n\
         [job.charge]\ndependency = \"shop\"\nrequest = {{ path = \"/charges\" }}\neffect = \"charges\"\n\
         recovery = \"same_key\"\nattempts_max = 10\nbackoff = [\"1d\"]\njitter = \"full\"\n"
    ));
    let run = folder.run(&["check"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stdout.contains("[proxy] job charge repeats for"),
        "{run:?}"
    );
    assert!(run.stdout.contains("raise the tombstone"), "{run:?}");
}

/// Its time is over, and a node that only serves the API takes it away.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_without_a_front_door_forgets_what_is_over() {
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let url = provider.url();
    let node = proxy(
        &folder,
        &[
            "--listen",
            "127.0.0.1:0",
            "--upstream",
            &url,
            "--upstream-timeout",
            "500ms",
            "--lease",
            "500ms",
            "--run-max",
            "500ms",
            "--retention",
            "1s",
            "--tombstone",
            "1s",
        ],
    );
    let charge = post(&node.url(), "/charges", Some("k")).await;
    assert_eq!(charge.status, 200, "{charge:?}");
    node.kill();
    assert_eq!(
        folder.answer(&["requests", "list"])["requests"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let _node = folder.serve(&[]);
    until("the key is free", async || {
        let page = folder.answer(&["requests", "list"]);
        page["requests"].as_array().unwrap().is_empty()
    })
    .await;
}

/// A header that a page of another origin cannot send is not enough: the admin listener takes its tokens.
#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_asks_for_its_tokens() {
    let folder = Folder::new();
    folder.config(
        "[proxy]\nupstream = \"http://127.0.0.1:1\"\nlisten = \"127.0.0.1:0\"\n\
         admin_tokens = { ops = \"0123456789abcdef\" }\n",
    );
    let node = proxy(&folder, &[]);
    let path = "/v1/requests";
    assert_eq!(admin(&node).get(path).await.status, 401);
    let with_token = admin(&node).with_token("0123456789abcdef");
    assert_eq!(
        with_token.call(Method::GET, path, None, &[]).await.status,
        200
    );
}

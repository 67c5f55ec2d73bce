//! ScriptedProvider over real sockets: what a client sees of each act, and what took effect.

use std::io::ErrorKind;
use std::time::Duration;

use surefoot_testkit::{Act, Answer, Received, ScriptedProvider, Seen};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long an answer may take that does come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait for one that must not come.
const A_WHILE: Duration = Duration::from_millis(200);

/// What came back on a connection until it ended, and how it ended.
async fn sent(provider: &ScriptedProvider, request: String) -> Result<String, ErrorKind> {
    let address = provider.url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer).await {
        Ok(_) => Ok(String::from_utf8(answer).unwrap()),
        Err(error) => Err(error.kind()),
    }
}

fn post(key: &str) -> String {
    format!(
        "POST /send?x=1 HTTP/1.1\r\nhost: x\r\nconnection: close\r\nidempotency-key: {key}\r\n\
         traceparent: 00-a\r\ncontent-length: 7\r\n\r\n{{\"n\":1}}"
    )
}

async fn posted(provider: &ScriptedProvider, key: &str) -> Result<String, ErrorKind> {
    tokio::time::timeout(PATIENCE, sent(provider, post(key)))
        .await
        .unwrap()
}

async fn got(provider: &ScriptedProvider, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    tokio::time::timeout(PATIENCE, sent(provider, request))
        .await
        .unwrap()
        .unwrap()
}

fn body(answer: &str) -> &str {
    answer.split("\r\n\r\n").nth(1).unwrap()
}

#[tokio::test]
async fn a_key_takes_effect_once_while_it_deduplicates() {
    let provider = ScriptedProvider::start().await.unwrap();
    assert!(provider.url().starts_with("http://127.0.0.1:"));
    let first = posted(&provider, "a").await.unwrap();
    assert!(first.starts_with("HTTP/1.1 200 OK"), "{first}");
    assert_eq!(body(&first), r#"{"effect":1}"#);
    assert_eq!(
        body(&posted(&provider, "a").await.unwrap()),
        r#"{"effect":1}"#,
        "the first answer again"
    );
    assert_eq!(
        body(&posted(&provider, "b").await.unwrap()),
        r#"{"effect":2}"#
    );
    assert_eq!(
        (
            provider.applied("a"),
            provider.applied("b"),
            provider.calls()
        ),
        (1, 1, 3)
    );
    assert_eq!(provider.report().doubles(), Vec::<&str>::new());
    provider.deduplicates(false);
    assert_eq!(
        body(&posted(&provider, "a").await.unwrap()),
        r#"{"effect":3}"#
    );
    assert_eq!(provider.report().doubles(), ["a"]);
    assert_eq!(
        provider.report().keys["a"],
        Seen {
            calls: 3,
            applied: 2
        }
    );
    assert_eq!(provider.report().applied(), 3);
    let received: Vec<Received> = provider.received();
    assert_eq!(received.len(), 4);
    assert_eq!(
        (received[0].method.as_str(), received[0].path.as_str()),
        ("POST", "/send?x=1")
    );
    assert_eq!(
        (received[0].key.as_deref(), received[0].body.as_str()),
        (Some("a"), r#"{"n":1}"#)
    );
    assert_eq!(received[0].header("Traceparent"), Some("00-a"));
}

#[tokio::test]
async fn a_call_without_a_key_always_takes_effect() {
    let provider = ScriptedProvider::start().await.unwrap();
    let keyless = "PUT /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    for _ in 0..2 {
        sent(&provider, keyless.to_owned()).await.unwrap();
    }
    assert_eq!(
        provider.report().keyless,
        Seen {
            calls: 2,
            applied: 2
        }
    );
    assert!(
        got(&provider, "/elsewhere")
            .await
            .starts_with("HTTP/1.1 404")
    );
    assert_eq!(provider.calls(), 2, "a GET is no call");
}

#[tokio::test]
async fn effects_can_be_looked_up() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::Refuse(Answer::new(503, "{}")), Act::ApplyThenReset]);
    posted(&provider, "a").await.unwrap();
    assert!(
        got(&provider, "/effects/a")
            .await
            .starts_with("HTTP/1.1 404")
    );
    assert_eq!(
        body(&got(&provider, "/applied/a").await),
        r#"{"applied":0,"calls":1,"key":"a"}"#
    );
    posted(&provider, "a").await.unwrap_err();
    let found = got(&provider, "/effects/a").await;
    assert!(found.starts_with("HTTP/1.1 200"));
    assert_eq!(body(&found), r#"{"effect":1}"#);
    assert_eq!(
        body(&got(&provider, "/applied/a").await),
        r#"{"applied":1,"calls":2,"key":"a"}"#
    );
}

#[tokio::test]
async fn it_says_what_became_of_a_call() {
    let provider = ScriptedProvider::start().await.unwrap();
    let asked = async || {
        let request = "GET /outcome HTTP/1.1\r\nhost: x\r\nconnection: close\r\nidempotency-key: \"a\"\r\n\r\n";
        sent(&provider, request.to_owned()).await.unwrap()
    };
    assert!(
        asked()
            .await
            .contains("surefoot-outcome: nothing-happened\r\n")
    );
    posted(&provider, "a").await.unwrap();
    let answer = asked().await;
    assert!(answer.contains("surefoot-outcome: happened\r\n"));
    assert_eq!(body(&answer), r#"{"effect":1}"#);
    provider.witnesses(false);
    assert!(!asked().await.contains("surefoot-outcome"));
}

#[tokio::test]
async fn answers_are_as_scripted() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([
        Act::Refuse(Answer::new(429, r#"{"slow":"down"}"#).retry_after("37")),
        Act::Apply,
    ]);
    provider.script_for(
        "b",
        [Act::ApplyAnswering(Answer::new(201, r#"{"id":"x"}"#))],
    );
    let own = posted(&provider, "b").await.unwrap();
    assert!(
        own.starts_with("HTTP/1.1 201") && body(&own) == r#"{"id":"x"}"#,
        "a key's own script goes first"
    );
    let refused = posted(&provider, "a").await.unwrap();
    assert!(
        refused.starts_with("HTTP/1.1 429") && refused.contains("retry-after: 37\r\n"),
        "{refused}"
    );
    assert_eq!(body(&refused), r#"{"slow":"down"}"#);
    assert_eq!(provider.applied("a"), 0);
    assert!(
        posted(&provider, "a")
            .await
            .unwrap()
            .starts_with("HTTP/1.1 200")
    );
    assert_eq!((provider.applied("a"), provider.applied("b")), (1, 1));
}

#[tokio::test]
async fn a_reset_is_a_reset_and_a_cut_is_half_an_answer() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([Act::Reset, Act::ApplyThenReset, Act::ApplyThenCut]);
    assert_eq!(
        posted(&provider, "a").await,
        Err(ErrorKind::ConnectionReset)
    );
    assert_eq!(provider.applied("a"), 0);
    assert_eq!(
        posted(&provider, "a").await,
        Err(ErrorKind::ConnectionReset)
    );
    assert_eq!(provider.applied("a"), 1);
    let half = posted(&provider, "b").await.unwrap();
    assert!(
        half.starts_with("HTTP/1.1 200") && !half.contains("effect"),
        "{half}"
    );
    assert_eq!(provider.applied("b"), 1);
    assert!(posted(&provider, "c").await.is_ok(), "it goes on");
}

#[tokio::test]
async fn it_hangs_until_it_is_dropped() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script_for("a", [Act::Hang]);
    provider.script_for("b", [Act::ApplyThenHang]);
    let calls: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|key| {
            let (address, request) = (provider.url().replace("http://", ""), post(key));
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                stream
                    .read_to_end(&mut Vec::new())
                    .await
                    .map_err(|error| error.kind())
            })
        })
        .collect();
    tokio::time::sleep(A_WHILE).await;
    assert!(calls.iter().all(|call| !call.is_finished()));
    assert_eq!(
        (
            provider.applied("a"),
            provider.applied("b"),
            provider.calls()
        ),
        (0, 1, 2)
    );
    let address = provider.url().replace("http://", "");
    drop(provider);
    for call in calls {
        let ended = tokio::time::timeout(PATIENCE, call).await.unwrap().unwrap();
        assert_eq!(ended, Err(ErrorKind::ConnectionReset));
    }
    assert!(
        TcpStream::connect(address).await.is_err(),
        "nobody listens any more"
    );
}

#[tokio::test]
async fn what_is_late_takes_effect_also_when_the_caller_has_gone() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script_for("early", [Act::AnswerLate(A_WHILE)]);
    provider.script_for("late", [Act::ApplyLate(A_WHILE)]);
    for (key, applied_meanwhile) in [("early", 1), ("late", 0)] {
        let impatient = tokio::time::timeout(A_WHILE / 4, sent(&provider, post(key))).await;
        assert!(impatient.is_err(), "no answer came so soon");
        assert_eq!(provider.applied(key), applied_meanwhile);
    }
    let mut waited = Duration::ZERO;
    while provider.applied("late") == 0 && waited < PATIENCE {
        tokio::time::sleep(A_WHILE / 4).await;
        waited += A_WHILE / 4;
    }
    assert_eq!(
        provider.applied("late"),
        1,
        "a call that its caller gave up takes effect all the same"
    );
    assert_eq!(
        body(&posted(&provider, "late").await.unwrap()),
        r#"{"effect":2}"#
    );
}

#[tokio::test]
async fn the_same_seed_meets_the_same_acts() {
    let mut runs = Vec::new();
    for seed in [5, 5, 6] {
        let provider = ScriptedProvider::start().await.unwrap();
        provider.misbehave(
            seed,
            [
                (0.3, Act::Reset),
                (0.3, Act::Refuse(Answer::new(500, "{}"))),
            ],
        );
        let mut run = Vec::new();
        for number in 0..40 {
            let answer = posted(&provider, &format!("k-{number}")).await;
            run.push(answer.map(|answer| answer[9..12].to_owned()));
        }
        runs.push(run);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
    for expected in [
        Err(ErrorKind::ConnectionReset),
        Ok("500".to_owned()),
        Ok("200".to_owned()),
    ] {
        assert!(
            runs[0].iter().filter(|answer| **answer == expected).count() > 5,
            "{expected:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_at_once_under_one_key_take_effect_once() {
    let provider = std::sync::Arc::new(ScriptedProvider::start().await.unwrap());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let provider = provider.clone();
            tokio::spawn(async move {
                posted(&provider, &format!("k-{}", number % 5))
                    .await
                    .unwrap()
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let report = provider.report();
    assert_eq!(report.doubles(), Vec::<&str>::new());
    assert_eq!(
        (report.keys.len(), report.applied(), provider.calls()),
        (5, 5, 50)
    );
}

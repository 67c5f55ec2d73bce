//! Traces and metrics reach an OTLP receiver, and one that does not answer stops nothing.

use std::sync::{Arc, Mutex};

use serde_json::json;
use surefoot_testkit::ScriptedProvider;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::api::Api;
use crate::http_kinds::config;
use crate::process::{Folder, Node, command};

/// What an OTLP receiver was sent: path and body.
type Exports = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

async fn receiver() -> (String, Exports) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let exports = Exports::default();
    let kept = Arc::clone(&exports);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(receive(stream, Arc::clone(&kept)));
        }
    });
    (url, exports)
}

/// Reads requests with a content-length and answers each with an empty 200.
async fn receive(mut stream: TcpStream, exports: Exports) {
    let mut bytes = Vec::new();
    loop {
        let Some(head_end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return;
            }
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap_or("0");
        let end = head_end + 4 + length.trim().parse::<usize>().unwrap();
        while bytes.len() < end {
            if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let path = head.split(' ').nth(1).unwrap().to_owned();
        exports
            .lock()
            .unwrap()
            .push((path, bytes[head_end + 4..end].to_vec()));
        bytes.drain(..end);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .await
            .unwrap();
    }
}

fn holds(body: &[u8], part: &[u8]) -> bool {
    body.windows(part.len()).any(|window| window == part)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_attempt_is_a_span_linked_to_its_caller() {
    let (endpoint, exports) = receiver().await;
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(&format!(
        "[telemetry]\notlp_endpoint = \"{endpoint}\"\n{}",
        config(&provider, "same_key", "")
    ));
    let mut node = folder.serve(&[]);
    let api = Api::new(node.url());
    let caller = [(
        "traceparent",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    )];
    let body = json!({ "kind": "send", "payload": {} });
    let reply = api
        .call(reqwest::Method::POST, "/v1/jobs", Some(body), &caller)
        .await;
    let id = reply.body["id"].as_str().unwrap();
    api.job_in(id, &["succeeded"]).await;
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());

    let traces = sent_to(&exports, "/v1/traces");
    let trace_id = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes();
    for part in ["job send", "surefoot", "POST", id]
        .map(str::as_bytes)
        .into_iter()
        .chain([&trace_id[..]])
    {
        assert!(
            holds(&traces, part),
            "{} is missing",
            String::from_utf8_lossy(part)
        );
    }
    let metrics = sent_to(&exports, "/v1/metrics");
    for part in [
        "surefoot.attempts",
        "surefoot.attempt.duration",
        "http.client.request.duration",
        "succeeded",
    ] {
        assert!(holds(&metrics, part.as_bytes()), "{part} is missing");
    }
    // The service is called in the attempt's trace.
    let sent = provider.received()[0]
        .header("traceparent")
        .unwrap()
        .to_owned();
    let own = u128::from_str_radix(&sent[3..35], 16)
        .unwrap()
        .to_be_bytes();
    assert!(holds(&traces, &own), "{sent}");
    assert_ne!(own, trace_id);
}

/// What was sent to one path, all of it.
fn sent_to(exports: &Exports, path: &str) -> Vec<u8> {
    let exports = exports.lock().unwrap();
    let to_path = exports.iter().filter(|(to, _)| to == path);
    to_path.flat_map(|(_, body)| body.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_front_door_counts_is_sent_too() {
    let (endpoint, exports) = receiver().await;
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    folder.config(&format!(
        "[telemetry]\notlp_endpoint = \"{endpoint}\"\n[proxy]\nupstream = \"{}\"\nlisten = \"127.0.0.1:0\"\n",
        provider.url()
    ));
    let arguments = ["proxy", "--json", "--admin", "127.0.0.1:0"];
    let mut node = Node::start(
        command(folder.path(), &arguments),
        folder.path().join("proxy.log"),
    );
    let api = Api::new(node.url());
    for _ in 0..2 {
        let key = [("idempotency-key", "k")];
        let reply = api
            .call(reqwest::Method::POST, "/charges", Some(json!({})), &key)
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    let metrics = sent_to(&exports, "/v1/metrics");
    for part in [
        "surefoot.requests",
        "executed",
        "replayed",
        "surefoot.requests.run",
        "answered",
        "surefoot.requests.reconcile_rounds",
    ] {
        assert!(holds(&metrics, part.as_bytes()), "{part} is missing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_counted_of_messages_is_sent_too() {
    let (endpoint, exports) = receiver().await;
    let folder = Folder::new();
    folder.config(&format!("[telemetry]\notlp_endpoint = \"{endpoint}\"\n"));
    let mut node = folder.serve(&[]);
    let message = json!({"id": "order-17-paid", "topic": "order.paid"});
    let reply = Api::new(node.url()).post("/v1/messages", message).await;
    assert_eq!(reply.status, 202, "{reply:?}");
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    let metrics = sent_to(&exports, "/v1/metrics");
    for part in ["surefoot.messages.appended", "written", "conflict"] {
        assert!(holds(&metrics, part.as_bytes()), "{part} is missing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_effects_is_counted_too() {
    let (endpoint, exports) = receiver().await;
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([surefoot_testkit::Act::ApplyThenHang]);
    let folder = Folder::new();
    folder.config(&format!(
        "[telemetry]\notlp_endpoint = \"{endpoint}\"\n\
         [dependency.psp]\nbase_url = \"{}\"\n\
         timeout = {{ connect = \"100ms\", attempt = \"400ms\", total = \"500ms\" }}\n\
         [job.refund]\ndependency = \"psp\"\nrequest = {{ path = \"/refunds\" }}\nbackoff = [\"30ms\"]\n\
         [job.refund.recovery]\n\
         verify = {{ path = \"/effects/{{key}}\", happened = [200], did_not_happen = [404] }}\n\
         settles_within = \"2s\"\nask_every = [\"200ms\"]\n",
        provider.url()
    ));
    let mut node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("refund", "1", json!({})).await;
    api.job_in(&id, &["succeeded"]).await;
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    let metrics = sent_to(&exports, "/v1/metrics");
    for part in ["surefoot.effects.verified", "happened"] {
        assert!(holds(&metrics, part.as_bytes()), "{part} is missing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_never_answers_stops_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let provider = ScriptedProvider::start().await.unwrap();
    let folder = Folder::new();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    folder.config(&format!(
        "[telemetry]\notlp_endpoint = \"{endpoint}\"\n{}",
        config(&provider, "same_key", "")
    ));
    let mut node = folder.serve(&[]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    api.job_in(&id, &["succeeded"]).await;
    node.signal("TERM");
    let asked = std::time::Instant::now();
    assert_eq!(node.ended().code(), Some(0), "{}", node.log());
    assert!(
        asked.elapsed() < std::time::Duration::from_secs(15),
        "{:?}",
        asked.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_lines_of_json_that_name_job_attempt_and_epoch() {
    let provider = ScriptedProvider::start().await.unwrap();
    provider.script([surefoot_testkit::Act::Refuse(
        surefoot_testkit::Answer::new(400, "no"),
    )]);
    let folder = Folder::new();
    folder.config(&config(&provider, "same_key", ""));
    let node = folder.serve(&["--log-format", "json"]);
    let api = Api::new(node.url());
    let id = api.enqueue("send", "1", json!({})).await;
    api.job_in(&id, &["dead"]).await;
    let lines = node.log();
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ended = lines
        .iter()
        .find(|line| line["fields"]["message"] == "an attempt failed")
        .unwrap();
    let fields = &ended["fields"];
    assert_eq!(
        (&fields["job"], &fields["attempt"], &fields["epoch"]),
        (&json!(id), &json!(1), &json!("1")),
        "{ended:#}"
    );
}

//! One job as a stream.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::Method;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::harness::{Api, request};

async fn open(api: &Api, id: &str) -> BodyDataStream {
    let request =
        request(Method::GET, &format!("/v1/jobs/{id}/events")).header("accept-language", "vi");
    let response = api
        .router
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.headers()["content-language"], "vi");
    response.into_body().into_data_stream()
}

/// The next frame as text; `None` at the end of the stream.
async fn frame(stream: &mut BodyDataStream) -> Option<String> {
    let next = tokio::time::timeout(Duration::from_secs(100), stream.next())
        .await
        .expect("a frame");
    next.map(|bytes| String::from_utf8(bytes.unwrap().to_vec()).unwrap())
}

/// The job of the next `job` event; heartbeats are passed over.
async fn job(stream: &mut BodyDataStream) -> Option<Value> {
    loop {
        let text = frame(stream).await?;
        if text.starts_with(':') {
            continue;
        }
        let data = text
            .strip_prefix("event: job\ndata: ")
            .and_then(|text| text.strip_suffix("\n\n"));
        return Some(serde_json::from_str(data.unwrap_or_else(|| panic!("{text:?}"))).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_shows_the_job_at_once_each_change_and_ends_when_it_is_settled() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let mut stream = open(&api, &id).await;
    let first = job(&mut stream).await.unwrap();
    assert_eq!(
        (first["state"].clone(), first["status_text"].clone()),
        (json!("pending"), json!("Đang chờ đến lượt."))
    );
    assert_eq!(first, {
        let request =
            request(Method::GET, &format!("/v1/jobs/{id}")).header("accept-language", "vi");
        api.send(request.body(Body::empty()).unwrap()).await.json()
    });
    let epoch = api.claim("mail").await["epoch"].clone();
    assert_eq!(job(&mut stream).await.unwrap()["state"], "running");
    api.post(&format!("/v1/jobs/{id}/cancel"), &json!({})).await;
    assert_eq!(job(&mut stream).await.unwrap()["cancel_requested"], true);
    api.post(
        &format!("/v1/leases/{id}/succeed"),
        &json!({"epoch": epoch, "result": 1}),
    )
    .await;
    let last = job(&mut stream).await.unwrap();
    assert_eq!(
        (last["state"].clone(), last["result"].clone()),
        (json!("succeeded"), json!(1))
    );
    assert_eq!(frame(&mut stream).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_settled_job_is_one_event() {
    let api = Api::new();
    let id = api.dead(json!({"kind": "mail"})).await;
    let mut stream = open(&api, &id).await;
    assert_eq!(job(&mut stream).await.unwrap()["state"], "dead");
    assert_eq!(frame(&mut stream).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_stream_on_which_nothing_happens_says_that_it_is_alive_and_ends_after_an_hour() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let mut stream = open(&api, &id).await;
    job(&mut stream).await.unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(frame(&mut stream).await.unwrap(), ": alive\n\n");
    assert_eq!(began.elapsed().as_secs(), 15);
    while frame(&mut stream).await.is_some() {}
    assert_eq!(began.elapsed().as_secs(), 3600);
}

/// A line break in a payload would end the event's line, and a carriage return is refused by the event's writer.
#[tokio::test(start_paused = true)]
async fn a_payload_with_line_breaks_stays_one_event() {
    let api = Api::new();
    let created = api
        .post_text(
            "/v1/jobs",
            "{\"kind\":\"mail\",\"payload\":{\r\n\"a\":\r1,\n\"b\":\"\\r\\n\"}}",
        )
        .await;
    let id = created.json()["id"].as_str().unwrap().to_owned();
    let mut stream = open(&api, &id).await;
    assert_eq!(
        job(&mut stream).await.unwrap()["payload"],
        json!({"a": 1, "b": "\r\n"})
    );
}

#[tokio::test(start_paused = true)]
async fn streams_are_bounded_and_a_closed_one_makes_room() {
    let api = Api::with(|options| options.streams_max = 2);
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let (first, _second) = (open(&api, &id).await, open(&api, &id).await);
    let path = format!("/v1/jobs/{id}/events");
    let third = api.get(&path).await;
    third.problem("too-many-streams", 503);
    assert_eq!(third.header("retry-after"), "1");
    drop(first);
    drop(open(&api, &id).await);
    api.get("/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057/events")
        .await
        .problem("not-found", 404);
    drop(open(&api, &id).await);
}

//! Messages of the outbox: appending, looking, what waits for a person, what a person orders, and what is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use surefoot::{Failure, Relay, RelayEvent, RelayObserver, RelayOptions};
use surefoot_core::id::{Epoch, MessageId, SinkName, Worker};
use surefoot_core::message::{Message, NextDelivery, Proof, Topics};
use surefoot_core::port::{DeliveryId, Mark, Marked, Since, Take};
use surefoot_core::text::ErrorText;
use surefoot_core::time::{Clock, Timestamp};
use surefoot_server::Token;
use surefoot_testkit::{Fault, Verb};

use crate::harness::{Answer, Api, request, with_json};

fn sink(name: &str) -> SinkName {
    SinkName::new(name).unwrap()
}

async fn subscribed(api: &Api, name: &str) {
    let (sink, now) = (sink(name), api.clock.now());
    let subscribing = api.messages.subscribe(&sink, &Topics::All, Since::Now, now);
    subscribing.await.unwrap();
}

/// Appends a message and answers what the API said.
async fn appended(api: &Api, body: Value) -> Answer {
    api.post("/v1/messages", &body).await
}

async fn written(api: &Api, id: &str, key: Option<&str>) {
    let body = json!({"id": id, "topic": "order.paid", "key": key, "payload": {"n": 1.0}});
    let answer = appended(api, body).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
}

/// Parks whatever is in front at a sink.
async fn parked(api: &Api, name: &str, error: &str) {
    let take = Take {
        sink: sink(name),
        holder: Worker::new("relay:test").unwrap(),
        lease: Duration::from_secs(30),
        keys_max: 100,
        per_key_max: 1,
    };
    let now = api.clock.now();
    for key in api.messages.take(&take, now).await.unwrap() {
        let mark = Mark {
            delivery: DeliveryId {
                number: key.deliveries[0].number,
                sink: sink(name),
            },
            epoch: key.epoch,
            next: NextDelivery::Parked {
                at: now,
                error: ErrorText::from(error),
                failed: 20,
            },
        };
        assert_eq!(api.messages.mark(&[mark]).await.unwrap(), [Marked::Applied]);
    }
}

async fn shown(api: &Api, path: &str) -> Value {
    let answer = api.get(path).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn a_message_is_appended_once_and_shown_with_its_deliveries() {
    let api = Api::new();
    subscribed(&api, "loyalty").await;
    subscribed(&api, "books").await;
    let body = r#"{"id":"a/b","topic":"order.paid","key":"o-1","payload":{"b":1.0,"a":[]}}"#;
    let traced = |body: &str| {
        let mut request = with_json(Method::POST, "/v1/messages", body);
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        request
            .headers_mut()
            .insert("traceparent", trace.parse().unwrap());
        request
    };
    let answer = api.send(traced(body)).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.text);
    assert_eq!(answer.header("location"), "/v1/messages/a%2Fb");
    let number = answer.json()["number"].clone();
    let expected =
        json!({"outcome": "written", "id": "a/b", "tenant": "default", "number": number});
    assert_eq!(answer.json(), expected);

    api.clock.advance(Duration::from_secs(5));
    let again = api.post_text("/v1/messages", body).await;
    assert_eq!(again.status, StatusCode::OK, "{}", again.text);
    assert_eq!(
        (&again.json()["outcome"], &again.json()["number"]),
        (&json!("already"), &number)
    );

    let answer = api.get("/v1/messages/a%2Fb").await;
    assert!(
        answer.text.contains(r#""payload":{"b":1.0,"a":[]}"#),
        "byte for byte: {}",
        answer.text
    );
    let message = answer.json();
    for (field, expected) in [
        ("id", json!("a/b")),
        ("tenant", json!("default")),
        ("topic", json!("order.paid")),
        ("key", json!("o-1")),
        ("appended_at", json!("2026-11-30T10:30:00.000000Z")),
        (
            "traceparent",
            json!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ),
        ("orders", json!([])),
    ] {
        assert_eq!(message[field], expected, "{field}");
    }
    let deliveries = message["deliveries"].as_array().unwrap();
    let sinks: Vec<&Value> = deliveries.iter().map(|one| &one["sink"]).collect();
    assert_eq!(sinks, ["books", "loyalty"]);
    let waits = json!({"sink": "books", "state": "waiting", "failed": 0, "lost": 0,
        "due_at": "2026-11-30T10:30:00.000000Z", "error": null, "since": null, "holder": null, "epoch": null,
        "lease_until": null, "proof": null, "actor": null, "reason": null});
    assert_eq!(deliveries[0], waits);
}

#[tokio::test]
async fn what_is_no_message_is_refused_by_field() {
    let api = Api::new();
    written(&api, "m", None).await;
    for (changed, value) in [
        ("topic", json!("order.shipped")),
        ("key", json!("k")),
        ("payload", json!({"n": 2})),
    ] {
        let mut body = json!({"id": "m", "topic": "order.paid", "payload": {"n": 1.0}});
        body[changed] = value;
        let answer = appended(&api, body).await;
        answer.problem("id-conflict", 409);
        assert_eq!(answer.json()["field"], "id", "{changed}");
    }
    for (body, field) in [
        (json!({"topic": "t"}), "id"),
        (json!({"id": "m"}), "topic"),
        (json!({"id": "", "topic": "t"}), "id"),
        (json!({"id": "x".repeat(256), "topic": "t"}), "id"),
        (json!({"id": "m", "topic": "a b"}), "topic"),
        (json!({"id": "m", "topic": "t", "key": ""}), "key"),
        (json!({"id": "m", "topic": "t", "tenant": "a b"}), "tenant"),
        (json!({"id": "m", "topic": "t", "sink": "s"}), "sink"),
    ] {
        let answer = appended(&api, body).await;
        answer.problem("invalid-field", 422);
        assert_eq!(answer.json()["field"], field, "{}", answer.text);
    }
    let large = json!({"id": "m", "topic": "t", "payload": "x".repeat(1024 * 1024)});
    let answer = appended(&api, large).await;
    answer.problem("body-too-large", 413);
    assert_eq!(answer.json()["field"], "payload");
}

#[tokio::test]
async fn an_id_counts_within_its_tenant() {
    let api = Api::new();
    subscribed(&api, "s").await;
    let body = json!({"id": "m", "topic": "t", "tenant": "acme"});
    let answer = appended(&api, body).await;
    assert_eq!(answer.header("location"), "/v1/messages/m?tenant=acme");
    api.get("/v1/messages/m").await.problem("not-found", 404);
    let message = shown(&api, answer.header("location")).await;
    assert_eq!(message["tenant"], "acme");
    api.get("/v1/messages/m?tenant=a%20b")
        .await
        .problem("invalid-query", 422);
    parked(&api, "s", "no").await;
    let again = "/v1/messages/m/deliveries/s/again";
    api.post(again, &json!({})).await.problem("not-found", 404);
    let answer = api.post(again, &json!({"tenant": "acme"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.json()["tenant"], "acme");
}

/// After a commit whose answer was lost, the same request is answered as the same message.
#[tokio::test]
async fn an_append_of_unknown_outcome_may_be_repeated() {
    let api = Api::new();
    api.store.next(Verb::Append, Fault::After);
    let body = json!({"id": "m", "topic": "t"});
    let answer = appended(&api, body.clone()).await;
    answer.problem("store-unavailable", 503);
    assert_eq!(appended(&api, body).await.json()["outcome"], "already");
}

#[tokio::test]
async fn a_parked_delivery_is_listed_tried_again_and_skipped() {
    let api = Api::new();
    subscribed(&api, "hooks/1").await;
    written(&api, "m-1", Some("k")).await;
    written(&api, "m-2", Some("k")).await;
    parked(&api, "hooks/1", "410 Gone").await;

    let page = shown(&api, "/v1/deliveries?state=parked").await;
    assert_eq!(page["next"], Value::Null);
    let listed = page["deliveries"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{page:#}");
    for (field, expected) in [
        ("sink", json!("hooks/1")),
        ("state", json!("parked")),
        ("since", json!("2026-11-30T10:30:00.000000Z")),
        ("error", json!("410 Gone")),
        ("failed", json!(20)),
        ("lost", json!(0)),
    ] {
        assert_eq!(listed[0][field], expected, "{field}");
    }
    let message = &listed[0]["message"];
    assert_eq!(
        (&message["id"], &message["key"], &message["payload"]),
        (&json!("m-1"), &json!("k"), &Value::Null)
    );

    let path = "/v1/messages/m-1/deliveries/hooks%2F1";
    let order = json!({"actor": "an", "reason": "they mended it"});
    let answer = api.post(&format!("{path}/again"), &order).await;
    let expected = json!({"id": "m-1", "tenant": "default", "sink": "hooks/1", "state": "waiting"});
    assert_eq!(answer.json(), expected);
    let refused = api.post(&format!("{path}/again"), &order).await;
    let detail = refused.problem("wrong-state", 409);
    assert!(detail.contains("is waiting at hooks/1"), "{detail}");
    assert_eq!(refused.json()["state"], "waiting");

    parked(&api, "hooks/1", "410 Gone").await;
    let skip = format!("{path}/skip");
    let answer = api.post(&skip, &json!({"actor": "an"})).await;
    answer.problem("invalid-field", 422);
    let order = json!({"actor": "an", "reason": "the customer is gone"});
    let answer = api.post(&skip, &order).await;
    assert_eq!(answer.json()["state"], "skipped", "{}", answer.text);
    let message = shown(&api, "/v1/messages/m-1").await;
    let delivery = &message["deliveries"][0];
    assert_eq!(
        (&delivery["state"], &delivery["actor"], &delivery["reason"]),
        (
            &json!("skipped"),
            &json!("an"),
            &json!("the customer is gone")
        )
    );
    let orders = json!([
        {"sink": "hooks/1", "verb": "again", "at": "2026-11-30T10:30:00.000000Z", "actor": "an",
            "reason": "they mended it"},
        {"sink": "hooks/1", "verb": "skip", "at": "2026-11-30T10:30:00.000000Z", "actor": "an",
            "reason": "the customer is gone"},
    ]);
    assert_eq!(message["orders"], orders);
    // What stood behind it is in front.
    parked(&api, "hooks/1", "next").await;
    let page = shown(&api, "/v1/deliveries").await;
    assert_eq!(page["deliveries"][0]["message"]["id"], "m-2");
}

#[tokio::test]
async fn what_is_not_there_is_not_steered() {
    let api = Api::new();
    subscribed(&api, "s").await;
    written(&api, "m", None).await;
    let order = json!({"reason": "r"});
    for (path, detail) in [
        ("x/deliveries/s", "tenant default has no message \"x\""),
        ("m/deliveries/t", "message \"m\" has no delivery to t"),
        ("m/deliveries/a%20b", "sink holds"),
    ] {
        for verb in ["again", "skip"] {
            let answer = api
                .post(&format!("/v1/messages/{path}/{verb}"), &order)
                .await;
            let told = answer.problem("not-found", 404);
            assert!(told.contains(detail), "{told}");
        }
    }
    let waits = api.post("/v1/messages/m/deliveries/s/skip", &order).await;
    waits.problem("wrong-state", 409);
    let bare = request(Method::POST, "/v1/messages/m/deliveries/s/again");
    let answer = api.send(bare.body(Body::empty()).unwrap()).await;
    answer.problem("wrong-state", 409);
}

#[tokio::test]
async fn pages_of_parked_deliveries_follow_one_another() {
    let api = Api::new();
    for name in ["a", "b"] {
        subscribed(&api, name).await;
    }
    for id in ["m-1", "m-2"] {
        written(&api, id, None).await;
    }
    for name in ["a", "b"] {
        parked(&api, name, "no").await;
    }
    let names = |page: &Value| -> Vec<String> {
        let deliveries = page["deliveries"].as_array().unwrap().iter();
        deliveries
            .map(|one| {
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                format!("{} {}", text(&one["message"]["id"]), text(&one["sink"]))
            })
            .collect()
    };
    let first = shown(&api, "/v1/deliveries?limit=3").await;
    assert_eq!(names(&first), ["m-1 a", "m-1 b", "m-2 a"]);
    let next = first["next"].as_str().unwrap();
    let last = shown(&api, &format!("/v1/deliveries?limit=3&after={next}")).await;
    assert_eq!(
        (names(&last), &last["next"]),
        (vec!["m-2 b".to_owned()], &Value::Null)
    );
    let of_one = shown(&api, "/v1/deliveries?sink=b&limit=2").await;
    assert_eq!(
        (names(&of_one), &of_one["next"]),
        (vec!["m-1 b".to_owned(), "m-2 b".to_owned()], &Value::Null)
    );
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("state=waiting", "state"),
        ("state=done", "state"),
        ("after=7", "after"),
        ("sink=a%20b", "sink"),
        ("topic=t", "topic"),
    ] {
        let answer = api.get(&format!("/v1/deliveries?{query}")).await;
        answer.problem("invalid-query", 422);
        assert_eq!(answer.json()["field"], field, "{query}");
    }
}

#[tokio::test]
async fn the_actor_on_record_is_the_one_that_is_proven() {
    let secret = "0123456789abcdef0123456789abcdef";
    let api =
        Api::with(|options| options.tokens = vec![Token::from_secret("ops", secret).unwrap()]);
    subscribed(&api, "s").await;
    let bearer = |method, path: &str, body: &str| {
        let mut request = with_json(method, path, body);
        let token = format!("Bearer {secret}").parse().unwrap();
        request.headers_mut().insert("authorization", token);
        request
    };
    let body = r#"{"id":"m","topic":"t"}"#;
    api.post_text("/v1/messages", body)
        .await
        .problem("unauthorized", 401);
    api.send(bearer(Method::POST, "/v1/messages", body)).await;
    parked(&api, "s", "no").await;
    let order = r#"{"actor":"an","reason":"r"}"#;
    let skip = "/v1/messages/m/deliveries/s/skip";
    api.send(bearer(Method::POST, skip, order)).await;
    let answer = api.send(bearer(Method::GET, "/v1/messages/m", "")).await;
    assert_eq!(answer.json()["orders"][0]["actor"], "an (token ops)");
}

#[tokio::test]
async fn what_is_open_for_each_sink_is_told() {
    let api = Api::new();
    assert_eq!(
        shown(&api, "/v1/sinks").await,
        json!({"sinks": [], "more": false})
    );
    subscribed(&api, "s").await;
    written(&api, "m-1", Some("k")).await;
    api.clock.advance(Duration::from_secs(5));
    written(&api, "m-2", Some("k")).await;
    parked(&api, "s", "no").await;
    subscribed(&api, "t").await;
    let expected = json!({"more": false, "sinks": [
        {"sink": "s", "waiting": 1, "taken": 0, "parked": 1,
            "oldest_at": "2026-11-30T10:30:00.000000Z", "oldest_parked_at": "2026-11-30T10:30:05.000000Z"},
        {"sink": "t", "waiting": 0, "taken": 0, "parked": 0, "oldest_at": null, "oldest_parked_at": null},
    ]});
    assert_eq!(shown(&api, "/v1/sinks").await, expected);
    api.store.next(Verb::MessageDepth, Fault::Before);
    api.get("/v1/sinks").await.problem("store-unavailable", 503);
}

#[tokio::test(start_paused = true)]
async fn what_is_open_and_for_how_long_is_on_the_metrics() {
    let api = Api::new();
    subscribed(&api, "s").await;
    written(&api, "m-1", Some("k")).await;
    written(&api, "m-2", Some("k")).await;
    api.clock.advance(Duration::from_secs(5));
    parked(&api, "s", "no").await;
    api.clock.advance(Duration::from_secs(2));
    let told = api.get("/metrics").await.text;
    for line in [
        "surefoot_deliveries_open{sink=\"s\",state=\"waiting\"} 1",
        "surefoot_deliveries_open{sink=\"s\",state=\"taken\"} 0",
        "surefoot_deliveries_open{sink=\"s\",state=\"parked\"} 1",
        "surefoot_oldest_open_delivery_age_seconds{sink=\"s\"} 7.0",
        "surefoot_oldest_parked_delivery_age_seconds{sink=\"s\"} 2.0",
        // The first one that is parked here must raise an alert.
        "surefoot_deliveries_total{sink=\"s\",outcome=\"parked\"} 0",
    ] {
        assert!(
            told.lines().any(|found| found == line),
            "{line} is missing in {told}"
        );
    }
    tokio::time::advance(Duration::from_secs(6)).await;
    api.store.next(Verb::MessageDepth, Fault::Before);
    let away = api.get("/metrics").await.text;
    assert!(away.contains("surefoot_store_up 0"), "{away}");
    assert!(!away.contains("surefoot_deliveries_open"), "{away}");
}

#[tokio::test(start_paused = true)]
async fn messages_that_take_long_to_count_hide_nothing_else() {
    let api = Api::new();
    subscribed(&api, "s").await;
    api.enqueue(json!({"kind": "mail"})).await;
    let hour = Duration::from_secs(3600);
    api.store.next(Verb::MessageDepth, Fault::Delay(hour));
    let began = tokio::time::Instant::now();
    let told = api.get("/metrics").await.text;
    assert!(began.elapsed() < Duration::from_secs(5));
    for line in ["surefoot_store_up 1", "surefoot_dead_letters 0"] {
        assert!(told.contains(line), "{line} is missing in {told}");
    }
    assert!(told.contains("surefoot_jobs{"), "{told}");
    assert!(!told.contains("surefoot_deliveries_open"), "{told}");
}

#[tokio::test]
async fn every_end_of_a_try_and_every_order_is_counted_by_sink() {
    let api = Api::new();
    let (s, id) = (sink("s"), MessageId::new("m").unwrap());
    let (proof, why) = (Proof::new("ok"), ErrorText::from("why"));
    let (sink, message) = (&s, &id);
    let failed = |unknown| RelayEvent::Failed {
        sink,
        message,
        error: &why,
        unknown,
        failed: 1,
        due_at: Timestamp::MIN,
    };
    let second = Duration::from_secs(1);
    let events = [
        RelayEvent::Delivered {
            sink,
            message,
            proof: &proof,
            took: second,
            age: 60 * second,
        },
        failed(false),
        failed(false),
        failed(true),
        RelayEvent::Parked {
            sink,
            message,
            error: &why,
            unknown: true,
        },
        RelayEvent::StaleMark {
            sink,
            message,
            epoch: Epoch(1),
        },
        RelayEvent::MarkDropped { sink, message },
    ];
    for event in &events {
        RelayObserver::on(&*api.metrics, event);
    }
    let body = json!({"id": "m", "topic": "t"});
    for body in [body.clone(), body, json!({"id": "m", "topic": "u"})] {
        appended(&api, body).await;
    }
    subscribed(&api, "s").await;
    for (id, verb) in [("m-1", "again"), ("m-2", "skip")] {
        written(&api, id, None).await;
        parked(&api, "s", "no").await;
        let path = format!("/v1/messages/{id}/deliveries/s/{verb}");
        api.post(&path, &json!({"reason": "r"})).await;
    }
    let counts = api.metrics.message_counts();
    assert_eq!(
        counts.appended,
        [("written", 3), ("already", 1), ("conflict", 1)]
    );
    let of_s = |word, count| ("s".to_owned(), word, count);
    assert_eq!(counts.steered, [of_s("again", 1), of_s("skip", 1)]);
    let ends = [
        ("delivered", 1),
        ("failed", 2),
        ("unknown", 1),
        ("parked", 1),
        ("stale", 1),
        ("not_recorded", 1),
    ];
    assert_eq!(counts.tries, ends.map(|(word, count)| of_s(word, count)));
    let told = api.get("/metrics").await.text;
    for line in [
        "surefoot_deliveries_total{sink=\"s\",outcome=\"delivered\"} 1",
        "surefoot_deliveries_total{sink=\"s\",outcome=\"failed\"} 2",
        "surefoot_deliveries_total{sink=\"s\",outcome=\"unknown\"} 1",
        "surefoot_deliveries_total{sink=\"s\",outcome=\"parked\"} 1",
        "surefoot_deliveries_total{sink=\"s\",outcome=\"stale\"} 1",
        "surefoot_deliveries_total{sink=\"s\",outcome=\"not_recorded\"} 1",
        "surefoot_deliveries_steered_total{sink=\"s\",verb=\"again\"} 1",
        "surefoot_deliveries_steered_total{sink=\"s\",verb=\"skip\"} 1",
        "surefoot_messages_appended_total{outcome=\"written\"} 3",
        "surefoot_messages_appended_total{outcome=\"already\"} 1",
        "surefoot_messages_appended_total{outcome=\"conflict\"} 1",
        "surefoot_delivery_duration_seconds_sum{sink=\"s\"} 1.0",
        "surefoot_delivery_age_seconds_sum{sink=\"s\"} 60.0",
    ] {
        assert!(
            told.lines().any(|found| found == line),
            "{line} is missing in {told}"
        );
    }
}

/// What is appended and ordered here is delivered at once where the relay runs in the same process.
#[tokio::test(start_paused = true)]
async fn the_relay_of_the_process_is_woken() {
    let api = Api::new();
    let fails = Arc::new(AtomicBool::new(true));
    let failing = fails.clone();
    let sink = move |_: Message| {
        let fails = failing.load(Ordering::SeqCst);
        async move {
            match fails {
                true => Err(Failure::permanent("no such account")),
                false => Ok(Proof::new("kept")),
            }
        }
    };
    let store = Arc::new(api.store.clone());
    let slow = RelayOptions {
        poll: Duration::from_secs(3600),
        ..RelayOptions::default()
    };
    let relay = Relay::over(store, api.messages.clone())
        .sink("s", Topics::All, sink)
        .options(slow)
        .observer(api.metrics.clone())
        .start()
        .await
        .unwrap();
    let woken = relay.clone();
    let api = api.changed(|options| options.relay = Some(woken));
    let is = async |state: &str| {
        // Far less than the poll.
        for _ in 0..100 {
            let message = shown(&api, "/v1/messages/m").await;
            if message["deliveries"][0]["state"] == state {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    appended(&api, json!({"id": "m", "topic": "t"})).await;
    assert!(is("parked").await);
    fails.store(false, Ordering::SeqCst);
    let again = "/v1/messages/m/deliveries/s/again";
    api.post(again, &json!({"reason": "mended"})).await;
    assert!(is("delivered").await);
    relay.drain().await;
}

//! Probes and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use surefoot_core::id::SinkName;
use surefoot_core::message::Topics;
use surefoot_core::port::Since;
use surefoot_core::time::Clock;
use surefoot_testkit::{Fault, Verb};

use crate::harness::Api;

#[tokio::test]
async fn readiness_turns_red_while_liveness_stays_green() {
    let sound = Arc::new(AtomicBool::new(true));
    let asked = sound.clone();
    let api = Api::with(move |options| {
        options.readiness = Arc::new(move || match asked.load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err("the database did not answer for 42 s".to_owned()),
        });
    });
    assert_eq!(
        (
            api.get("/readyz").await.status.as_u16(),
            api.get("/readyz").await.text.as_str()
        ),
        (200, "ready\n")
    );
    sound.store(false, Ordering::SeqCst);
    let red = api.get("/readyz").await;
    assert_eq!(
        (red.status.as_u16(), red.text.as_str()),
        (503, "not ready: the database did not answer for 42 s\n")
    );
    assert_eq!(red.header("cache-control"), "no-store");
    assert_eq!(api.get("/healthz").await.text, "up\n");
    sound.store(true, Ordering::SeqCst);
    assert_eq!(api.get("/readyz").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_counted_under_one_scheme_of_names() {
    let api = Api::new();
    api.enqueue(json!({"kind": "mail", "key": "k"})).await;
    api.post("/v1/jobs", &json!({"kind": "mail", "key": "k"}))
        .await;
    api.post(
        "/v1/jobs",
        &json!({"kind": "mail", "key": "k", "payload": 1}),
    )
    .await;
    api.clock.advance(Duration::from_secs(3));
    let lease = api.claim("mail").await;
    api.clock.advance(Duration::from_secs(20));
    let path = format!("/v1/leases/{}", lease["job"].as_str().unwrap());
    api.post(
        &format!("{path}/succeed"),
        &json!({"epoch": lease["epoch"]}),
    )
    .await;
    api.post(
        &format!("{path}/fail"),
        &json!({"epoch": lease["epoch"], "class": "permanent"}),
    )
    .await;
    api.dead(json!({"kind": "refund", "queue": "money"})).await;
    api.clock.advance(Duration::from_secs(60));
    api.enqueue(json!({"kind": "mail", "queue": "money"})).await;
    api.clock.advance(Duration::from_secs(5));
    api.store.next(Verb::Jobs, Fault::Before);
    api.get("/v1/jobs").await.problem("store-unavailable", 503);
    let scrape = api.get("/metrics").await;
    assert_eq!(
        scrape.header("content-type"),
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert!(scrape.text.ends_with("# EOF\n"));
    for line in [
        r#"surefoot_jobs_enqueued_total{kind="mail",outcome="created"} 2"#,
        r#"surefoot_jobs_enqueued_total{kind="mail",outcome="existing"} 1"#,
        r#"surefoot_jobs_enqueued_total{kind="mail",outcome="conflict"} 1"#,
        r#"surefoot_jobs_claimed_total{kind="mail"} 1"#,
        r#"surefoot_attempts_total{kind="mail",outcome="succeeded"} 1"#,
        r#"surefoot_attempts_total{kind="mail",outcome="timed_out"} 0"#,
        r#"surefoot_attempts_total{kind="refund",outcome="permanent"} 1"#,
        r#"surefoot_job_wait_seconds_bucket{le="2.5",kind="mail"} 0"#,
        r#"surefoot_job_wait_seconds_bucket{le="10.0",kind="mail"} 1"#,
        r#"surefoot_attempt_duration_seconds_sum{kind="mail"} 20.0"#,
        r#"surefoot_jobs_died_total{reason="permanent"} 1"#,
        r#"surefoot_jobs_died_total{reason="outcome_unknown"} 0"#,
        r#"surefoot_store_errors_total{verb="jobs"} 1"#,
        r#"surefoot_jobs{queue="money",kind="mail",state="pending"} 1"#,
        r#"surefoot_jobs{queue="money",kind="refund",state="dead"} 1"#,
        "surefoot_dead_letters 1",
        "surefoot_oldest_due_job_age_seconds 5.0",
        "surefoot_oldest_dead_letter_age_seconds 65.0",
        "surefoot_store_up 1",
        r#"surefoot_build_info{version="0.1.0"} 1"#,
        r#"http_server_request_duration_seconds_count{http_request_method="GET",http_route="/v1/jobs",http_response_status_code="503"} 1"#,
        r#"http_server_request_duration_seconds_count{http_request_method="POST",http_route="/v1/leases/{job}/succeed",http_response_status_code="200"} 1"#,
    ] {
        assert!(
            scrape.text.lines().any(|found| found == line),
            "{line} in\n{}",
            scrape.text
        );
    }
}

#[tokio::test(start_paused = true)]
async fn however_many_scrape_the_store_is_asked_once_in_a_while() {
    let api = Api::new();
    for _ in 0..10 {
        api.get("/metrics").await;
    }
    assert_eq!(api.store.counts(Verb::Depth).calls, 1);
    tokio::time::advance(Duration::from_secs(5)).await;
    api.get("/metrics").await;
    assert_eq!(api.store.counts(Verb::Depth).calls, 2);
}

#[tokio::test(start_paused = true)]
async fn metrics_are_served_while_the_store_is_away() {
    let api = Api::new();
    api.enqueue(json!({"kind": "mail"})).await;
    for fault in [Fault::Before, Fault::Delay(Duration::from_secs(3600))] {
        api.store.next(Verb::Depth, fault);
        let began = tokio::time::Instant::now();
        let scrape = api.get("/metrics").await;
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "a scrape does not wait for the store"
        );
        assert_eq!(scrape.status, 200);
        assert!(
            scrape.text.contains("surefoot_store_up 0\n"),
            "{}",
            scrape.text
        );
        assert!(
            scrape
                .text
                .contains(r#"surefoot_jobs_enqueued_total{kind="mail",outcome="created"} 1"#)
        );
        assert!(
            !scrape.text.contains("surefoot_jobs{"),
            "no gauge is made up"
        );
        tokio::time::advance(Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn kinds_and_paths_that_callers_make_up_make_no_endless_series() {
    let api = Api::new();
    for number in 0..150 {
        api.enqueue(json!({"kind": format!("kind-{number}")})).await;
        api.get(&format!("/made/up/{number}")).await;
        api.get(&format!("/v1/jobs/{number}")).await;
    }
    let text = api.get("/metrics").await.text;
    let created = text.lines().filter(|line| {
        line.starts_with("surefoot_jobs_enqueued_total") && line.contains("created")
    });
    assert_eq!(created.count(), 101);
    assert!(
        text.contains(r#"surefoot_jobs_enqueued_total{kind="other",outcome="created"} 50"#),
        "{text}"
    );
    let routes = text
        .lines()
        .filter(|line| line.starts_with("http_server_request_duration_seconds_count"));
    assert_eq!(routes.count(), 3, "{text}");
}

/// A metric that nobody can look up is of no use, and one that is gone leaves an alert that never fires.
#[tokio::test]
async fn the_document_names_every_metric_and_no_other() {
    let document = include_str!("../../../../docs/metrics.md");
    let api = Api::new();
    api.enqueue(json!({"kind": "mail"})).await;
    api.store.next(Verb::Jobs, Fault::Before);
    api.get("/v1/jobs").await;
    let sink = SinkName::new("s").unwrap();
    let subscribing = api
        .messages
        .subscribe(&sink, &Topics::All, Since::Now, api.clock.now());
    subscribing.await.unwrap();
    let text = api.get("/metrics").await.text;
    let mut served: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .map(|line| {
            let (name, of_type) = line.split_once(' ').unwrap();
            match of_type {
                "counter" => format!("{name}_total"),
                "info" => format!("{name}_info"),
                _ => name.to_owned(),
            }
        })
        .collect();
    served.sort();
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut named: Vec<String> = rows
        .filter_map(|row| row.split_once('`'))
        .map(|(name, _)| name.to_owned())
        // What is counted of services comes from whoever calls them; the binary's own tests look those up.
        .filter(|name| !name.contains('.') && !name.starts_with("surefoot_dependency_"))
        .collect();
    named.sort();
    assert_eq!(named, served);
}

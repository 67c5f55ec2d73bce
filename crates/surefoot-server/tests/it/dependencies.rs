//! What the API shows of the services that a process calls, and how a breaker is steered.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use surefoot_core::port::By;
use surefoot_core::time::Timestamp;
use surefoot_server::{
    BreakerOrder, BreakerView, CallCounts, Dependencies, DependencyCount, DependencyView,
};

use crate::harness::Api;

/// One service that remembers what it was told.
#[derive(Default)]
struct One(Mutex<Option<(BreakerOrder, By, Timestamp)>>);

impl Dependencies for One {
    fn all(&self) -> Vec<DependencyView> {
        let told = self.0.lock().unwrap().clone();
        vec![DependencyView {
            name: "eu/psp".to_owned(),
            criticality: "critical",
            breaker: BreakerView {
                state: "open",
                open_left: Duration::from_micros(1_500_001),
                generation: 7,
                probes_out: 0,
                window_calls: 20,
                window_failed: 11,
                window_slow: 3,
                steered: told.map(|(_, by, at)| (by, at)),
            },
            budget_left: Some(4),
            out: 2,
            waiting: 1,
            limit: 8,
            gate_left: Duration::ZERO,
            calls: CallCounts {
                succeeded: 9,
                failed: 11,
                rejected: 5,
            },
        }]
    }

    fn steer(
        &self,
        name: &str,
        order: BreakerOrder,
        by: &By,
        now: Timestamp,
    ) -> Option<DependencyView> {
        *self.0.lock().unwrap() = Some((order, by.clone(), now));
        self.all().into_iter().find(|view| view.name == name)
    }

    fn counts(&self) -> Vec<DependencyCount> {
        let count = |name, label, value| DependencyCount {
            name,
            dependency: "eu/psp".to_owned(),
            label,
            value,
        };
        vec![
            count("surefoot.dependency.calls", ("outcome", "failed"), 11.0),
            count(
                "surefoot.dependency.call.duration",
                ("outcome", "failed"),
                1.5,
            ),
            count(
                "surefoot.dependency.attempts.failed",
                ("error.type", "timeout"),
                3.0,
            ),
            count("surefoot.dependency.retries", ("", ""), 2.0),
        ]
    }
}

fn api() -> (Api, Arc<One>) {
    let one = Arc::new(One::default());
    let given = Arc::clone(&one);
    (Api::with(|options| options.dependencies = given), one)
}

#[tokio::test]
async fn live_state_is_shown() {
    let (api, _) = api();
    let answer = api.get("/v1/dependencies").await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let expected = json!({ "dependencies": [{
        "name": "eu/psp",
        "criticality": "critical",
        "breaker": {
            "state": "open",
            "open_left_ms": 1501,
            "generation": 7,
            "probes_out": 0,
            "window": { "calls": 20, "failed": 11, "slow": 3 },
            "steered": null,
        },
        "budget_left": 4,
        "bulkhead": { "limit": 8, "out": 2, "waiting": 1 },
        "gate_left_ms": 0,
        "calls": { "succeeded": 9, "failed": 11, "rejected": 5 },
    }] });
    assert_eq!(answer.json(), expected);
    let none = Api::new().get("/v1/dependencies").await;
    assert_eq!(none.json(), json!({ "dependencies": [] }));
}

#[tokio::test]
async fn a_breaker_is_steered_by_somebody_with_a_reason() {
    let (api, one) = api();
    let path = "/v1/dependencies/eu%2Fpsp/breaker";
    let order = json!({ "state": "forced_open", "actor": "an", "reason": "they are down" });
    let answer = api.post(path, &order).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let expected =
        json!({ "at": "2026-11-30T10:30:00.000000Z", "actor": "an", "reason": "they are down" });
    assert_eq!(answer.json()["breaker"]["steered"], expected);
    let told = one.0.lock().unwrap().as_ref().map(|(order, ..)| *order);
    assert_eq!(told, Some(BreakerOrder::ForcedOpen));

    let table = [
        (path, json!({ "state": "auto" }), "/problems/invalid-field"),
        (
            path,
            json!({ "state": "open", "reason": "x" }),
            "/problems/invalid-field",
        ),
        (
            path,
            json!({ "state": "auto", "reason": "x", "why": 1 }),
            "/problems/invalid-field",
        ),
        (
            "/v1/dependencies/mail/breaker",
            json!({ "state": "auto", "reason": "x" }),
            "/problems/not-found",
        ),
    ];
    for (path, body, expected) in table {
        let answer = api.post(path, &body).await;
        assert_eq!(answer.json()["type"], expected, "{body}: {}", answer.text);
    }
}

#[tokio::test]
async fn counts_are_on_the_metrics_page() {
    let (api, _) = api();
    let text = api.get("/metrics").await.text;
    for line in [
        "# TYPE surefoot_dependency_calls counter",
        r#"surefoot_dependency_calls_total{dependency="eu/psp",outcome="failed"} 11"#,
        "# UNIT surefoot_dependency_call_duration_seconds seconds",
        r#"surefoot_dependency_call_duration_seconds_total{dependency="eu/psp",outcome="failed"} 1.5"#,
        r#"surefoot_dependency_attempts_failed_total{dependency="eu/psp",error_type="timeout"} 3"#,
        r#"surefoot_dependency_retries_total{dependency="eu/psp"} 2"#,
        r#"surefoot_dependency_breaker_state{dependency="eu/psp",state="open"} 1"#,
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is missing in {text}"
        );
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}

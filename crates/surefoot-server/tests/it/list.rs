//! Pages of jobs, groups of dead letters, queues.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};

use crate::harness::{Api, with_json};

fn ids(page: &Value) -> Vec<String> {
    page["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["id"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn pages_follow_one_another_without_gap_or_double_though_jobs_come_in() {
    let api = Api::new();
    let mut handed_in = Vec::new();
    for _ in 0..7 {
        api.clock.advance(Duration::from_millis(1));
        handed_in.push(api.enqueue(json!({"kind": "a"})).await);
    }
    handed_in.reverse();
    let mut seen = Vec::new();
    let mut path = "/v1/jobs?limit=3".to_owned();
    loop {
        let page = api.get(&path).await.json();
        seen.push(ids(&page));
        api.clock.advance(Duration::from_millis(1));
        api.enqueue(json!({"kind": "later"})).await;
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("/v1/jobs?limit=3&before={next}");
    }
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    assert_eq!(seen.concat(), handed_in);
}

#[tokio::test]
async fn a_full_last_page_says_that_it_is_the_last() {
    let api = Api::new();
    for _ in 0..3 {
        api.enqueue(json!({"kind": "a"})).await;
    }
    assert_eq!(
        api.get("/v1/jobs?limit=3").await.json()["next"],
        Value::Null
    );
    assert!(api.get("/v1/jobs?limit=2").await.json()["next"].is_string());
}

#[tokio::test]
async fn a_page_shows_no_payload() {
    let api = Api::new();
    api.enqueue(json!({"kind": "a", "payload": "x".repeat(100_000)}))
        .await;
    let page = api.get("/v1/jobs").await;
    assert!(page.text.len() < 2_000, "{} bytes", page.text.len());
    let job = &page.json()["jobs"][0];
    for absent in [
        "payload",
        "result",
        "attempts",
        "effects",
        "revisions",
        "actions",
    ] {
        assert!(job.get(absent).is_none(), "{absent}");
    }
    assert_eq!(job["state"], "pending");
}

#[tokio::test]
async fn every_filter_filters() {
    let api = Api::new();
    let dead = api
        .dead(json!({"kind": "refund", "key": "k & 1", "queue": "money"}))
        .await;
    api.clock.advance(Duration::from_millis(1));
    let pending = api.enqueue(json!({"kind": "mail", "key": "k2"})).await;
    let fingerprint = api.job(&dead).await["dead"]["fingerprint"]
        .as_str()
        .unwrap()
        .to_owned();
    let both = vec![pending.clone(), dead.clone()];
    let table = [
        (String::new(), both.clone()),
        ("state=dead".to_owned(), vec![dead.clone()]),
        ("state=pending".to_owned(), vec![pending.clone()]),
        ("state=succeeded".to_owned(), vec![]),
        ("kind=refund".to_owned(), vec![dead.clone()]),
        ("queue=default".to_owned(), vec![pending.clone()]),
        ("key=k%20%26%201".to_owned(), vec![dead.clone()]),
        ("key=k+%26+1&state=dead".to_owned(), vec![dead.clone()]),
        (format!("fingerprint={fingerprint}"), vec![dead.clone()]),
        ("fingerprint=0000000000000000".to_owned(), vec![]),
        ("kind=mail&state=dead".to_owned(), vec![]),
    ];
    for (query, expected) in table {
        assert_eq!(
            ids(&api.get(&format!("/v1/jobs?{query}")).await.json()),
            expected,
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_query_that_is_not_valid_is_refused_by_name() {
    let api = Api::new();
    let table = [
        ("limit=0", "limit", "limit is 0, give 1 to 200"),
        ("limit=201", "limit", "limit is 201, give 1 to 200"),
        (
            "state=done",
            "state",
            "state is \"done\", give one of pending, running, retrying, verifying, succeeded, dead, cancelled, ignored",
        ),
        (
            "before=7",
            "before",
            "not a job id; it looks like 01890a5d-ac96-774b-bcce-b302099a8057",
        ),
        (
            "fingerprint=xyz",
            "fingerprint",
            "an error fingerprint is 16 lower-case hex digits",
        ),
        (
            "kind=a%20b",
            "kind",
            "kind holds the character ' ' at byte 1; use letters, digits and _ . : / -",
        ),
        ("queue=", "queue", "queue is empty; give 1 to 128 bytes"),
        (
            "limit=many",
            "limit",
            "limit: invalid digit found in string",
        ),
        ("stat=dead", "stat", "unknown field `stat`, expected one of"),
        ("limit=1&limit=2", "limit", "duplicate field `limit`"),
    ];
    for (query, field, detail) in table {
        let answer = api.get(&format!("/v1/jobs?{query}")).await;
        let given = answer.problem("invalid-query", 422);
        assert!(given.contains(detail), "{query}: {given}");
        assert_eq!(
            answer.json()["field"].as_str().unwrap_or_default(),
            field,
            "{query}"
        );
    }
}

#[tokio::test]
async fn dead_letters_are_grouped() {
    let api = Api::new();
    assert_eq!(
        api.get("/v1/dead").await.json(),
        json!({"groups": [], "more": false})
    );
    api.dead(json!({"kind": "refund"})).await;
    api.clock.advance(Duration::from_secs(60));
    let latest = api.dead(json!({"kind": "refund"})).await;
    let fingerprint = api.job(&latest).await["dead"]["fingerprint"].clone();
    let expected = json!({"groups": [{
        "kind": "refund",
        "reason": "permanent",
        "fingerprint": fingerprint,
        "error": "no such card",
        "latest": latest,
        "count": 2,
        "oldest_at": "2026-11-30T10:30:00.000000Z",
        "latest_at": "2026-11-30T10:31:00.000000Z",
        "needs_effect_choice": false,
    }], "more": false});
    assert_eq!(api.get("/v1/dead").await.json(), expected);
}

#[tokio::test]
async fn queues_are_shown_paused_and_resumed() {
    let api = Api::new();
    let name = "eu/mail";
    let path = "/v1/queues/eu%2Fmail";
    api.enqueue(json!({"kind": "mail", "queue": name})).await;
    api.dead(json!({"kind": "refund"})).await;
    let paused = api
        .post(
            &format!("{path}/pause"),
            &json!({"actor": "ann", "reason": "provider is down"}),
        )
        .await;
    assert_eq!((paused.status.as_u16(), paused.text.as_str()), (204, ""));
    let expected = json!({
        "queues": [
            {"queue": "default", "counts": {"pending": 0, "running": 0, "retrying": 0, "verifying": 0, "dead": 1}, "paused": null},
            {"queue": name, "counts": {"pending": 1, "running": 0, "retrying": 0, "verifying": 0, "dead": 0}, "paused":
                {"at": "2026-11-30T10:30:00.000000Z", "actor": "ann", "reason": "provider is down"}},
        ],
        "more": false,
        "oldest_due_at": "2026-11-30T10:30:00.000000Z",
        "oldest_dead_at": "2026-11-30T10:30:00.000000Z",
    });
    assert_eq!(api.get("/v1/queues").await.json(), expected);
    let claim = json!({"worker": "w", "kinds": ["mail"]});
    assert_eq!(
        api.post("/v1/leases", &claim).await.json(),
        json!({"leases": []}),
        "nothing is claimed"
    );
    let resumed = api
        .send(with_json(Method::POST, &format!("{path}/resume"), ""))
        .await;
    assert_eq!(resumed.json(), json!({"was_paused": true}));
    let again = api.post(&format!("{path}/resume"), &json!({})).await;
    assert_eq!(again.json(), json!({"was_paused": false}));
    assert_eq!(
        api.post("/v1/leases", &claim).await.json()["leases"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    api.post("/v1/queues/a%20b/pause", &json!({}))
        .await
        .problem("not-found", 404);
}

/// The store answers the largest groups only: that there are others must not go unsaid.
#[tokio::test]
async fn a_list_of_groups_that_is_full_says_so() {
    let api = Api::new();
    for number in 0..500 {
        if number % 100 == 99 {
            assert_eq!(api.get("/v1/dead").await.json()["more"], false, "{number}");
        }
        api.dead(json!({"kind": format!("kind-{number}")})).await;
    }
    let full = api.get("/v1/dead").await.json();
    assert_eq!(full["groups"].as_array().unwrap().len(), 500);
    assert_eq!(full["more"], true);
}

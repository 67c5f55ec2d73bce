//! Pull workers.

use std::time::Duration;

use serde_json::{Value, json};
use surefoot::Policies;
use surefoot_core::id::{Kind, Worker};
use surefoot_core::port::{Claim, Queues, Store};
use surefoot_testkit::{Fault, Verb};

use crate::harness::{Api, NOW};

#[tokio::test]
async fn a_claim_gives_all_that_a_worker_needs() {
    let api = Api::new();
    let id = api
        .enqueue(json!({"kind": "refund", "key": "r-1", "payload": {"amount": 5}, "deadline_at": "2026-11-30T10:30:20Z"}))
        .await;
    let answer = api
        .post(
            "/v1/leases",
            &json!({"worker": "w1", "kinds": ["mail", "refund"], "max": 10}),
        )
        .await;
    let expected = json!({"leases": [{
        "job": id,
        "epoch": 1,
        "kind": "refund",
        "key": "r-1",
        "payload": {"amount": 5},
        "attempt": 1,
        "provider_key": id,
        "lease_until": "2026-11-30T10:30:40.000000Z",
        "timeout_ms": 20_000,
        "deadline_at": "2026-11-30T10:30:20.000000Z",
        "recovery": "at_most_once",
        "traceparent": null,
    }]});
    assert_eq!(answer.json(), expected);
    let job = api.job(&id).await;
    assert_eq!(job["state"], "running");
    assert_eq!(job["status_text"], "In progress.");
    let lease = json!({"worker": "w1", "epoch": 1, "started_at": "2026-11-30T10:30:00.000000Z",
        "lease_until": "2026-11-30T10:30:40.000000Z", "recovery": "at_most_once"});
    assert_eq!(job["lease"], lease);
    let attempt = json!([{"number": 1, "epoch": 1, "worker": "w1", "started_at": "2026-11-30T10:30:00.000000Z",
        "ended_at": null, "outcome": null, "error": null, "late": null}]);
    assert_eq!(job["attempts"], attempt);
}

#[tokio::test]
async fn a_claim_takes_what_it_asks_for_and_no_more() {
    let api = Api::new();
    for queue in ["a", "b", "b", "b"] {
        api.enqueue(json!({"kind": "mail", "queue": queue})).await;
    }
    let claimed = |answer: Value| answer["leases"].as_array().unwrap().len();
    let one = json!({"worker": "w", "kinds": ["mail", "mail"], "queues": ["b"]});
    assert_eq!(
        claimed(api.post("/v1/leases", &one).await.json()),
        1,
        "one unless max is given"
    );
    let rest = json!({"worker": "w", "kinds": ["mail"], "queues": ["b"], "max": 100});
    assert_eq!(
        claimed(api.post("/v1/leases", &rest).await.json()),
        2,
        "of the named queues only"
    );
    let other = json!({"worker": "w", "kinds": ["refund"], "max": 100});
    assert_eq!(
        claimed(api.post("/v1/leases", &other).await.json()),
        0,
        "of the named kinds only"
    );
}

#[tokio::test]
async fn a_claim_that_is_not_valid_is_refused_by_name() {
    let api = Api::new();
    let many: Vec<String> = (0..101).map(|number| format!("k{number}")).collect();
    let table = [
        (json!({"kinds": ["a"]}), "worker", "missing field `worker`"),
        (json!({"worker": "w"}), "kinds", "missing field `kinds`"),
        (
            json!({"worker": "w", "kinds": []}),
            "kinds",
            "kinds has 0 entries, give 1 to 100",
        ),
        (
            json!({"worker": "w", "kinds": many}),
            "kinds",
            "kinds has 101 entries, give 1 to 100",
        ),
        (
            json!({"worker": "w", "kinds": ["a", 1]}),
            "kinds[1]",
            "invalid type: integer `1`, expected a string",
        ),
        (
            json!({"worker": "w", "kinds": [""]}),
            "kinds",
            "kind is empty",
        ),
        (
            json!({"worker": "w w", "kinds": ["a"]}),
            "worker",
            "worker holds the character ' '",
        ),
        (
            json!({"worker": "w", "kinds": ["a"], "queues": []}),
            "queues",
            "queues has 0 entries, give 1 to 100",
        ),
        (
            json!({"worker": "w", "kinds": ["a"], "max": 0}),
            "max",
            "max is 0, give 1 to 100",
        ),
        (
            json!({"worker": "w", "kinds": ["a"], "max": 101}),
            "max",
            "max is 101, give 1 to 100",
        ),
        (
            json!({"worker": "w", "kinds": ["a"], "wait": 1}),
            "wait",
            "unknown field `wait`",
        ),
    ];
    for (body, field, detail) in table {
        let answer = api.post("/v1/leases", &body).await;
        let given = answer.problem("invalid-field", 422);
        assert!(given.starts_with(detail), "{body}: {given}");
        assert_eq!(
            answer.json()["field"].as_str().unwrap_or_default(),
            field,
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_lease_is_extended_and_tells_of_a_cancellation() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let epoch = api.claim("mail").await["epoch"].clone();
    api.clock.advance(Duration::from_secs(20));
    let body = json!({"epoch": epoch});
    let path = format!("/v1/leases/{id}/extend");
    let held =
        json!({"job": id, "lease_until": "2026-11-30T10:31:00.000000Z", "cancel_requested": false});
    assert_eq!(api.post(&path, &body).await.json(), held);
    let cancelled = api
        .post(&format!("/v1/jobs/{id}/cancel"), &json!({"actor": "ann"}))
        .await;
    assert_eq!(cancelled.status, 202);
    assert_eq!(
        cancelled.json(),
        json!({"job": id, "state": "running", "cancel_requested": true})
    );
    assert_eq!(
        api.post(&path, &body).await.json()["cancel_requested"],
        true
    );
    let job = api.job(&id).await;
    assert_eq!(
        (job["cancel_requested"].clone(), job["status_text"].clone()),
        (json!(true), json!("Being stopped, as was asked."))
    );
}

#[tokio::test]
async fn each_report_leads_where_it_should_and_may_be_repeated() {
    let table = [
        (
            "mail",
            "succeed",
            json!({"result": [1]}),
            "succeeded",
            "Done.",
        ),
        (
            "mail",
            "fail",
            json!({"class": "transient", "error": "502"}),
            "retrying",
            "A temporary fault; trying again at 10:40 UTC.",
        ),
        (
            "mail",
            "fail",
            json!({"class": "permanent", "error": "404"}),
            "dead",
            "It could not be done; we are looking into it.",
        ),
        (
            "mail",
            "unknown",
            json!({"error": "reset"}),
            "retrying",
            "We do not know yet whether it happened; trying again at 10:40 UTC.",
        ),
        (
            "refund",
            "unknown",
            json!({}),
            "dead",
            "We do not know yet whether it happened; a person is looking into it.",
        ),
    ];
    for (kind, verb, mut body, state, sentence) in table {
        let api = Api::new();
        let id = api.enqueue(json!({"kind": kind})).await;
        body["epoch"] = api.claim(kind).await["epoch"].clone();
        let path = format!("/v1/leases/{id}/{verb}");
        let applied = api.post(&path, &body).await;
        assert_eq!(
            applied.json(),
            json!({"job": id, "outcome": "applied", "state": state}),
            "{kind} {verb}"
        );
        let again = api.post(&path, &body).await;
        assert_eq!(
            again.json(),
            json!({"job": id, "outcome": "already", "state": state}),
            "{kind} {verb}"
        );
        let job = api.job(&id).await;
        assert_eq!(job["state"], state);
        assert_eq!(job["status_text"], sentence, "{kind} {verb}");
    }
}

#[tokio::test]
async fn a_retry_comes_when_the_worker_said() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let epoch = api.claim("mail").await["epoch"].clone();
    let failure =
        json!({"epoch": epoch, "class": "transient", "error": "429", "retry_after_ms": 7_200_000});
    api.post(&format!("/v1/leases/{id}/fail"), &failure).await;
    let job = api.job(&id).await;
    let due = job["due_at"].as_str().unwrap();
    assert!(
        ("2026-11-30T12:30:00"..="2026-11-30T13:00:00.000000Z").contains(&due),
        "{due}"
    );
    assert_eq!(job["error"], "429");
    assert_eq!(job["attempts"][0]["outcome"], "transient");
}

#[tokio::test]
async fn an_outcome_that_nobody_knows_is_a_dead_letter_that_says_so() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "refund"})).await;
    let epoch = api.claim("refund").await["epoch"].clone();
    api.post(
        &format!("/v1/leases/{id}/unknown"),
        &json!({"epoch": epoch, "error": "connection reset"}),
    )
    .await;
    let job = api.job(&id).await;
    assert_eq!(job["dead"]["reason"], "outcome_unknown");
    assert_eq!(job["dead"]["error"], "connection reset");
    assert_eq!(job["dead"]["needs_effect_choice"], true);
    assert_eq!(job["dead"]["at"], "2026-11-30T10:30:00.000000Z");
    assert_eq!(job["ended_at"], "2026-11-30T10:30:00.000000Z");
    assert_eq!(job["attempts"][0]["outcome"], "unknown");
}

/// A worker that lost its lease writes nothing, whatever it says.
#[tokio::test]
async fn symptom_22_a_stale_epoch_is_refused_by_its_own_problem() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let stale = api.claim("mail").await["epoch"].clone();
    api.post(
        &format!("/v1/leases/{id}/fail"),
        &json!({"epoch": stale, "class": "transient", "retry_after_ms": 0}),
    )
    .await;
    api.clock.advance(Duration::from_secs(1));
    let held = api.claim("mail").await["epoch"].clone();
    assert_ne!(held, stale);
    for (verb, body) in [
        ("succeed", json!({"epoch": stale, "result": "zombie"})),
        ("fail", json!({"epoch": stale, "class": "permanent"})),
        ("unknown", json!({"epoch": stale})),
        ("extend", json!({"epoch": stale})),
        ("extend", json!({"epoch": 0})),
        ("extend", json!({"epoch": i64::MAX})),
        ("succeed", json!({"epoch": i64::MIN})),
    ] {
        let answer = api.post(&format!("/v1/leases/{id}/{verb}"), &body).await;
        let detail = answer.problem("stale-epoch", 409);
        assert_eq!(
            detail,
            format!(
                "job {id} does not run under epoch {} any more",
                body["epoch"]
            ),
            "{verb}"
        );
        assert_eq!(answer.json()["job"], id);
    }
    assert_eq!(api.job(&id).await["state"], "running");
    let succeeded = api
        .post(&format!("/v1/leases/{id}/succeed"), &json!({"epoch": held}))
        .await;
    assert_eq!(succeeded.json()["outcome"], "applied");
}

#[tokio::test]
async fn a_report_on_a_job_that_is_not_there_is_not_found() {
    let api = Api::new();
    let path = "/v1/leases/01890a5d-ac96-774b-bcce-b302099a8057";
    api.post(&format!("{path}/succeed"), &json!({"epoch": 1}))
        .await
        .problem("not-found", 404);
    api.post("/v1/leases/nonsense/succeed", &json!({"epoch": 1}))
        .await
        .problem("not-found", 404);
}

#[tokio::test]
async fn a_report_that_is_not_valid_is_refused_by_name() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    api.claim("mail").await;
    let table = [
        (
            "fail",
            json!({"epoch": 1}),
            "class",
            "missing field `class`",
        ),
        (
            "fail",
            json!({"class": "transient"}),
            "epoch",
            "missing field `epoch`",
        ),
        (
            "fail",
            json!({"epoch": 1, "class": "temporary"}),
            "class",
            "unknown variant `temporary`, expected `transient` or `permanent`",
        ),
        (
            "fail",
            json!({"epoch": 1, "class": "permanent", "retry_after_ms": 1}),
            "retry_after_ms",
            "a permanent failure is not tried again",
        ),
        (
            "fail",
            json!({"epoch": 1, "class": "transient", "retry_after_ms": -1}),
            "retry_after_ms",
            "invalid value: integer `-1`, expected u64",
        ),
        (
            "fail",
            json!({"epoch": 1, "class": "transient", "retry_after_ms": 2_592_000_001_u64}),
            "retry_after_ms",
            "retry_after_ms is 2592000001, give at most 2592000000",
        ),
        (
            "fail",
            json!({"epoch": 1, "class": "transient", "retry_after": "1s"}),
            "retry_after",
            "unknown field `retry_after`",
        ),
        (
            "succeed",
            json!({"epoch": "1"}),
            "epoch",
            "invalid type: string \"1\", expected i64",
        ),
        (
            "succeed",
            json!({"epoch": 1, "error": "x"}),
            "error",
            "unknown field `error`",
        ),
        (
            "unknown",
            json!({"epoch": 1, "error": 1}),
            "error",
            "invalid type: integer `1`, expected a string",
        ),
        (
            "extend",
            json!({"epoch": 1.5}),
            "epoch",
            "invalid type: floating point `1.5`, expected i64",
        ),
    ];
    for (verb, body, field, detail) in table {
        let answer = api.post(&format!("/v1/leases/{id}/{verb}"), &body).await;
        let given = answer.problem("invalid-field", 422);
        assert!(given.starts_with(detail), "{body}: {given}");
        assert_eq!(
            answer.json()["field"].as_str().unwrap_or_default(),
            field,
            "{body}"
        );
    }
    assert_eq!(api.job(&id).await["state"], "running");
}

/// NUL, half surrogates and a megabyte: a failure can always be reported.
#[tokio::test]
async fn symptom_129_an_error_of_any_bytes_is_recorded() {
    let api = Api::new();
    let long = format!("\"{}\"", "x".repeat(1024 * 1024));
    for (error, starts) in [
        (r#""a\u0000b\uD800""#, "a\u{fffd}b\u{fffd}"),
        (long.as_str(), "xxxx"),
    ] {
        let id = api.enqueue(json!({"kind": "mail"})).await;
        let epoch = api.claim("mail").await["epoch"].clone();
        let body = format!("{{\"epoch\":{epoch},\"class\":\"permanent\",\"error\":{error}}}");
        let answer = api.post_text(&format!("/v1/leases/{id}/fail"), &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let job = api.job(&id).await;
        let text = job["dead"]["error"].as_str().unwrap();
        assert!(
            text.starts_with(starts) && text.len() <= 8 * 1024,
            "{} bytes",
            text.len()
        );
    }
}

#[tokio::test]
async fn a_report_whose_answer_was_lost_is_answered_already() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let body = json!({"epoch": api.claim("mail").await["epoch"], "result": 7});
    api.store.next(Verb::Advance, Fault::After);
    let path = format!("/v1/leases/{id}/succeed");
    let lost = api.post(&path, &body).await;
    lost.problem("store-unavailable", 503);
    assert_eq!(lost.header("retry-after"), "1");
    assert_eq!(api.post(&path, &body).await.json()["outcome"], "already");
}

/// A node's handler may be in the middle of its call: a `fail` from outside would begin a second one.
#[tokio::test]
async fn what_a_node_runs_is_reported_by_nobody_else() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "refund"})).await;
    let claim = Claim {
        worker: Worker::new("node:7f3a").unwrap(),
        kinds: vec![Policies::new().terms(&Kind::new("refund").unwrap())],
        queues: Queues::All,
        queue_limits: std::collections::BTreeMap::new(),
        max: 1,
    };
    let claimed = api.store.advance(&[], Some(&claim), NOW).await.unwrap();
    assert_eq!(claimed.leased.len(), 1);
    for (verb, body) in [
        ("fail", json!({"epoch": 1, "class": "transient"})),
        ("unknown", json!({"epoch": 1})),
        ("succeed", json!({"epoch": 1})),
        ("extend", json!({"epoch": 1})),
    ] {
        let answer = api.post(&format!("/v1/leases/{id}/{verb}"), &body).await;
        answer.problem("held-by-a-node", 409);
        assert_eq!(answer.json()["job"], id, "{verb}");
    }
    let job = api.job(&id).await;
    assert_eq!(job["state"], "running");
    assert_eq!(job["lease"]["lease_until"], "2026-11-30T10:30:40.000000Z");
}

#[tokio::test]
async fn no_pull_worker_may_pass_for_a_node() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "mail"})).await;
    let claim = json!({"worker": "node:7f3a", "kinds": ["mail"]});
    let answer = api.post("/v1/leases", &claim).await;
    answer.problem("invalid-field", 422);
    assert_eq!(answer.json()["field"], "worker");
    assert_eq!(api.job(&id).await["state"], "pending");
}

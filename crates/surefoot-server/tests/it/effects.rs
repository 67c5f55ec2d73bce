//! Effects of pull workers, and witnesses.

use std::time::Duration;

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::harness::{Answer, Api};

/// A worker that holds a job with one effect.
struct Held {
    api: Api,
    job: String,
    epoch: Value,
}

impl Held {
    async fn new() -> Self {
        let api = Api::new();
        let job = api.enqueue(json!({"kind": "pull", "key": "p-1"})).await;
        let epoch = api.claim("pull").await["epoch"].clone();
        Self { api, job, epoch }
    }

    async fn begin(&self, recovery: Value) -> Answer {
        let body = json!({"epoch": self.epoch, "name": "psp.refund", "dependency": "psp", "recovery": recovery,
            "timeout_ms": 10_000, "cost_micros": 7});
        let path = format!("/v1/leases/{}/effects", self.job);
        self.api.post(&path, &body).await
    }

    async fn tell(&self, what: &str, mut body: Value) -> Answer {
        body["epoch"] = self.epoch.clone();
        let path = format!("/v1/leases/{}/effects/0/{what}", self.job);
        self.api.post(&path, &body).await
    }

    async fn report(&self, what: &str, mut body: Value) -> Value {
        body["epoch"] = self.epoch.clone();
        let path = format!("/v1/leases/{}/{what}", self.job);
        let answer = self.api.post(&path, &body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        answer.json()["state"].clone()
    }

    async fn claim_again(&mut self) {
        self.epoch = self.api.claim("pull").await["epoch"].clone();
    }

    async fn witness(&self, body: Value) -> Answer {
        let path = format!("/v1/effects/{}/verdict", self.job);
        self.api.post(&path, &body).await
    }

    async fn effect(&self) -> Value {
        self.api.job(&self.job).await["effects"][0].clone()
    }
}

fn verify() -> Value {
    json!({"verify": {"settles_within_ms": 60_000}})
}

fn slug(answer: &Answer) -> String {
    answer.json()["type"]
        .as_str()
        .unwrap()
        .trim_start_matches("/problems/")
        .to_owned()
}

#[tokio::test]
async fn what_happened_is_returned_and_never_sent_again() {
    let mut held = Held::new().await;
    let order = held.begin(verify()).await.json();
    assert_eq!(
        (&order["do"], &order["key"]),
        (&json!("send"), &json!(held.job))
    );
    assert!(order["leave_within_ms"].as_u64().unwrap() > 0);
    let result = json!({"refund": "r-9"});
    let told = held
        .tell(
            "answer",
            json!({"outcome": "applied", "result": result, "cost_micros": 5}),
        )
        .await;
    assert_eq!(told.json()["state"], "confirmed");
    let state = held
        .report(
            "fail",
            json!({"class": "transient", "retry_after_ms": 1000, "error": "later step"}),
        )
        .await;
    assert_eq!(state, "retrying");
    held.api.clock.advance(Duration::from_secs(5));
    held.claim_again().await;
    let order = held.begin(verify()).await.json();
    assert_eq!(order, json!({"do": "return", "result": result}));
    let effect = held.effect().await;
    assert_eq!(effect["witness"]["kind"], "answer");
    assert_eq!(
        (&effect["sends"], &effect["cost_micros"]),
        (&json!(1), &json!(5))
    );
    let shown = held.api.get(&format!("/v1/effects/{}", held.job)).await;
    assert_eq!(shown.json(), effect);
}

#[tokio::test]
async fn an_unknown_outcome_is_asked_about_before_anything_is_sent_again() {
    let mut held = Held::new().await;
    held.begin(verify()).await;
    held.tell(
        "answer",
        json!({"outcome": "maybe_applied", "error": "time-out"}),
    )
    .await;
    assert_eq!(
        held.report("unknown", json!({"error": "time-out"})).await,
        "verifying"
    );
    let job = held.api.job(&held.job).await;
    assert_eq!(job["status_text"], "We are asking whether it went through.");
    assert_eq!(
        job["effects"][0]["cost_micros"], 7,
        "what timed out is not free"
    );

    held.claim_again().await;
    assert_eq!(held.begin(verify()).await.json()["do"], "ask");
    let early = held
        .tell("verdict", json!({"verdict": "did_not_happen"}))
        .await
        .json();
    assert_eq!(early["state"], "unknown", "it could still take effect");
    assert_eq!(held.begin(verify()).await.json()["do"], "ask_later");
    assert_eq!(held.report("unknown", json!({})).await, "verifying");

    held.api.clock.advance(Duration::from_secs(61));
    held.claim_again().await;
    assert_eq!(held.begin(verify()).await.json()["do"], "ask");
    let absent = held
        .tell("verdict", json!({"verdict": "did_not_happen"}))
        .await
        .json();
    assert_eq!(absent["state"], "absent");
    let order = held.begin(verify()).await.json();
    assert_eq!(
        (&order["do"], &order["key"]),
        (&json!("send"), &json!(held.job))
    );
    held.tell("answer", json!({"outcome": "applied"})).await;
    assert_eq!(
        held.report("succeed", json!({"result": 1})).await,
        "succeeded"
    );
    assert_eq!(held.effect().await["sends"], 2);
}

#[tokio::test]
async fn what_is_known_not_to_have_happened_is_not_called_unknown() {
    let mut held = Held::new().await;
    held.begin(verify()).await;
    held.tell("answer", json!({"outcome": "maybe_applied"}))
        .await;
    assert_eq!(held.report("unknown", json!({})).await, "verifying");
    held.api.clock.advance(Duration::from_secs(61));
    held.claim_again().await;
    held.tell("verdict", json!({"verdict": "did_not_happen"}))
        .await;
    assert_eq!(held.begin(verify()).await.json()["do"], "send");
    held.tell("answer", json!({"outcome": "rejected"})).await;
    let state = held.report("fail", json!({"class": "permanent"})).await;
    let job = held.api.job(&held.job).await;
    assert_eq!(
        (state, &job["effects"][0]["state"], &job["status_text"]),
        (
            json!("dead"),
            &json!("rejected"),
            &json!("It could not be done; we are looking into it.")
        )
    );
}

#[tokio::test]
async fn a_job_does_not_succeed_while_its_effect_is_in_doubt() {
    let held = Held::new().await;
    held.begin(json!("at_most_once")).await;
    held.tell("answer", json!({"outcome": "maybe_applied"}))
        .await;
    assert_eq!(held.report("succeed", json!({"result": 1})).await, "dead");
    assert_eq!(
        held.api.job(&held.job).await["dead"]["reason"],
        "outcome_unknown"
    );
}

#[tokio::test]
async fn the_first_witness_settles_and_a_later_one_is_a_dispute() {
    let held = Held::new().await;
    held.begin(json!("at_most_once")).await;
    held.tell("answer", json!({"outcome": "maybe_applied"}))
        .await;
    held.report("unknown", json!({})).await;
    let early = held
        .witness(json!({"verdict": "did_not_happen", "actor": "psp"}))
        .await;
    assert_eq!(
        (early.status, slug(&early)),
        (StatusCode::CONFLICT, "too-early".to_owned())
    );
    assert_eq!(early.headers["retry-after"], "11");
    let word = json!({"verdict": "happened", "result": {"id": 3}, "actor": "psp webhook"});
    assert_eq!(
        held.witness(word.clone()).await.json()["outcome"],
        "settled"
    );
    assert_eq!(held.witness(word).await.json()["outcome"], "same");
    let other =
        json!({"verdict": "did_not_happen", "actor": "ann", "reason": "not in the bank's list"});
    assert_eq!(held.witness(other).await.json()["outcome"], "disputed");
    let effect = held.effect().await;
    assert_eq!(effect["state"], "confirmed");
    assert_eq!(
        effect["witness"],
        json!({"kind": "caller", "actor": "psp webhook", "reason": null})
    );
    let dispute = &effect["disputes"][0];
    assert_eq!(
        (&dispute["said"], &dispute["witness"]["actor"]),
        (&json!("did_not_happen"), &json!("ann"))
    );
    assert_eq!(
        held.api.job(&held.job).await["state"],
        "pending",
        "it goes on with what is known"
    );
    let metrics = held.api.get("/metrics").await.text;
    assert!(
        metrics.contains("surefoot_effects_disputed_total 1\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_name() {
    let held = Held::new().await;
    let not_begun = held.tell("answer", json!({"outcome": "applied"})).await;
    assert_eq!(slug(&not_begun), "effect-not-begun");
    for recovery in [
        json!("verify"),
        json!("same"),
        json!(null),
        json!({"same_key": {"ttl_ms": 0}}),
    ] {
        let answer = held.begin(recovery.clone()).await;
        assert_eq!(
            answer.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{recovery}: {}",
            answer.text
        );
    }
    let shorter = held
        .begin(json!({"verify": {"settles_within_ms": 1}}))
        .await;
    assert_eq!(slug(&shorter), "effect-refused");
    held.begin(verify()).await;
    assert_eq!(slug(&held.begin(verify()).await), "effect-under-way");
    for key in [
        "x",
        "%ff",
        "01890000-0000-7000-8000-000000000000",
        &format!("{}.1", held.job),
    ] {
        let answer = held.api.get(&format!("/v1/effects/{key}")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{key}");
    }
    let stale = json!({"epoch": 99, "outcome": "applied"});
    let path = format!("/v1/leases/{}/effects/0/answer", held.job);
    assert_eq!(slug(&held.api.post(&path, &stale).await), "stale-epoch");
    let place = format!("/v1/leases/{}/effects/one/answer", held.job);
    assert_eq!(
        held.api.post(&place, &stale).await.status,
        StatusCode::NOT_FOUND
    );
}

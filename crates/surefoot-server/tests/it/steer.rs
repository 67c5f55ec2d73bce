//! What people do by hand.

use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use crate::harness::{Api, request, with_json};

async fn unknown(api: &Api) -> String {
    let id = api
        .enqueue(json!({"kind": "refund", "payload": {"amount": 1}}))
        .await;
    let epoch = api.claim("refund").await["epoch"].clone();
    api.post(
        &format!("/v1/leases/{id}/unknown"),
        &json!({"epoch": epoch}),
    )
    .await;
    id
}

#[tokio::test]
async fn a_waiting_job_is_cancelled_with_or_without_a_body() {
    let api = Api::new();
    let id = api.enqueue(json!({"kind": "a"})).await;
    let body = json!({"actor": "ann", "reason": "not needed"});
    let answer = api.post(&format!("/v1/jobs/{id}/cancel"), &body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({"job": id, "state": "cancelled", "cancel_requested": false})
    );
    let job = api.job(&id).await;
    assert_eq!(
        (job["state"].clone(), job["reason"].clone()),
        (json!("cancelled"), json!("not needed"))
    );
    assert_eq!(job["status_text"], "It was cancelled.");
    let action = json!([{"verb": "cancel", "at": "2026-11-30T10:30:00.000000Z", "actor": "ann", "reason": "not needed"}]);
    assert_eq!(job["actions"], action);
    let again = api.post(&format!("/v1/jobs/{id}/cancel"), &body).await;
    let detail = again.problem("wrong-state", 409);
    assert_eq!(
        detail,
        format!("job {id} is cancelled; this needs a job that waits or runs")
    );
    assert_eq!(again.json()["state"], "cancelled");

    let id = api.enqueue(json!({"kind": "a"})).await;
    let bare = request(Method::POST, &format!("/v1/jobs/{id}/cancel"))
        .body(Body::empty())
        .unwrap();
    assert_eq!(api.send(bare).await.status, 200);
    assert_eq!(api.job(&id).await["actions"][0]["actor"], "anonymous");
}

#[tokio::test]
async fn a_dead_letter_is_replayed() {
    let api = Api::new();
    let id = api.dead(json!({"kind": "mail"})).await;
    let answer = api
        .post(
            &format!("/v1/jobs/{id}/replay"),
            &json!({"actor": "ann", "reason": "mended"}),
        )
        .await;
    assert_eq!(
        answer.json(),
        json!({"job": id, "state": "pending", "cancel_requested": false})
    );
    let job = api.job(&id).await;
    assert_eq!(
        (job["state"].clone(), job["actions"][0]["verb"].clone()),
        (json!("pending"), json!("replay"))
    );
    let again = api.post(&format!("/v1/jobs/{id}/replay"), &json!({})).await;
    assert_eq!(
        again.problem("wrong-state", 409),
        format!("job {id} is pending; this needs a dead letter")
    );
}

#[tokio::test]
async fn a_replay_after_an_unknown_outcome_must_say_which_effect_it_is() {
    for (effect, generation) in [("same", ""), ("new", ".2")] {
        let api = Api::new();
        let id = unknown(&api).await;
        let silent = api
            .post(&format!("/v1/jobs/{id}/replay"), &json!({"actor": "ann"}))
            .await;
        let detail = silent.problem("effect-choice-required", 409);
        assert_eq!(
            detail,
            format!(
                "nobody knows whether the effect of job {id} happened, and the request has no effect"
            )
        );
        let said = api
            .post(&format!("/v1/jobs/{id}/replay"), &json!({"effect": effect}))
            .await;
        assert_eq!(said.json()["state"], "pending", "{}", said.text);
        assert_eq!(
            api.job(&id).await["provider_key"],
            format!("{id}{generation}")
        );
    }
    let api = Api::new();
    let id = unknown(&api).await;
    let wrong = api
        .post(
            &format!("/v1/jobs/{id}/replay"),
            &json!({"effect": "maybe"}),
        )
        .await;
    assert_eq!(
        wrong
            .problem("invalid-field", 422)
            .split(" at ")
            .next()
            .unwrap(),
        "unknown variant `maybe`, expected `same` or `new`"
    );
}

#[tokio::test]
async fn a_dead_letter_is_ignored_with_a_reason() {
    let api = Api::new();
    let id = unknown(&api).await;
    let path = format!("/v1/jobs/{id}/ignore");
    let silent = api.post(&path, &json!({"actor": "ann"})).await;
    assert_eq!(
        silent.problem("invalid-field", 422),
        "reason is missing; say why, it stays on record"
    );
    assert_eq!(silent.json()["field"], "reason");
    let answer = api
        .post(&path, &json!({"actor": "ann", "reason": "paid by hand"}))
        .await;
    assert_eq!(answer.json()["state"], "ignored");
    let job = api.job(&id).await;
    assert_eq!(job["reason"], "paid by hand");
    assert_eq!(
        job["status_text"],
        "It was set aside; we do not know whether it happened."
    );
}

/// The payload is kept byte for byte through an edit, and so is the one before it.
#[tokio::test]
async fn symptom_135_144_an_edit_keeps_every_byte_and_the_original() {
    let api = Api::new();
    let id = api
        .dead(json!({"kind": "mail", "payload": {"amount": 1}}))
        .await;
    let path = format!("/v1/jobs/{id}/payload");
    let body = r#"{"payload":{"amount":9223372036854775807, "note":"\u0000"},"actor":"ann","reason":"typing error"}"#;
    let answer = api.send(with_json(Method::PUT, &path, body)).await;
    assert_eq!(
        answer.json(),
        json!({"job": id, "state": "dead", "cancel_requested": false})
    );
    let shown = api.get(&format!("/v1/jobs/{id}")).await;
    assert!(
        shown
            .text
            .contains(r#""payload":{"amount":9223372036854775807, "note":"\u0000"},"#),
        "{}",
        shown.text
    );
    let job = shown.json();
    assert_eq!(job["revision"], 1);
    let revision = json!([{"number": 0, "payload": {"amount": 1}, "replaced_at": "2026-11-30T10:30:00.000000Z",
        "actor": "ann", "reason": "typing error"}]);
    assert_eq!(job["revisions"], revision);
    for (body, field) in [
        (json!({"actor": "ann", "reason": "x"}), "payload"),
        (json!({"payload": 1}), "reason"),
        (json!({"payload": 1, "reason": "x", "actor": ""}), "actor"),
        (json!({"payload": 1, "reason": "x", "why": ""}), "why"),
    ] {
        let refused = api
            .send(with_json(Method::PUT, &path, &body.to_string()))
            .await;
        refused.problem("invalid-field", 422);
        assert_eq!(
            refused
                .json()
                .get("field")
                .and_then(Value::as_str)
                .unwrap_or_default(),
            field,
            "{body}"
        );
    }
    let nothing = api
        .send(with_json(
            Method::PUT,
            &path,
            r#"{"payload":null,"reason":"empty it"}"#,
        ))
        .await;
    assert_eq!(nothing.status, 200);
    assert_eq!(api.job(&id).await["payload"], Value::Null);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_steered() {
    let api = Api::new();
    let path = "/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057";
    let body = json!({"reason": "x"});
    for verb in ["cancel", "replay", "ignore"] {
        api.post(&format!("{path}/{verb}"), &body)
            .await
            .problem("not-found", 404);
    }
    let edit = with_json(
        Method::PUT,
        &format!("{path}/payload"),
        r#"{"payload":1,"reason":"x"}"#,
    );
    api.send(edit).await.problem("not-found", 404);
}

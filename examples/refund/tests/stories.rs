//! Each story goes as it is told: paid once, by as many calls as that takes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use refund::psp::calls;
use refund::refund::{Provider, checklist};
use refund::stories::{self, Told};

/// What was booked for 19.99 in millionths.
const BOOKED: u64 = 19_990_000;

fn check(told: &Told, calls: u64, passes: &[&str]) {
    assert_eq!((told.calls, told.paid), (calls, 1), "{told:?}");
    for state in passes {
        assert!(told.states.iter().any(|seen| seen == state), "{told:?}");
    }
    assert_eq!(told.states.last().unwrap(), "succeeded");
    assert_eq!(told.booked, BOOKED);
}

#[tokio::test]
async fn paid_then_silent_is_found_by_asking() {
    let told = stories::paid_and_silent().await.unwrap();
    check(&told, 1, &[]);
    assert_eq!(told.attempts, ["unknown", "succeeded"]);
}

#[tokio::test]
async fn what_never_happened_is_sent_again_once_that_is_sure() {
    check(&stories::never_paid().await.unwrap(), 2, &["verifying"]);
}

#[tokio::test]
async fn what_happens_late_is_waited_for() {
    check(&stories::paid_late().await.unwrap(), 1, &["verifying"]);
}

#[tokio::test]
async fn a_webhook_settles_it_first() {
    check(&stories::webhook_first().await.unwrap(), 1, &[]);
}

#[tokio::test]
async fn a_person_settles_what_nobody_answers() {
    check(
        &stories::a_person_decides().await.unwrap(),
        1,
        &["verifying", "dead"],
    );
}

#[tokio::test]
async fn a_mended_payload_is_paid_once() {
    check(&stories::edited().await.unwrap(), 2, &["dead"]);
}

#[tokio::test]
async fn nothing_is_sent_under_a_key_that_the_provider_forgot() {
    let told = stories::replayed_after_the_key_is_forgotten()
        .await
        .unwrap();
    assert_eq!(told.paid, 1, "{told:?}");
    assert_eq!(told.states.last().unwrap(), "succeeded");
}

#[test]
fn every_question_is_answered_before_anything_runs() {
    let reviewed = checklist(Provider::Answers, &calls()).unwrap().review();
    assert!(reviewed.is_green(), "{reviewed}");
}

#[test]
fn a_provider_that_forgets_keys_too_early_is_found_before_anything_runs() {
    let forgets = Provider::KeepsKeysFor(Duration::from_millis(1200));
    let reviewed = checklist(forgets, &calls()).unwrap().review();
    let faults: Vec<&str> = reviewed.faults().map(|(_, f)| f.name.as_str()).collect();
    assert_eq!(faults, ["key_retention"], "{reviewed}");
}

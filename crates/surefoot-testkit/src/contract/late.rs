//! Late: what a holder said after its lease was lost is kept beside that attempt, and changes nothing else.

use std::sync::Arc;

use surefoot_core::failure::Failure;
use surefoot_core::id::Epoch;
use surefoot_core::job::{AttemptOutcome, LeasedJob, StateName};
use surefoot_core::port::{JobRecord, Store};
use surefoot_core::settle::{Report, Settlement};
use surefoot_core::text::ErrorText;
use surefoot_core::timeouts::TimeoutKind;

use super::fixture::{
    START, applied, at, at_once, decided, fresh_id, lost, permanent, record, released, running,
    state_name, success, take_one, transient, verifying,
};

/// How an attempt ends.
type End = fn(&LeasedJob) -> Settlement;

async fn late(store: &dyn Store, attempt: &LeasedJob, said: &ErrorText) -> bool {
    let answer = store.late(attempt.id, attempt.state.epoch, said).await;
    answer.expect("late")
}

/// A job whose first attempt was lost and settled as such, and what is on record of it.
async fn lost_once(store: &dyn Store, kind_name: &str) -> (LeasedJob, JobRecord) {
    let leased = running(store, kind_name, START).await;
    applied(store, &lost(&leased, at(100)), at(100)).await;
    let known = record(store, leased.id).await;
    assert_eq!(known.attempts[0].outcome, Some(AttemptOutcome::Lost));
    (leased, known)
}

/// The word is on record of the first attempt, and nothing else changed.
async fn told(store: &dyn Store, before: &JobRecord, said: &ErrorText) {
    let mut expected = before.clone();
    expected.attempts[0].late = Some(said.clone());
    assert_eq!(
        record(store, before.job.id).await,
        expected,
        "one-outcome: a late word changes nothing else"
    );
}

pub async fn the_first_late_word_stays(store: Arc<dyn Store>) {
    let (leased, before) = lost_once(&*store, "mail").await;
    let first = ErrorText::from("succeeded: sent");
    for said in [&first, &first, &"failed: no".into()] {
        assert!(
            late(&*store, &leased, said).await,
            "there is such an attempt"
        );
        told(&*store, &before, &first).await;
    }
}

pub async fn a_late_word_may_come_in_every_state(store: Arc<dyn Store>) {
    let ends: [(End, StateName); 6] = [
        (|job| success(job, at(2_000)), StateName::Succeeded),
        (|job| permanent(job, "no", at(2_000)), StateName::Dead),
        (|job| released(job, at(2_000)), StateName::Pending),
        (|job| transient(job, at(2_000)), StateName::Retrying),
        (
            |job| verifying(job, at(3_000), at(2_000)),
            StateName::Verifying,
        ),
        (
            |job| decided(job, Report::Failed(Failure::cancelled("x")), at(2_000)),
            StateName::Cancelled,
        ),
    ];
    let said = ErrorText::from("succeeded: sent");
    for (end, state) in ends {
        let kind_name = format!("kind-{}", state.as_str());
        let (first, _) = lost_once(&*store, &kind_name).await;
        let second = take_one(&*store, &kind_name, at(1_000)).await;
        let running = record(&*store, first.id).await;
        if state == StateName::Pending {
            assert!(late(&*store, &first, &said).await);
            told(&*store, &running, &said).await;
        }
        applied(&*store, &end(&second), at(2_000)).await;
        assert_eq!(state_name(&*store, first.id).await, state);
        let before = record(&*store, first.id).await;
        assert!(late(&*store, &first, &said).await, "{state:?}");
        told(&*store, &before, &said).await;
    }
}

pub async fn only_a_lost_attempt_takes_a_late_word(store: Arc<dyn Store>) {
    let said = ErrorText::from("succeeded: sent");
    let ends: [End; 7] = [
        |job| success(job, at(1)),
        |job| transient(job, at(1)),
        |job| permanent(job, "no", at(1)),
        |job| decided(job, Report::TimedOut(TimeoutKind::Job), at(1)),
        |job| decided(job, Report::Failed(Failure::unknown("?")), at(1)),
        |job| decided(job, Report::Failed(Failure::cancelled("x")), at(1)),
        |job| released(job, at(1)),
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let leased = running(&*store, &format!("kind-{number}"), START).await;
        let before = record(&*store, leased.id).await;
        assert!(!late(&*store, &leased, &said).await, "it is not settled");
        assert_eq!(record(&*store, leased.id).await, before);
        applied(&*store, &end(&leased), at(1)).await;
        let before = record(&*store, leased.id).await;
        let outcome = before.attempts[0].outcome;
        assert!(!late(&*store, &leased, &said).await, "{outcome:?}");
        assert_eq!(record(&*store, leased.id).await, before, "{outcome:?}");
    }
    let (first, before) = lost_once(&*store, "mail").await;
    for epoch in [Epoch::NEVER, first.state.epoch.next(), Epoch(i64::MAX)] {
        let answer = store.late(first.id, epoch, &said).await;
        assert!(!answer.expect("late"), "an epoch that was never given");
    }
    let answer = store.late(fresh_id(), first.state.epoch, &said).await;
    assert!(!answer.expect("late"), "no such job");
    assert_eq!(record(&*store, first.id).await, before);
}

pub async fn each_lost_attempt_has_its_own_word(store: Arc<dyn Store>) {
    let (first, _) = lost_once(&*store, "mail").await;
    let second = take_one(&*store, "mail", at(1_000)).await;
    applied(&*store, &lost(&second, at(2_000)), at(2_000)).await;
    assert!(late(&*store, &second, &"the second".into()).await);
    assert!(late(&*store, &first, &"the first".into()).await);
    let attempts = record(&*store, first.id).await.attempts;
    let words: Vec<_> = attempts
        .iter()
        .map(|attempt| attempt.late.clone())
        .collect();
    assert_eq!(words, [Some("the first".into()), Some("the second".into())]);
}

pub async fn late_words_of_any_kind_are_kept(store: Arc<dyn Store>) {
    let texts = [
        ErrorText::from(""),
        ErrorText::from("a\0b '; -- \\u0000 $1"),
        ErrorText::from("đã gửi; 送信済み; تم الإرسال\n\u{10ffff}\u{202e}"),
        ErrorText::from("é".repeat(64 * 1024)),
    ];
    for (number, said) in texts.iter().enumerate() {
        let (leased, before) = lost_once(&*store, &format!("kind-{number}")).await;
        assert!(late(&*store, &leased, said).await);
        told(&*store, &before, said).await;
    }
}

pub async fn one_of_many_late_words_at_once_stays(store: Arc<dyn Store>) {
    for round in 0..10 {
        let (leased, before) = lost_once(&*store, &format!("kind-{round}")).await;
        let answers = at_once(4, |number| {
            let (store, leased) = (store.clone(), leased.clone());
            async move { late(&*store, &leased, &number.to_string().into()).await }
        })
        .await;
        assert_eq!(answers, [true; 4]);
        let said = record(&*store, leased.id).await.attempts[0].late.clone();
        let said = said.expect("one of them stays");
        told(&*store, &before, &said).await;
        assert!(late(&*store, &leased, &"afterwards".into()).await);
        told(&*store, &before, &said).await;
    }
}

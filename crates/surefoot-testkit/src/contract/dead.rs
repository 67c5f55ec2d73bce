//! Dead letters: set aside or edited by people, each order on record, and the groups that people see.

use std::sync::Arc;

use surefoot_core::job::{DeadReason, JobState, StateName};
use surefoot_core::port::{
    Action, ActionVerb, BATCH_MAX, DeadGroup, NewJob, PAGE_MAX, ReplayEffect, Revision, Steered,
    Store,
};
use surefoot_core::settle::Next;
use surefoot_core::text::{ErrorFingerprint, ErrorText};

use super::fixture::{
    START, advance, applied, at, by, claim, created, dead, fresh_id, in_state, job, kind, payload,
    permanent, record, replayed, running, take, take_one,
};

pub async fn only_dead_letters_are_steered(store: Arc<dyn Store>) {
    for state in StateName::ALL
        .into_iter()
        .filter(|state| *state != StateName::Dead)
    {
        let id = in_state(&*store, job(&format!("kind-{}", state.as_str())), state).await;
        let before = record(&*store, id).await;
        let refused = Steered::Refused(state);
        for effect in [None, Some(ReplayEffect::Same), Some(ReplayEffect::New)] {
            assert_eq!(replayed(&*store, id, effect).await, refused);
        }
        assert_eq!(
            store.ignore(id, &by("known"), at(5)).await.expect("ignore"),
            refused
        );
        assert_eq!(
            store
                .edit(id, &payload("2"), &by("typo"), at(5))
                .await
                .expect("edit"),
            refused
        );
        assert_eq!(
            record(&*store, id).await,
            before,
            "one-outcome: a {} job is as it was",
            state.as_str()
        );
    }
    assert_eq!(replayed(&*store, fresh_id(), None).await, Steered::NotFound);
    assert_eq!(
        store
            .ignore(fresh_id(), &by(""), at(5))
            .await
            .expect("ignore"),
        Steered::NotFound
    );
    assert_eq!(
        store
            .edit(fresh_id(), &payload("2"), &by(""), at(5))
            .await
            .expect("edit"),
        Steered::NotFound
    );
}

pub async fn an_ignored_letter_stays_readable(store: Arc<dyn Store>) {
    let id = dead(&*store, "mail", DeadReason::OutcomeUnknown).await;
    let before = record(&*store, id).await;
    assert_eq!(
        store
            .ignore(id, &by("a test order"), at(5))
            .await
            .expect("ignore"),
        Steered::Done
    );
    let after = record(&*store, id).await;
    assert_eq!(
        after.job.state,
        JobState::Ignored {
            at: at(5),
            reason: by("a test order").reason
        }
    );
    assert_eq!(
        (after.attempts, after.job.counts),
        (before.attempts, before.job.counts)
    );
    assert_eq!(
        after.actions,
        [Action {
            verb: ActionVerb::Ignore,
            at: at(5),
            by: by("a test order")
        }]
    );
    assert_eq!(
        store.dead_groups().await.expect("dead_groups"),
        [],
        "it waits for nobody any more"
    );
}

pub async fn an_edit_keeps_what_was(store: Arc<dyn Store>) {
    let first = NewJob {
        payload: payload(r#" {"to":"ada"} "#),
        ..job("mail")
    };
    let id = in_state(&*store, first.clone(), StateName::Dead).await;
    let before = record(&*store, id).await;
    let texts = [r#"{"to":9223372036854775807}"#, r#"{"to":"a\u0000\ud800"}"#];
    for (n, text) in texts.into_iter().enumerate() {
        let answer = store
            .edit(id, &payload(text), &by("typo"), at(5 + n as u64))
            .await
            .expect("edit");
        assert_eq!(answer, Steered::Done);
        assert_eq!(
            record(&*store, id).await.job.payload.as_str(),
            text,
            "byte for byte"
        );
    }
    let found = record(&*store, id).await;
    assert_eq!(found.job.revision, 2);
    assert_eq!(found.job.state, before.job.state, "an edit does not run it");
    let revision = |number, payload, second| Revision {
        number,
        payload,
        replaced_at: at(second),
        by: by("typo"),
    };
    assert_eq!(
        found.revisions,
        [
            revision(0, first.payload, 5),
            revision(1, payload(texts[0]), 6)
        ],
        "no-lost-intent: each earlier payload is on record"
    );
    let edit = |second| Action {
        verb: ActionVerb::Edit,
        at: at(second),
        by: by("typo"),
    };
    assert_eq!(found.actions, [edit(5), edit(6)]);
    assert_eq!(replayed(&*store, id, None).await, Steered::Done);
    assert_eq!(
        take_one(&*store, "mail", at(7)).await.payload.as_str(),
        texts[1],
        "the handler is given the edited one"
    );
}

pub async fn letters_are_grouped_by_kind_reason_and_fault(store: Arc<dyn Store>) {
    let died =
        |kind_name: &'static str, reason, fingerprint: u64, second: u64, error: &'static str| {
            let store = store.clone();
            async move {
                let leased = running(&*store, kind_name, START).await;
                let mut end = permanent(&leased, error, at(second));
                let Next::Dead(death) = &mut end.next else {
                    panic!("it dies")
                };
                death.reason = reason;
                death.fingerprint = ErrorFingerprint::from_bits(fingerprint);
                applied(&*store, &end, at(second)).await;
                leased.id
            }
        };
    let high = u64::MAX - 1;
    died("mail", DeadReason::Permanent, high, 10, "first").await;
    died("mail", DeadReason::Permanent, high, 30, "latest").await;
    let latest = died("mail", DeadReason::Permanent, high, 40, "the very latest").await;
    died("mail", DeadReason::Permanent, high, 20, "late to arrive").await;
    let crash = died("mail", DeadReason::CrashLoop, high, 5, "crash").await;
    let crash_later = died("mail", DeadReason::CrashLoop, high, 6, "crash").await;
    died("mail", DeadReason::Permanent, 7, 50, "another fault").await;
    died("refund", DeadReason::CrashLoop, high, 3, "another kind").await;
    in_state(&*store, job("other"), StateName::Ignored).await;
    in_state(&*store, job("retry"), StateName::Retrying).await;
    let groups = store.dead_groups().await.expect("dead_groups");
    let sizes: Vec<_> = groups.iter().map(|group| group.count).collect();
    assert_eq!(sizes, [4, 2, 1, 1], "the largest first");
    let largest = DeadGroup {
        kind: kind("mail"),
        reason: DeadReason::Permanent,
        fingerprint: ErrorFingerprint::from_bits(high),
        error: ErrorText::from("the very latest"),
        latest,
        count: 4,
        oldest_at: at(10),
        latest_at: at(40),
    };
    assert_eq!(groups[0], largest);
    assert_eq!(
        (groups[1].latest, groups[1].oldest_at, groups[1].latest_at),
        (crash_later, at(5), at(6))
    );
    assert_eq!(
        store
            .ignore(crash_later, &by("known"), at(60))
            .await
            .expect("ignore"),
        Steered::Done
    );
    let groups = store.dead_groups().await.expect("dead_groups");
    assert!(
        groups
            .iter()
            .any(|group| group.latest == crash && group.count == 1),
        "an ignored one is in no group"
    );
    assert_eq!(replayed(&*store, latest, None).await, Steered::Done);
    assert_eq!(
        store.dead_groups().await.expect("dead_groups")[0].count,
        3,
        "nor is a replayed one"
    );
}

pub async fn of_letters_that_died_at_once_the_highest_id_is_the_latest(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..5).map(|_| job("mail")).collect();
    let ids = created(&*store, &batch, START).await;
    let mut leased = take(&*store, &claim(&["mail"], 5), START).await;
    leased.rotate_left(2);
    let ends: Vec<_> = leased
        .iter()
        .map(|job| permanent(job, "no such account", at(1)))
        .collect();
    advance(&*store, &ends, None, at(1)).await;
    let groups = store.dead_groups().await.expect("dead_groups");
    assert_eq!(
        (groups.len(), groups[0].count, groups[0].latest),
        (1, 5, ids[4])
    );
    assert_eq!((groups[0].oldest_at, groups[0].latest_at), (at(1), at(1)));
}

pub async fn groups_are_bounded(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
    created(&*store, &batch, START).await;
    let most = u32::try_from(BATCH_MAX).expect("it fits");
    let leased = take(&*store, &claim(&["mail"], most), START).await;
    let fault = |(n, leased): (usize, _)| {
        let mut end = permanent(leased, "no", START);
        let Next::Dead(death) = &mut end.next else {
            panic!("it dies")
        };
        // Two faults for the last hundred jobs, one for each of the others.
        let fault = if n < BATCH_MAX - 100 { n } else { n % 2 };
        death.fingerprint = ErrorFingerprint::from_bits(fault as u64);
        end
    };
    let ends: Vec<_> = leased.iter().enumerate().map(fault).collect();
    advance(&*store, &ends, None, START).await;
    let sizes: Vec<_> = store
        .dead_groups()
        .await
        .expect("dead_groups")
        .iter()
        .map(|group| group.count)
        .collect();
    assert_eq!(sizes.len(), PAGE_MAX as usize, "groups are bounded");
    assert_eq!(sizes[..3], [51, 51, 1], "and the largest come first");
}

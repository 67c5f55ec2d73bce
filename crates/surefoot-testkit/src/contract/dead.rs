//! Dead letters: replay, ignore and edit by people, each on record, none of them twice, and the groups they see.

use std::sync::Arc;

use surefoot_core::id::JobId;
use surefoot_core::job::{Counts, DeadReason, JobState, StateName};
use surefoot_core::port::{
    Action, ActionVerb, DeadGroup, Enqueued, NewJob, Replay, ReplayEffect, Revision, Steered, Store,
};
use surefoot_core::settle::Next;
use surefoot_core::text::{ErrorFingerprint, ErrorText};

use super::fixture::{
    START, applied, at, at_once, by, created, dead, fresh_id, in_state, job, keyed, kind, payload,
    permanent, record, running, state_name, take_one,
};

fn order(effect: Option<ReplayEffect>) -> Replay {
    Replay {
        effect,
        by: by("account made"),
    }
}

async fn replay(store: &dyn Store, job: JobId, effect: Option<ReplayEffect>) -> Steered {
    store
        .replay(job, &order(effect), at(5))
        .await
        .expect("replay")
}

pub async fn only_dead_letters_are_steered(store: Arc<dyn Store>) {
    for state in StateName::ALL
        .into_iter()
        .filter(|state| *state != StateName::Dead)
    {
        let id = in_state(&*store, job(&format!("kind-{}", state.as_str())), state).await;
        let before = record(&*store, id).await;
        let refused = Steered::Refused(state);
        for effect in [None, Some(ReplayEffect::Same), Some(ReplayEffect::New)] {
            assert_eq!(replay(&*store, id, effect).await, refused);
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
    assert_eq!(replay(&*store, fresh_id(), None).await, Steered::NotFound);
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

pub async fn a_replay_starts_anew_and_keeps_what_was(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let mut end = permanent(&leased, "no such account", START);
    end.counts = Counts {
        starts: 1,
        failed: 4,
        crashed: 2,
        deferred: 3,
    };
    applied(&*store, &end, START).await;
    let before = record(&*store, leased.id).await;
    assert_eq!(replay(&*store, leased.id, None).await, Steered::Done);
    let after = record(&*store, leased.id).await;
    assert_eq!(after.job.state, JobState::Pending { due_at: at(5) });
    assert_eq!(
        after.job.counts,
        Counts {
            starts: 1,
            ..Counts::default()
        },
        "counts begin anew, but starts go on"
    );
    assert_eq!(
        after.job.generation, 1,
        "the same effect keeps its provider key"
    );
    assert_eq!(
        after.job.provider_key(),
        before.job.provider_key(),
        "no-double-effect: the same key"
    );
    assert_eq!(
        after.attempts, before.attempts,
        "every-attempt-logged: a replay forgets nothing"
    );
    let action = Action {
        verb: ActionVerb::Replay,
        at: at(5),
        by: by("account made"),
    };
    assert_eq!(after.actions, [action], "who replayed it is on record");
    assert_eq!(
        replay(&*store, leased.id, None).await,
        Steered::Refused(StateName::Pending),
        "one order, one replay"
    );
    assert_eq!(record(&*store, leased.id).await, after);
    let second = take_one(&*store, "mail", at(6)).await;
    assert_eq!((second.counts.starts, second.id), (2, leased.id));
}

pub async fn a_new_effect_has_a_new_provider_key(store: Arc<dyn Store>) {
    let id = dead(&*store, "mail", DeadReason::Permanent).await;
    for generation in 2..=3 {
        let before = record(&*store, id).await.job.provider_key();
        assert_eq!(
            replay(&*store, id, Some(ReplayEffect::New)).await,
            Steered::Done
        );
        let found = record(&*store, id).await;
        assert_eq!(found.job.generation, generation);
        assert_ne!(found.job.provider_key(), before);
        assert_eq!(
            found.actions.last().map(|action| action.verb),
            Some(ActionVerb::ReplayNew)
        );
        let leased = take_one(&*store, "mail", at(6)).await;
        assert_eq!(
            leased.generation, generation,
            "the handler is given the new key"
        );
        applied(&*store, &permanent(&leased, "no", at(6)), at(6)).await;
    }
}

pub async fn an_unknown_outcome_needs_a_choice(store: Arc<dyn Store>) {
    for reason in DeadReason::ALL {
        for effect in [None, Some(ReplayEffect::Same), Some(ReplayEffect::New)] {
            let id = dead(&*store, "mail", reason).await;
            let before = record(&*store, id).await;
            let answer = replay(&*store, id, effect).await;
            if reason.needs_effect_choice() && effect.is_none() {
                assert_eq!(
                    answer,
                    Steered::NeedsEffectChoice,
                    "no-double-effect: {reason:?} must be told"
                );
                assert_eq!(
                    record(&*store, id).await,
                    before,
                    "no-double-effect: nothing was written"
                );
            } else {
                assert_eq!(answer, Steered::Done, "{reason:?} {effect:?}");
                let generation = if effect == Some(ReplayEffect::New) {
                    2
                } else {
                    1
                };
                assert_eq!(record(&*store, id).await.job.generation, generation);
                let leased = take_one(&*store, "mail", at(6)).await;
                assert_eq!(leased.id, id);
            }
        }
    }
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
    assert_eq!(replay(&*store, id, None).await, Steered::Done);
    assert_eq!(
        take_one(&*store, "mail", at(7)).await.payload.as_str(),
        texts[1],
        "the handler is given the edited one"
    );
}

pub async fn a_letter_keeps_its_key_beside_a_twin(store: Arc<dyn Store>) {
    let first = keyed("mail", "k");
    in_state(&*store, first.clone(), StateName::Dead).await;
    let twin = keyed("mail", "k");
    assert_eq!(
        store
            .enqueue(std::slice::from_ref(&twin), at(1))
            .await
            .expect("enqueue"),
        [Enqueued::Existing(first.id)],
        "no-double-effect: a dead letter is still the one job of its key"
    );
    assert_eq!(store.job(twin.id).await.expect("job"), None);
    assert_eq!(
        replay(&*store, first.id, None).await,
        Steered::Done,
        "no-lost-intent: and it can be replayed"
    );
    assert_eq!(take_one(&*store, "mail", at(6)).await.id, first.id);
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
    assert_eq!(replay(&*store, latest, None).await, Steered::Done);
    assert_eq!(
        store.dead_groups().await.expect("dead_groups")[0].count,
        3,
        "nor is a replayed one"
    );
}

pub async fn one_of_many_concurrent_replays_is_done(store: Arc<dyn Store>) {
    for round in 0..10 {
        let id = dead(
            &*store,
            &format!("kind-{round}"),
            DeadReason::OutcomeUnknown,
        )
        .await;
        let answers = at_once(6, |_| {
            let store = store.clone();
            async move { replay(&*store, id, Some(ReplayEffect::New)).await }
        })
        .await;
        let done = answers
            .iter()
            .filter(|answer| **answer == Steered::Done)
            .count();
        assert_eq!(
            done, 1,
            "no-double-effect: one replay of one dead letter: {answers:?}"
        );
        let found = record(&*store, id).await;
        assert_eq!(
            (found.job.generation, found.actions.len()),
            (2, 1),
            "no-double-effect: one new effect"
        );
        assert_eq!(state_name(&*store, id).await, StateName::Pending);
    }
}

pub async fn an_expired_letter_is_replayed(store: Arc<dyn Store>) {
    let id = created(
        &*store,
        &[NewJob {
            deadline_at: Some(at(3)),
            ..job("mail")
        }],
        START,
    )
    .await[0];
    assert_eq!(store.expire(at(4), 10).await.expect("expire"), [id]);
    assert_eq!(replay(&*store, id, None).await, Steered::Done);
    assert_eq!(
        state_name(&*store, id).await,
        StateName::Pending,
        "no-lost-intent: a person's order is carried out"
    );
}

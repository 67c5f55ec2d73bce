//! Replay: a dead letter runs again, once for each order, and an unknown outcome never without a word on it.

use std::sync::Arc;

use surefoot_core::job::{Counts, DeadReason, JobState, StateName};
use surefoot_core::port::{Action, ActionVerb, Enqueued, NewJob, ReplayEffect, Steered, Store};

use super::fixture::{
    START, applied, at, at_once, by, claim, created, dead, expire, in_state, job, keyed, permanent,
    record, replayed, running, state_name, take, take_one,
};

pub async fn a_replay_starts_anew_and_keeps_what_was(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let mut end = permanent(&leased, "no such account", START);
    end.counts = Counts {
        starts: 1,
        failed: 4,
        crashed: 2,
        deferred: 3,
        unknown: 2,
    };
    applied(&*store, &end, START).await;
    let before = record(&*store, leased.id).await;
    assert_eq!(replayed(&*store, leased.id, None).await, Steered::Done);
    let after = record(&*store, leased.id).await;
    assert_eq!(after.job.state, JobState::Pending { due_at: at(5) });
    assert_eq!(
        after.job.counts,
        Counts {
            starts: 1,
            unknown: 2,
            ..Counts::default()
        },
        "counts begin anew, but starts go on, and what is unknown of the same effect stays unknown"
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
        replayed(&*store, leased.id, None).await,
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
            replayed(&*store, id, Some(ReplayEffect::New)).await,
            Steered::Done
        );
        let found = record(&*store, id).await;
        assert_eq!(found.job.generation, generation);
        assert_eq!(
            found.job.counts.unknown, 0,
            "nothing is unknown of the new effect"
        );
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
        let mut end = permanent(&leased, "no", at(6));
        end.counts.unknown = 1;
        applied(&*store, &end, at(6)).await;
    }
}

pub async fn an_unknown_outcome_needs_a_choice(store: Arc<dyn Store>) {
    for reason in DeadReason::ALL {
        for effect in [None, Some(ReplayEffect::Same), Some(ReplayEffect::New)] {
            let id = dead(&*store, "mail", reason).await;
            let before = record(&*store, id).await;
            let answer = replayed(&*store, id, effect).await;
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
        replayed(&*store, first.id, None).await,
        Steered::Done,
        "no-lost-intent: and it can be replayed"
    );
    assert_eq!(take_one(&*store, "mail", at(6)).await.id, first.id);
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
            async move { replayed(&*store, id, Some(ReplayEffect::New)).await }
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
    assert_eq!(expire(&*store, at(4), 10).await, [id]);
    assert_eq!(replayed(&*store, id, None).await, Steered::Done);
    assert_eq!(
        state_name(&*store, id).await,
        StateName::Pending,
        "no-lost-intent: a person's order is carried out"
    );
}

pub async fn a_deadline_ahead_is_kept_and_one_that_passed_is_taken_away(store: Arc<dyn Store>) {
    for (deadline, expected) in [(4, None), (5, None), (6, Some(at(6)))] {
        let kind_name = format!("kind-{deadline}");
        let new = NewJob {
            deadline_at: Some(at(deadline)),
            ..job(&kind_name)
        };
        let id = in_state(&*store, new, StateName::Dead).await;
        assert_eq!(replayed(&*store, id, None).await, Steered::Done);
        let found = record(&*store, id).await.job;
        assert_eq!(found.deadline_at, expected, "replayed at 5");
        assert_eq!(
            expire(&*store, at(5), 10).await,
            [],
            "a person wants it to run"
        );
        let leased = take(&*store, &claim(&[&kind_name], 1), at(5)).await;
        assert_eq!(leased.len(), 1, "a person wants it to run");
        assert_eq!(leased[0].deadline_at, expected);
    }
}

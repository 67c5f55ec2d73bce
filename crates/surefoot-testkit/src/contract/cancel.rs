//! Cancel: at once while a job waits, by request while it runs, and never once it is settled.

use std::sync::Arc;

use surefoot_core::failure::Failure;
use surefoot_core::job::{Counts, JobState, LeasedJob, StateName};
use surefoot_core::port::{
    Action, ActionVerb, Cancelled, Enqueued, Replay, ReplayEffect, Settled, Steered, Store,
};
use surefoot_core::settle::{Report, Settlement};
use surefoot_core::time::Timestamp;

use super::fixture::{
    START, applied, at, at_once, by, claim, created, decided, fresh_id, in_state, job, keyed, lost,
    permanent, record, released, running, settled, state_name, take, take_one, transient,
};

pub async fn each_state_has_its_answer(store: Arc<dyn Store>) {
    for state in StateName::ALL {
        let id = in_state(&*store, job(&format!("kind-{}", state.as_str())), state).await;
        let before = record(&*store, id).await;
        let answer = store
            .cancel(id, &by("no longer needed"), at(5))
            .await
            .expect("cancel");
        let after = record(&*store, id).await;
        let action = Action {
            verb: ActionVerb::Cancel,
            at: at(5),
            by: by("no longer needed"),
        };
        match state {
            StateName::Pending | StateName::Retrying => {
                assert_eq!(answer, Cancelled::Done);
                let reason = by("no longer needed").reason;
                assert_eq!(after.job.state, JobState::Cancelled { at: at(5), reason });
                assert_eq!(
                    (&after.attempts, after.job.counts),
                    (&before.attempts, before.job.counts)
                );
                assert_eq!(after.actions, [action], "who cancelled it is on record");
            }
            StateName::Verifying => {
                assert_eq!(answer, Cancelled::Requested);
                assert_eq!(
                    after.job, before.job,
                    "what may have happened is asked about first"
                );
                assert_eq!(after.actions, [action], "who cancelled it is on record");
            }
            StateName::Running => {
                assert_eq!(answer, Cancelled::Requested);
                let JobState::Running(run) = &after.job.state else {
                    panic!("it still runs")
                };
                assert!(run.cancel_requested);
                assert_eq!(after.actions, [action], "who cancelled it is on record");
            }
            StateName::Succeeded | StateName::Dead | StateName::Cancelled | StateName::Ignored => {
                assert_eq!(answer, Cancelled::Refused(state));
                assert_eq!(after, before, "one-outcome: a settled job is not cancelled");
            }
        }
        let claim = claim(&[before.job.kind.as_str()], 10);
        let leased = take(&*store, &claim, at(100_000)).await;
        if state == StateName::Verifying {
            let told = |job: &LeasedJob| (job.id, job.state.cancel_requested);
            let leased: Vec<_> = leased.iter().map(told).collect();
            assert_eq!(leased, [(id, true)], "it runs to ask, and is told");
        } else {
            assert_eq!(leased, [], "it runs no more");
        }
    }
    assert_eq!(
        store
            .cancel(fresh_id(), &by(""), START)
            .await
            .expect("cancel"),
        Cancelled::NotFound
    );
}

pub async fn a_request_that_the_holder_did_not_hear_of_is_not_lost(store: Arc<dyn Store>) {
    for given_back in [false, true] {
        let leased = running(&*store, "mail", START).await;
        let asked = store.cancel(leased.id, &by("enough"), START).await;
        assert_eq!(asked.expect("cancel"), Cancelled::Requested);
        let settlement = if given_back {
            released(&leased, at(1))
        } else {
            transient(&leased, at(1))
        };
        applied(&*store, &settlement, at(1)).await;
        let found = record(&*store, leased.id).await;
        assert_eq!(
            found.job.state,
            JobState::Cancelled {
                at: at(1),
                reason: settlement.error.expect("it said something"),
            },
            "no-lost-intent: an order that was taken is carried out"
        );
        assert_eq!(found.attempts.len(), 1);
    }
}

/// A settlement into retrying, after which nobody knows whether an effect happened.
fn retrying_in_doubt(leased: &LeasedJob, now: Timestamp) -> Settlement {
    let retrying = transient(leased, now);
    Settlement {
        counts: Counts {
            unknown: 1,
            ..retrying.counts
        },
        ..retrying
    }
}

pub async fn what_may_have_happened_is_not_withdrawn_while_it_waits(store: Arc<dyn Store>) {
    for asked_first in [false, true] {
        let leased = running(&*store, "refund", START).await;
        let settlement = retrying_in_doubt(&leased, at(1));
        if asked_first {
            let asked = store.cancel(leased.id, &by("enough"), START).await;
            assert_eq!(asked.expect("cancel"), Cancelled::Requested);
            applied(&*store, &settlement, at(1)).await;
        } else {
            applied(&*store, &settlement, at(1)).await;
            for _ in 0..2 {
                let asked = store.cancel(leased.id, &by("enough"), at(2)).await;
                assert_eq!(asked.expect("cancel"), Cancelled::Requested);
            }
        }
        let found = record(&*store, leased.id).await;
        assert_eq!(
            (found.job.state.name(), found.actions.len()),
            (StateName::Retrying, 1),
            "honest-unknown: it is not shown as withdrawn"
        );
        let next = take_one(&*store, "refund", at(1000)).await;
        assert_eq!(next.id, leased.id);
        assert!(next.state.cancel_requested, "its next holder is told");
        let stopped = Report::Failed(Failure::cancelled("stopped"));
        applied(&*store, &decided(&next, stopped, at(1001)), at(1001)).await;
        let dead = state_name(&*store, leased.id).await;
        assert_eq!(dead, StateName::Dead, "it waits for a person");
        let replay = Replay {
            effect: Some(ReplayEffect::Same),
            by: by("look again"),
        };
        let replayed = store.replay(leased.id, &replay, at(1002)).await;
        assert_eq!(replayed.expect("replay"), Steered::Done);
        let again = take_one(&*store, "refund", at(1003)).await;
        assert!(
            !again.state.cancel_requested,
            "a replay is not an order to stop"
        );
        applied(&*store, &permanent(&again, "enough", at(1004)), at(1004)).await;
    }
}

pub async fn a_repeated_request_is_recorded_once(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    for (second, reason) in ["first", "second", "first"].into_iter().enumerate() {
        let answer = store
            .cancel(leased.id, &by(reason), at(second as u64))
            .await
            .expect("cancel");
        assert_eq!(answer, Cancelled::Requested);
    }
    let actions = record(&*store, leased.id).await.actions;
    assert_eq!(
        actions,
        [Action {
            verb: ActionVerb::Cancel,
            at: START,
            by: by("first")
        }]
    );
}

pub async fn a_request_ends_with_the_attempt(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    store
        .cancel(leased.id, &by("mistake"), at(1))
        .await
        .expect("cancel");
    let found = store.lapsed(at(100), 10).await.expect("lapsed").remove(0);
    applied(&*store, &lost(&found, at(100)), at(100)).await;
    assert_eq!(
        state_name(&*store, leased.id).await,
        StateName::Cancelled,
        "a lost attempt is not tried again"
    );
}

pub async fn a_cancelled_job_keeps_its_key(store: Arc<dyn Store>) {
    let first = keyed("mail", "k");
    in_state(&*store, first.clone(), StateName::Cancelled).await;
    let answers = store
        .enqueue(&[keyed("mail", "k")], at(1))
        .await
        .expect("enqueue");
    assert_eq!(
        answers,
        [Enqueued::Existing(first.id)],
        "no-double-effect: the caller is told, not served twice"
    );
}

pub async fn a_cancellation_and_a_claim_at_once_have_one_winner(store: Arc<dyn Store>) {
    for round in 0..20 {
        let kind_name = format!("kind-{round}");
        let id = created(&*store, &[job(&kind_name)], START).await[0];
        let answers = at_once(2, |number| {
            let (store, kind_name) = (store.clone(), kind_name.clone());
            async move {
                if number == 0 {
                    let answer = store
                        .cancel(id, &by("mistake"), at(1))
                        .await
                        .expect("cancel");
                    (answer == Cancelled::Done, answer == Cancelled::Requested)
                } else {
                    (
                        !take(&*store, &claim(&[&kind_name], 1), at(1))
                            .await
                            .is_empty(),
                        false,
                    )
                }
            }
        })
        .await;
        let (cancelled, requested) = answers[0];
        let (claimed, _) = answers[1];
        assert!(cancelled || requested, "a cancellation is answered");
        // A claim passes over what another transaction holds, so both may come away empty-handed, never both full.
        assert!(
            !(cancelled && claimed),
            "no-double-effect: a cancelled job does not run"
        );
        let expected = if cancelled {
            StateName::Cancelled
        } else {
            StateName::Running
        };
        assert_eq!(state_name(&*store, id).await, expected);
    }
}

pub async fn a_stopped_attempt_is_cancelled_once(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    store
        .cancel(leased.id, &by("mistake"), at(1))
        .await
        .expect("cancel");
    let stopped = Report::Failed(Failure::cancelled("stopped"));
    let end = decided(&leased, stopped, at(2));
    applied(&*store, &end, at(2)).await;
    assert_eq!(settled(&*store, &end, at(2)).await, Settled::Already);
    let found = record(&*store, leased.id).await;
    assert_eq!(found.job.state.name(), StateName::Cancelled);
    assert_eq!(found.actions.len(), 1);
}

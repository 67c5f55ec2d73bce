//! Withdraw: an order to cancel a job that is verifying is told to its next holder, and carried out once nothing of it
//! can have happened.

use std::sync::Arc;

use surefoot_core::job::{JobState, LeasedJob, StateName};
use surefoot_core::port::{
    Action, ActionVerb, Cancelled, Extended, Replay, ReplayEffect, Steered, Store,
};
use surefoot_core::settle::Next;

use super::fixture::{
    START, applied, asking, at, at_once, by, claim, extended, job, lost, permanent, record,
    running, state, state_name, success, take, take_one, transient, verifying,
};

/// Asks to cancel a job, and gives the answer.
async fn cancel(store: &dyn Store, asked: &LeasedJob, second: u64) -> Cancelled {
    let by = by("no longer needed");
    let answer = store.cancel(asked.id, &by, at(second)).await;
    answer.expect("cancel")
}

pub async fn a_request_is_told_with_the_next_claim(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    let before = record(&*store, asked.id).await;
    for second in [1, 2] {
        assert_eq!(cancel(&*store, &asked, second).await, Cancelled::Requested);
    }
    let found = record(&*store, asked.id).await;
    assert_eq!(
        found.job, before.job,
        "honest-unknown: what may have happened cannot be withdrawn"
    );
    let action = Action {
        verb: ActionVerb::Cancel,
        at: at(1),
        by: by("no longer needed"),
    };
    assert_eq!(
        found.actions,
        std::slice::from_ref(&action),
        "recorded once"
    );
    let again = take_one(&*store, "refund", at(10)).await;
    assert!(again.state.cancel_requested, "its next holder is told");
    assert_eq!(
        state(&*store, asked.id).await,
        JobState::Running(again.state.clone())
    );
    assert!(matches!(
        extended(&*store, &again, at(60), at(11)).await,
        Extended::Held {
            cancel_requested: true,
            ..
        }
    ));
    assert_eq!(cancel(&*store, &asked, 12).await, Cancelled::Requested);
    assert_eq!(record(&*store, asked.id).await.actions, [action]);
    let found = store.lapsed(at(1_000), 10).await.expect("lapsed");
    assert!(found[0].state.cancel_requested, "and whoever finds it lost");
}

pub async fn a_request_cancels_what_would_run_again(store: Arc<dyn Store>) {
    let ends: [fn(&LeasedJob) -> Next; 2] = [
        |_| Next::Pending { due_at: at(11) },
        |_| Next::Retrying {
            due_at: at(11),
            error: "it did not happen".into(),
        },
    ];
    for next in ends {
        let asked = asking(&*store, job("refund")).await;
        assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
        let again = take_one(&*store, "refund", at(10)).await;
        let mut settlement = transient(&again, at(11));
        settlement.next = next(&again);
        applied(&*store, &settlement, at(11)).await;
        assert_eq!(
            state(&*store, asked.id).await,
            JobState::Cancelled {
                at: at(11),
                reason: settlement.error.expect("it said something"),
            },
            "no-lost-intent: an order that was taken is carried out"
        );
    }
}

pub async fn a_request_stays_while_it_is_verifying(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    assert_eq!(cancel(&*store, &leased, 1).await, Cancelled::Requested);
    applied(&*store, &verifying(&leased, at(10), at(2)), at(2)).await;
    for second in [10, 20, 30] {
        let again = take_one(&*store, "refund", at(second)).await;
        assert!(
            again.state.cancel_requested,
            "no-lost-intent: what was asked of an earlier holder is told to the next"
        );
        let next = verifying(&again, at(second + 10), at(second));
        applied(&*store, &next, at(second)).await;
        assert_eq!(cancel(&*store, &leased, second).await, Cancelled::Requested);
    }
    let actions = record(&*store, leased.id).await.actions;
    assert_eq!(actions.len(), 1, "recorded once: {actions:?}");
    let found = take_one(&*store, "refund", at(40)).await;
    applied(&*store, &lost(&found, at(1_000)), at(1_000)).await;
    assert_eq!(
        state_name(&*store, leased.id).await,
        StateName::Cancelled,
        "no-lost-intent: also where the last holder is lost"
    );
}

pub async fn a_request_ends_where_the_job_ends(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("done")).await;
    assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
    let again = take_one(&*store, "done", at(10)).await;
    applied(&*store, &success(&again, at(11)), at(11)).await;
    assert_eq!(
        state_name(&*store, asked.id).await,
        StateName::Succeeded,
        "one-outcome: it happened"
    );

    let asked = asking(&*store, job("dead")).await;
    assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
    let again = take_one(&*store, "dead", at(10)).await;
    applied(&*store, &permanent(&again, "no", at(11)), at(11)).await;
    assert_eq!(state_name(&*store, asked.id).await, StateName::Dead);
    let replay = Replay {
        effect: Some(ReplayEffect::Same),
        by: by("it must run"),
    };
    let replayed = store.replay(asked.id, &replay, at(12)).await;
    assert_eq!(replayed.expect("replay"), Steered::Done);
    let third = take_one(&*store, "dead", at(12)).await;
    assert!(!third.state.cancel_requested, "a person wants it to run");
    applied(&*store, &verifying(&third, at(13), at(12)), at(12)).await;
    let fourth = take_one(&*store, "dead", at(13)).await;
    assert!(!fourth.state.cancel_requested);
}

pub async fn a_request_and_a_claim_at_once_are_both_heard(store: Arc<dyn Store>) {
    for round in 0..20 {
        let kind_name = format!("kind-{round}");
        let asked = asking(&*store, job(&kind_name)).await;
        let leased = at_once(2, |number| {
            let (store, asked, kind_name) = (store.clone(), asked.clone(), kind_name.clone());
            async move {
                if number == 0 {
                    assert_eq!(cancel(&*store, &asked, 10).await, Cancelled::Requested);
                    Vec::new()
                } else {
                    take(&*store, &claim(&[&kind_name], 1), at(10)).await
                }
            }
        })
        .await
        .remove(1);
        // A claim passes over what another transaction holds.
        let leased = match leased.first() {
            Some(leased) => leased.clone(),
            None => take_one(&*store, &kind_name, at(10)).await,
        };
        applied(&*store, &transient(&leased, at(11)), at(11)).await;
        assert_eq!(
            state_name(&*store, asked.id).await,
            StateName::Cancelled,
            "no-lost-intent: an order that was taken is carried out"
        );
    }
}

pub async fn a_hastened_job_keeps_what_was_asked_of_it(store: Arc<dyn Store>) {
    let asked = asking(&*store, job("refund")).await;
    assert_eq!(cancel(&*store, &asked, 1).await, Cancelled::Requested);
    assert!(store.hasten(asked.id, at(2)).await.expect("hasten"));
    let again = take_one(&*store, "refund", at(2)).await;
    assert!(again.state.cancel_requested);
}

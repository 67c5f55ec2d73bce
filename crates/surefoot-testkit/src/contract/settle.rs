//! Settle: the decided state is applied whole, with its counts and its attempt record.

use std::sync::Arc;

use surefoot_core::failure::Failure;
use surefoot_core::job::{Attempt, JobState};
use surefoot_core::port::{Settled, Store};
use surefoot_core::settle::{Next, Report};

use super::fixture::{
    LEASE, START, advance, applied, at, claim, created, decided, job, lost, permanent, record,
    released, running, success, take_one, transient,
};

fn state_of(next: Next) -> JobState {
    match next {
        Next::Pending { due_at } => JobState::Pending { due_at },
        Next::Retrying { due_at, error } => JobState::Retrying { due_at, error },
        Next::Succeeded { at, result } => JobState::Succeeded { at, result },
        Next::Dead(death) => JobState::Dead(death),
        Next::Cancelled { at, reason } => JobState::Cancelled { at, reason },
    }
}

pub async fn each_next_state_is_applied(store: Arc<dyn Store>) {
    for number in 0..6 {
        let leased = running(&*store, &format!("kind-{number}"), START).await;
        let now = at(1).after(LEASE);
        let settlement = [
            success(&leased, now),
            transient(&leased, now),
            permanent(&leased, "no such account", now),
            released(&leased, now),
            decided(&leased, Report::Failed(Failure::cancelled("stopped")), now),
            lost(&leased, now),
        ][number]
            .clone();
        applied(&*store, &settlement, now).await;
        let found = record(&*store, leased.id).await;
        assert_eq!(found.job.state, state_of(settlement.next));
        assert_eq!(found.job.counts, settlement.counts);
        let attempt = Attempt {
            number: 1,
            epoch: leased.state.epoch,
            worker: leased.state.worker.clone(),
            started_at: START,
            ended_at: Some(now),
            outcome: Some(settlement.outcome),
            error: settlement.error,
        };
        assert_eq!(
            found.attempts,
            [attempt],
            "every-attempt-logged: how it ended is on record"
        );
        let unchanged = leased.clone().map_state(|_| ());
        let rest = found.job.map_state(|_| ());
        assert_eq!(
            rest,
            surefoot_core::job::Job {
                counts: settlement.counts,
                ..unchanged
            }
        );
    }
}

pub async fn settling_and_claiming_in_one_call(store: Arc<dyn Store>) {
    let ids = created(&*store, &[job("mail"), job("mail"), job("mail")], START).await;
    let first = take_one(&*store, "mail", START).await;
    let second = take_one(&*store, "mail", START).await;
    let settlements = [success(&first, at(1)), released(&second, at(1))];
    let advanced = advance(&*store, &settlements, Some(&claim(&["mail"], 10)), at(1)).await;
    assert_eq!(advanced.settled, [Settled::Applied, Settled::Applied]);
    let mut leased: Vec<_> = advanced.leased.iter().map(|job| job.id).collect();
    leased.sort();
    assert_eq!(
        leased,
        ids[1..],
        "what was given back is claimed again in the same call"
    );
    let again = advanced
        .leased
        .iter()
        .find(|job| job.id == second.id)
        .expect("it is there");
    assert_eq!(
        again.state.epoch,
        second.state.epoch.next(),
        "no-zombie-write: epochs rise"
    );
    assert_eq!((again.counts.starts, again.counts.deferred), (2, 1));
}

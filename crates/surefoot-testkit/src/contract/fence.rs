//! The fence: nothing written under a lost lease changes anything, and what was written once is not written twice.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::failure::Failure;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{AttemptOutcome, Counts, DeadReason, JobState, LeasedJob, StateName};
use surefoot_core::port::{Replay, Settled, Steered, Store};
use surefoot_core::settle::{Report, Settlement};
use surefoot_core::time::Timestamp;
use surefoot_core::timeouts::TimeoutKind;

use super::fixture::{
    LEASE, START, advance, applied, at, at_once, by, claim, created, dead, decided, fresh_id,
    in_state, job, lost, permanent, record, released, running, settled, state_name, success, take,
    take_one, transient,
};

/// One settlement into each state that a running job can go to, and one that takes the lease to be lost.
fn settlements(leased: &LeasedJob, now: Timestamp) -> Vec<Settlement> {
    vec![
        success(leased, now),
        transient(leased, now),
        permanent(leased, "no such account", now),
        released(leased, now),
        decided(leased, Report::Failed(Failure::cancelled("stopped")), now),
        decided(leased, Report::Failed(Failure::unknown("no answer")), now),
        decided(leased, Report::TimedOut(TimeoutKind::Job), now),
        lost(leased, now),
    ]
}

/// The same but for the release: what a holder may still send after its job was given back.
fn late_settlements(leased: &LeasedJob, now: Timestamp) -> Vec<Settlement> {
    let mut late = settlements(leased, now);
    late.retain(|settlement| settlement.outcome != AttemptOutcome::Released);
    late
}

pub async fn a_stale_settlement_changes_nothing(store: Arc<dyn Store>) {
    let first = running(&*store, "mail", START).await;
    applied(&*store, &released(&first, at(1)), at(1)).await;
    refused(
        &*store,
        &late_settlements(&first, at(2)),
        "no-zombie-write: the job waits",
    )
    .await;

    let second = take_one(&*store, "mail", at(3)).await;
    assert!(
        second.state.epoch > first.state.epoch,
        "no-zombie-write: epochs rise"
    );
    // Long after the second lease ends, so that only the epoch can refuse what takes the lease to be lost.
    let late = late_settlements(&first, at(10_000));
    refused(
        &*store,
        &late,
        "no-zombie-write: the job runs under a later epoch",
    )
    .await;
    let mut early = late_settlements(&second, at(10_000));
    for settlement in &mut early {
        settlement.fence.epoch = Epoch(second.state.epoch.0 + 1);
    }
    refused(
        &*store,
        &early,
        "no-zombie-write: the epoch was never given",
    )
    .await;

    applied(&*store, &success(&second, at(5)), at(5)).await;
    refused(
        &*store,
        &late,
        "one-outcome: a terminal outcome never changes",
    )
    .await;
}

/// Each of the settlements is stale, alone and in one batch, and the job's whole record stays as it was.
async fn refused(store: &dyn Store, settlements: &[Settlement], why: &str) {
    let job = settlements[0].job;
    let before = record(store, job).await;
    for stale in settlements {
        assert_eq!(
            settled(store, stale, at(4)).await,
            Settled::Stale,
            "{why} ({:?})",
            stale.outcome
        );
        assert_eq!(
            record(store, job).await,
            before,
            "{why} ({:?})",
            stale.outcome
        );
    }
    let answers = advance(store, settlements, None, at(4)).await.settled;
    assert_eq!(
        answers,
        vec![Settled::Stale; settlements.len()],
        "{why} (in one batch)"
    );
    assert_eq!(record(store, job).await, before, "{why} (in one batch)");
}

pub async fn a_repeated_settlement_is_already(store: Arc<dyn Store>) {
    let now = at(1).after(LEASE);
    for number in 0..8 {
        let leased = running(&*store, &format!("kind-{number}"), START).await;
        let settlement = settlements(&leased, now).remove(number);
        applied(&*store, &settlement, now).await;
        let before = record(&*store, leased.id).await;
        assert_eq!(
            settled(&*store, &settlement, now).await,
            Settled::Already,
            "one-outcome: the same call repeated ({:?})",
            settlement.outcome
        );
        assert_eq!(
            record(&*store, leased.id).await,
            before,
            "one-outcome: a repeated call changes nothing"
        );
    }
}

pub async fn a_stale_item_spoils_no_other(store: Arc<dyn Store>) {
    created(&*store, &[job("mail"), job("mail"), job("mail")], START).await;
    let leased = take(&*store, &claim(&["mail"], 3), START).await;
    applied(&*store, &released(&leased[1], at(1)), at(1)).await;
    let stale = record(&*store, leased[1].id).await;
    let batch: Vec<_> = leased.iter().map(|job| success(job, at(2))).collect();
    let answers = advance(&*store, &batch, None, at(2)).await.settled;
    assert_eq!(
        answers,
        [Settled::Applied, Settled::Stale, Settled::Applied],
        "answers stand in the order of the batch"
    );
    assert_eq!(
        state_name(&*store, leased[0].id).await,
        StateName::Succeeded
    );
    assert_eq!(
        record(&*store, leased[1].id).await,
        stale,
        "no-zombie-write: nothing was written"
    );
    assert_eq!(
        state_name(&*store, leased[2].id).await,
        StateName::Succeeded
    );
    let again = advance(&*store, &batch, None, at(2)).await.settled;
    assert_eq!(
        again,
        [Settled::Already, Settled::Stale, Settled::Already],
        "one-outcome: the same batch, repeated"
    );
}

pub async fn one_lease_is_settled_once_within_a_batch(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let batch = [
        success(&leased, at(1)),
        success(&leased, at(1)),
        permanent(&leased, "no", at(1)),
    ];
    let answers = advance(&*store, &batch, None, at(1)).await.settled;
    assert_eq!(
        answers,
        [Settled::Applied, Settled::Already, Settled::Stale],
        "one-outcome: the first settles it"
    );
    let found = record(&*store, leased.id).await;
    assert_eq!(found.job.state.name(), StateName::Succeeded);
    assert_eq!(
        found.attempts.len(),
        1,
        "every-attempt-logged: one start, one record"
    );
    assert_eq!(found.attempts[0].outcome, Some(AttemptOutcome::Succeeded));
}

pub async fn a_job_that_does_not_run_is_not_settled(store: Arc<dyn Store>) {
    let model = running(&*store, "model", START).await;
    let of = |job: JobId, epoch: Epoch| {
        let mut batch = settlements(&model, at(10_000));
        for settlement in &mut batch {
            (settlement.job, settlement.fence.epoch) = (job, epoch);
        }
        batch
    };
    let nobody = advance(&*store, &of(fresh_id(), Epoch(1)), None, at(1))
        .await
        .settled;
    assert_eq!(
        nobody,
        [Settled::Stale; 8],
        "no-zombie-write: there is no such job"
    );
    for wanted in StateName::ALL
        .into_iter()
        .filter(|state| *state != StateName::Running)
    {
        let id = in_state(&*store, job(&format!("kind-{}", wanted.as_str())), wanted).await;
        let given = record(&*store, id)
            .await
            .attempts
            .last()
            .map_or(Epoch::NEVER, |attempt| attempt.epoch);
        for epoch in [Epoch::NEVER, Epoch(given.0 + 1)] {
            refused(
                &*store,
                &of(id, epoch),
                &format!("no-zombie-write: a {} job", wanted.as_str()),
            )
            .await;
        }
    }
}

pub async fn a_held_lease_is_not_settled_as_lost(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    refused(
        &*store,
        &[lost(&leased, at(1))],
        "no-double-effect: its lease holds",
    )
    .await;
    refused(
        &*store,
        &[lost(&leased, START.after(LEASE))],
        "no-double-effect: its lease holds to its end",
    )
    .await;
    let over = lost(&leased, START.after(LEASE).after(Duration::from_micros(1)));
    applied(&*store, &over, over.ended_at).await;
    assert_eq!(
        record(&*store, leased.id).await.attempts[0].outcome,
        Some(AttemptOutcome::Lost)
    );
    refused(
        &*store,
        &[success(&leased, at(50))],
        "no-zombie-write: its holder was taken for lost",
    )
    .await;
}

pub async fn a_holder_may_settle_after_its_lease_lapsed(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    applied(&*store, &success(&leased, at(10_000)), at(10_000)).await;
    assert_eq!(
        state_name(&*store, leased.id).await,
        StateName::Succeeded,
        "epochs decide, not time"
    );
}

pub async fn epochs_rise_over_replays(store: Arc<dyn Store>) {
    let id = dead(&*store, "mail", DeadReason::Permanent).await;
    let replay = Replay {
        effect: None,
        by: by("account made"),
    };
    assert_eq!(
        store.replay(id, &replay, at(1)).await.expect("replay"),
        Steered::Done
    );
    let second = take_one(&*store, "mail", at(2)).await;
    assert_eq!(
        second.state.epoch,
        Epoch(2),
        "no-zombie-write: an epoch is never given twice"
    );
    assert_eq!(
        second.counts,
        Counts {
            starts: 2,
            ..Counts::default()
        }
    );
    let numbers: Vec<_> = record(&*store, id)
        .await
        .attempts
        .iter()
        .map(|attempt| attempt.number)
        .collect();
    assert_eq!(numbers, [1, 2], "every-attempt-logged: numbers go on");
    let mut first = second.clone();
    first.state.epoch = Epoch(1);
    let mut late = settlements(&first, at(10_000));
    late.retain(|settlement| settlement.outcome != AttemptOutcome::Permanent);
    refused(
        &*store,
        &late,
        "no-zombie-write: the epoch of before the replay",
    )
    .await;
}

pub async fn a_settlement_repeated_after_the_next_claim_changes_nothing(store: Arc<dyn Store>) {
    created(&*store, &[job("mail")], START).await;
    let first = take_one(&*store, "mail", START).await;
    let settlements = [released(&first, at(1))];
    let claim = claim(&["mail"], 10);
    let second = advance(&*store, &settlements, Some(&claim), at(1))
        .await
        .leased;
    let before = record(&*store, first.id).await;
    let again = advance(&*store, &settlements, Some(&claim), at(1)).await;
    assert_eq!(
        (again.settled, again.leased),
        (vec![Settled::Already], vec![]),
        "the same call, repeated"
    );
    assert_eq!(
        record(&*store, first.id).await,
        before,
        "no-zombie-write: the new holder's lease stands"
    );
    assert_eq!(before.job, second[0].clone().map_state(JobState::Running));
}

pub async fn one_of_many_concurrent_settlements_applies(store: Arc<dyn Store>) {
    for _ in 0..10 {
        let leased = running(&*store, "mail", START).await;
        let choices = [
            success(&leased, at(1)),
            permanent(&leased, "no", at(1)),
            decided(
                &leased,
                Report::Failed(Failure::cancelled("stopped")),
                at(1),
            ),
            decided(
                &leased,
                Report::Failed(Failure::unknown("no answer")),
                at(1),
            ),
        ];
        let answers = at_once(8, |number| {
            let (store, choice) = (store.clone(), choices[number % 4].clone());
            async move { settled(&*store, &choice, at(1)).await }
        })
        .await;
        let winners: Vec<_> = (0..8)
            .filter(|number| answers[*number] == Settled::Applied)
            .collect();
        assert_eq!(
            winners.len(),
            1,
            "one-outcome: one of eight settles it: {answers:?}"
        );
        let winner = winners[0];
        for (number, answer) in answers
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != winner)
        {
            let expected = if number % 4 == winner % 4 {
                Settled::Already
            } else {
                Settled::Stale
            };
            assert_eq!(*answer, expected, "one-outcome: the others are told so");
        }
        let found = record(&*store, leased.id).await;
        assert_eq!(found.attempts.len(), 1);
        assert_eq!(
            found.attempts[0].outcome,
            Some(choices[winner % 4].outcome),
            "one-outcome: it is the winner's"
        );
        assert_eq!(found.job.counts, choices[winner % 4].counts);
    }
}

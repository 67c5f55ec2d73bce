//! Settle: the decided state is applied whole, with its counts and its attempt record.

use std::sync::Arc;

use surefoot_core::failure::Failure;
use surefoot_core::id::Worker;
use surefoot_core::job::{Attempt, AttemptOutcome, Counts, DeadReason, Job, JobState};
use surefoot_core::policy::Recovery;
use surefoot_core::port::{BATCH_MAX, By, JOB_RECORDS_MAX, JobFilter, Settled, Steered, Store};
use surefoot_core::settle::{Next, Report};
use surefoot_core::text::ErrorText;

use super::fixture::{
    LEASE, START, advance, applied, at, by, claim, created, decided, ids, job, lost, permanent,
    queue, record, released, running, success, take, take_one, transient,
};

fn state_of(next: Next) -> JobState {
    match next {
        Next::Pending { due_at } => JobState::Pending { due_at },
        Next::Retrying { due_at, error } => JobState::Retrying { due_at, error },
        Next::Verifying { due_at, error } => JobState::Verifying { due_at, error },
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
            late: None,
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
            Job {
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

pub async fn an_unknown_outcome_waits_for_a_person(store: Arc<dyn Store>) {
    created(&*store, &[job("charge")], START).await;
    let mut claim = claim(&["charge"], 1);
    claim.kinds[0].recovery = Some(Recovery::AtMostOnce);
    take(&*store, &claim, START).await;
    let found = store.lapsed(at(100), 10).await.expect("lapsed").remove(0);
    assert_eq!(
        found.state.recovery,
        Some(Recovery::AtMostOnce),
        "whoever finds the lease lost knows its recovery"
    );
    applied(&*store, &lost(&found, at(100)), at(100)).await;
    let found = record(&*store, found.id).await;
    let JobState::Dead(death) = found.job.state else {
        panic!("honest-unknown: it is a dead letter")
    };
    assert_eq!(
        death.reason,
        DeadReason::OutcomeUnknown,
        "honest-unknown: nobody knows whether it happened"
    );
    assert_eq!(
        found.attempts[0].outcome,
        Some(AttemptOutcome::Lost),
        "honest-unknown: it is not shown as failed"
    );
}

pub async fn errors_of_any_kind_are_kept(store: Arc<dyn Store>) {
    let megabyte = "é".repeat(512 * 1024);
    let texts = [
        ErrorText::from(""),
        ErrorText::from("a\0b"),
        ErrorText::from_bytes(b"half \xed\xa0\x80 of a pair, \xff\xfe, cut \xf0\x9f"),
        ErrorText::from("'; drop table jobs; -- \\x00 \\ $1 %s {}"),
        ErrorText::from("\u{10ffff}\u{202e}\u{feff}\u{1f600}\r\n\t\u{7f}"),
        ErrorText::from(megabyte),
    ];
    for error in texts {
        let leased = running(&*store, "mail", START).await;
        let retry = decided(
            &leased,
            Report::Failed(Failure::transient(error.clone())),
            START,
        );
        applied(&*store, &retry, START).await;
        let found = record(&*store, leased.id).await;
        assert_eq!(
            found.attempts[0].error.as_ref(),
            Some(&error),
            "every-attempt-logged: whatever it said"
        );
        let JobState::Retrying { error: kept, .. } = found.job.state else {
            panic!("it tries again")
        };
        assert_eq!(
            kept, error,
            "no-lost-intent: no error text keeps a job from being settled"
        );
        let leased = take_one(&*store, "mail", at(600)).await;
        let end = decided(
            &leased,
            Report::Failed(Failure::permanent(error.clone())),
            at(600),
        );
        applied(&*store, &end, at(600)).await;
        let JobState::Dead(death) = record(&*store, leased.id).await.job.state else {
            panic!("it is dead")
        };
        assert_eq!(death.error, error);
        let steps = By {
            reason: error.clone(),
            ..by("")
        };
        store
            .pause(&queue("other"), &steps, START)
            .await
            .expect("pause");
        assert_eq!(
            store
                .ignore(leased.id, &steps, at(601))
                .await
                .expect("ignore"),
            Steered::Done
        );
        let found = record(&*store, leased.id).await;
        assert_eq!(
            found.job.state,
            JobState::Ignored {
                at: at(601),
                reason: error.clone()
            }
        );
        assert_eq!(found.actions[0].by, steps);
        store.resume(&queue("other")).await.expect("resume");
    }
}

pub async fn a_full_batch_is_settled(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
    let waiting = created(&*store, &batch, START).await;
    let most = u32::try_from(BATCH_MAX).expect("it fits");
    let leased = take(&*store, &claim(&["mail"], most), START).await;
    let settlements: Vec<_> = leased
        .iter()
        .enumerate()
        .map(|(n, job)| match n % 5 {
            0 => success(job, at(1)),
            1 => transient(job, at(1)),
            2 => permanent(job, "no such account", at(1)),
            3 => released(job, at(1)),
            _ => decided(job, Report::Failed(Failure::cancelled("stopped")), at(1)),
        })
        .collect();
    created(&*store, &batch[..1], at(1)).await;
    let advanced = advance(&*store, &settlements, Some(&claim(&["mail"], most)), at(1)).await;
    assert_eq!(advanced.settled, vec![Settled::Applied; BATCH_MAX]);
    let back: Vec<_> = settlements
        .iter()
        .filter(|s| matches!(s.next, Next::Pending { .. }))
        .map(|s| s.job)
        .collect();
    assert_eq!(
        ids(&advanced.leased),
        back,
        "what was given back is claimed again, by age"
    );
    for (n, id) in waiting.iter().enumerate().step_by(83) {
        let found = record(&*store, *id).await;
        assert_eq!(found.attempts[0].outcome, Some(settlements[n].outcome));
    }
}

pub async fn every_start_has_its_record(store: Arc<dyn Store>) {
    created(&*store, &[job("mail")], START).await;
    let mut expected = Vec::new();
    let mut id = None;
    for turn in 0..6_u64 {
        let now = at(turn * 100_000);
        let mut claim = claim(&["mail"], 1);
        claim.worker = Worker::new(format!("node-{turn}")).expect("a worker");
        let leased = take(&*store, &claim, now).await.remove(0);
        let end = now.after(LEASE).after(LEASE);
        let settlement = match turn % 3 {
            0 => lost(&leased, end),
            1 => released(&leased, end),
            _ => transient(&leased, end),
        };
        applied(&*store, &settlement, end).await;
        expected.push(Attempt {
            late: None,
            number: leased.counts.starts,
            epoch: leased.state.epoch,
            worker: claim.worker,
            started_at: now,
            ended_at: Some(end),
            outcome: Some(settlement.outcome),
            error: settlement.error,
        });
        id = Some(leased.id);
    }
    let found = record(&*store, id.expect("it ran")).await;
    assert_eq!(
        found.attempts, expected,
        "every-attempt-logged: lost, given back or failed, each start is on record"
    );
    assert_eq!(
        found.job.counts,
        Counts {
            starts: 6,
            failed: 2,
            crashed: 2,
            deferred: 2,
            unknown: 0
        }
    );
}

pub async fn deferrals_without_end_stay_bounded(store: Arc<dyn Store>) {
    let starts = JOB_RECORDS_MAX + 50;
    created(&*store, &[job("mail")], START).await;
    let mut leased = take_one(&*store, "mail", START).await;
    for _ in 1..starts {
        let settlement = released(&leased, START);
        let mut advanced = advance(&*store, &[settlement], Some(&claim(&["mail"], 1)), START).await;
        assert_eq!(
            (advanced.settled[0], advanced.leased.len()),
            (Settled::Applied, 1)
        );
        leased = advanced.leased.remove(0);
    }
    let found = record(&*store, leased.id).await;
    assert_eq!(found.job.counts.starts as usize, starts);
    assert_eq!(
        found.job.counts.failed, 0,
        "giving a job back uses up no attempt"
    );
    let numbers: Vec<_> = found
        .attempts
        .iter()
        .map(|attempt| attempt.number as usize)
        .collect();
    assert_eq!(
        numbers,
        (starts - JOB_RECORDS_MAX + 1..=starts).collect::<Vec<_>>(),
        "every-attempt-logged: the latest are told, oldest first, the running one included"
    );
    let page = store
        .jobs(&JobFilter::default(), None, 10)
        .await
        .expect("jobs");
    assert_eq!(page, [found.job], "a job does not grow with its attempts");
}

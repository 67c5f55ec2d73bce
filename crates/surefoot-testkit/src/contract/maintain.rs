//! Maintain: what is finished leaves after its time; what waits for anybody never does.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::job::{Job, StateName};
use surefoot_core::port::{
    BATCH_MAX, Enqueued, JobFilter, NewJob, Replay, ReplayEffect, Settled, Steered, Store,
};
use surefoot_core::time::Timestamp;

use super::fixture::{
    START, advance, applied, at, by, claim, created, in_state, job, keyed, payload, permanent,
    record, settled, success, take, take_one,
};

const DAY: Duration = Duration::from_secs(86_400);

/// So long after [`START`] that every partition of the day, the week or the month of [`START`] is over.
fn much_later() -> Timestamp {
    START.after(DAY * 100)
}

/// Maintains until there is no more to drop, and says how many jobs were dropped.
async fn maintained(store: &dyn Store, keep: Duration, now: Timestamp) -> u64 {
    let mut dropped = 0;
    for _ in 0..100 {
        let step = store.maintain(keep, now).await.expect("maintain");
        dropped += step.jobs_dropped;
        if !step.more {
            return dropped;
        }
    }
    panic!("a hundred steps are enough for what these cases hold");
}

pub async fn only_what_is_finished_is_dropped(store: Arc<dyn Store>) {
    let mut kept = Vec::new();
    let mut dropped = Vec::new();
    for state in StateName::ALL {
        let new = keyed(&format!("kind-{}", state.as_str()), "k");
        let id = in_state(&*store, new.clone(), state).await;
        if state == StateName::Dead {
            let answer = store
                .edit(id, &payload("2"), &by("typo"), at(1))
                .await
                .expect("edit");
            assert_eq!(answer, Steered::Done);
        }
        let record = record(&*store, id).await;
        if state.is_final() {
            dropped.push(new)
        } else {
            kept.push((new, record))
        }
    }
    assert_eq!(maintained(&*store, DAY * 7, much_later()).await, 3);
    for (new, before) in kept {
        assert_eq!(
            record(&*store, new.id).await,
            before,
            "no-lost-intent: a {} job stays, with all that is on record about it",
            before.job.state.name().as_str()
        );
        let again = NewJob {
            id: super::fixture::fresh_id(),
            payload: payload("3"),
            ..new.clone()
        };
        let answer = store
            .enqueue(&[again], much_later())
            .await
            .expect("enqueue");
        assert_eq!(
            answer,
            [Enqueued::Conflict(new.id)],
            "no-double-effect: and it keeps its key"
        );
    }
    for new in dropped {
        assert_eq!(
            store.job(new.id).await.expect("job"),
            None,
            "it has left history"
        );
        let key = new.key.clone().expect("it has one");
        assert_eq!(
            store
                .find(&new.tenant, &new.kind, &key)
                .await
                .expect("find"),
            None
        );
        let again = NewJob {
            id: super::fixture::fresh_id(),
            ..new
        };
        created(&*store, &[again], much_later()).await;
    }
    let page = store
        .jobs(&JobFilter::default(), None, 100)
        .await
        .expect("jobs");
    assert_eq!(page.len(), StateName::ALL.len());
    assert_eq!(
        maintained(&*store, DAY * 7, much_later()).await,
        0,
        "there is no more"
    );
}

pub async fn nothing_leaves_before_its_time(store: Arc<dyn Store>) {
    let leased = super::fixture::running(&*store, "mail", START).await;
    let end = success(&leased, START);
    applied(&*store, &end, START).await;
    let before = record(&*store, leased.id).await;
    for (keep, now) in [
        (DAY, START),
        (DAY, START.after(DAY)),
        (DAY * 100, much_later()),
        (Duration::MAX, Timestamp::MAX),
    ] {
        assert_eq!(maintained(&*store, keep, now).await, 0);
        assert_eq!(
            record(&*store, leased.id).await,
            before,
            "one-outcome: kept for {keep:?}"
        );
    }
    assert_eq!(
        settled(&*store, &end, at(1)).await,
        Settled::Already,
        "one-outcome: and still known as settled"
    );
    assert_eq!(maintained(&*store, DAY, much_later()).await, 1);
    assert_eq!(
        settled(&*store, &end, at(1)).await,
        Settled::Stale,
        "no-zombie-write: a job that left is not settled"
    );
    assert_eq!(store.job(leased.id).await.expect("job"), None);
}

pub async fn the_end_counts_not_the_beginning(store: Arc<dyn Store>) {
    let old = super::fixture::running(&*store, "old", START).await;
    let late = much_later();
    applied(&*store, &success(&old, late), late).await;
    assert_eq!(
        maintained(&*store, DAY, late).await,
        0,
        "it began long ago and ended just now"
    );
    assert_eq!(
        record(&*store, old.id).await.job.state.name(),
        StateName::Succeeded
    );
}

pub async fn attempts_of_a_waiting_job_outlive_their_time(store: Arc<dyn Store>) {
    let id = in_state(&*store, job("mail"), StateName::Retrying).await;
    assert_eq!(maintained(&*store, DAY, much_later()).await, 0);
    let second = take_one(&*store, "mail", much_later()).await;
    assert_eq!(second.id, id);
    applied(
        &*store,
        &permanent(&second, "no", much_later()),
        much_later(),
    )
    .await;
    let later = much_later().after(DAY * 100);
    assert_eq!(maintained(&*store, DAY, later).await, 0);
    let found = record(&*store, id).await;
    let numbers: Vec<_> = found
        .attempts
        .iter()
        .map(|attempt| attempt.number)
        .collect();
    assert_eq!(
        numbers,
        [1, 2],
        "every-attempt-logged: as long as the job is there, so are its attempts"
    );
    let replay = Replay {
        effect: Some(ReplayEffect::Same),
        by: by("account made"),
    };
    assert_eq!(
        store.replay(id, &replay, later).await.expect("replay"),
        Steered::Done
    );
    let third = take_one(&*store, "mail", later).await;
    applied(&*store, &success(&third, later), later).await;
    let done = record(&*store, id).await;
    assert_eq!((done.attempts.len(), done.actions.len()), (3, 1));
    assert_eq!(maintained(&*store, DAY, later.after(DAY * 100)).await, 1);
}

pub async fn much_history_is_dropped_in_steps(store: Arc<dyn Store>) {
    let most = u32::try_from(BATCH_MAX).expect("it fits");
    for _ in 0..3 {
        let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
        created(&*store, &batch, START).await;
        let leased = take(&*store, &claim(&["mail"], most), START).await;
        let ends: Vec<_> = leased.iter().map(|job| success(job, START)).collect();
        advance(&*store, &ends, None, START).await;
    }
    created(&*store, &[job("mail")], START).await;
    assert_eq!(
        maintained(&*store, DAY, much_later()).await,
        3_000,
        "each job is counted once"
    );
    let page: Vec<Job> = store
        .jobs(&JobFilter::default(), None, 100)
        .await
        .expect("jobs");
    assert_eq!(
        page.iter().map(|job| job.state.name()).collect::<Vec<_>>(),
        [StateName::Pending]
    );
}

pub async fn it_runs_beside_work_and_beside_itself(store: Arc<dyn Store>) {
    let answers = super::fixture::at_once(6, |number| {
        let store = store.clone();
        async move {
            for _ in 0..10 {
                if number < 3 {
                    store.maintain(DAY, much_later()).await.expect("maintain");
                } else {
                    let kind_name = format!("kind-{number}");
                    let leased = super::fixture::running(&*store, &kind_name, START).await;
                    applied(&*store, &success(&leased, START), START).await;
                }
            }
        }
    })
    .await;
    assert_eq!(answers.len(), 6);
    maintained(&*store, DAY, much_later()).await;
    assert_eq!(
        store
            .jobs(&JobFilter::default(), None, 100)
            .await
            .expect("jobs"),
        []
    );
}

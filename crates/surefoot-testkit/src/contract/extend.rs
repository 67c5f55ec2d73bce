//! Extend and beat: a lease holds longer, never shorter, and only for its holder.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::id::Epoch;
use surefoot_core::job::{JobState, LeasedJob, StateName};
use surefoot_core::port::{BATCH_MAX, Cancelled, Extended, Extension, Store};

use super::fixture::{
    LEASE, START, advance, applied, at, at_once, by, claim, created, extended, fresh_id, job,
    record, running, settled, state, success, take,
};

pub async fn a_lease_is_extended_and_never_shortened(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let held = |until| Extended::Held {
        until,
        cancel_requested: false,
    };
    assert_eq!(
        extended(&*store, &leased, at(100), at(10)).await,
        held(at(100))
    );
    assert_eq!(
        extended(&*store, &leased, at(50), at(11)).await,
        held(at(100)),
        "a lease is never shortened"
    );
    let JobState::Running(run) = state(&*store, leased.id).await else {
        panic!("it runs")
    };
    assert_eq!(run.lease_until, at(100));
    assert_eq!(store.lapsed(at(100), 10).await.expect("lapsed"), []);
    assert_eq!(
        store
            .cancel(leased.id, &by("mistake"), at(12))
            .await
            .expect("cancel"),
        Cancelled::Requested
    );
    assert_eq!(
        extended(&*store, &leased, at(60), at(13)).await,
        Extended::Held {
            until: at(100),
            cancel_requested: true
        },
        "a holder is told that its job is to be cancelled"
    );
}

pub async fn a_lost_lease_is_told(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let before = record(&*store, leased.id).await;
    let extension = |job, epoch| Extension {
        job,
        epoch,
        until: at(500),
    };
    let wrong = [
        extension(leased.id, Epoch(leased.state.epoch.0 + 1)),
        extension(leased.id, Epoch(leased.state.epoch.0 - 1)),
        extension(fresh_id(), leased.state.epoch),
    ];
    let answers = store.extend(&wrong, at(1)).await.expect("extend");
    assert_eq!(
        answers,
        [Extended::Lost; 3],
        "no-zombie-write: only the holder extends a lease"
    );
    assert_eq!(
        record(&*store, leased.id).await,
        before,
        "no-zombie-write: nothing was written"
    );
    settled(&*store, &success(&leased, at(2)), at(2)).await;
    assert_eq!(
        extended(&*store, &leased, at(500), at(3)).await,
        Extended::Lost
    );
    assert!(
        LEASE > Duration::from_secs(3),
        "it would have held otherwise"
    );
}

pub async fn a_heart_beats_as_extend_does(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    let other = running(&*store, "refund", START).await;
    let before = record(&*store, other.id).await;
    let mut heart = store.heart().await.expect("heart");
    let until_100 = |job, epoch| Extension {
        job,
        epoch,
        until: at(100),
    };
    let beats = [
        until_100(leased.id, leased.state.epoch),
        until_100(other.id, other.state.epoch.next()),
        until_100(other.id, Epoch::NEVER),
        until_100(fresh_id(), leased.state.epoch),
    ];
    let beat = heart.beat(&beats, at(10)).await.expect("beat");
    let held = |until| Extended::Held {
        until,
        cancel_requested: false,
    };
    assert_eq!(
        beat.extended,
        [
            held(at(100)),
            Extended::Lost,
            Extended::Lost,
            Extended::Lost
        ],
        "no-zombie-write: only the holder extends a lease"
    );
    assert_eq!(
        record(&*store, other.id).await,
        before,
        "no-zombie-write: nothing was written"
    );
    let JobState::Running(run) = state(&*store, leased.id).await else {
        panic!("it runs")
    };
    assert_eq!(
        run.lease_until,
        at(100),
        "what a heart extends is extended for all"
    );
    assert_eq!(
        store
            .cancel(leased.id, &by("mistake"), at(12))
            .await
            .expect("cancel"),
        Cancelled::Requested
    );
    let shorter = Extension {
        until: at(50),
        ..beats[0]
    };
    let beat = heart.beat(&[shorter], at(20)).await.expect("beat");
    assert_eq!(
        beat.extended,
        [Extended::Held {
            until: at(100),
            cancel_requested: true
        }]
    );
    applied(&*store, &success(&leased, at(21)), at(21)).await;
    let beat = heart.beat(&[beats[0]], at(22)).await.expect("beat");
    assert_eq!(
        beat.extended,
        [Extended::Lost],
        "a holder whose job is over is told"
    );
}

pub async fn a_heart_tells_the_database_time(store: Arc<dyn Store>) {
    let mut heart = store.heart().await.expect("heart");
    let mut second = store
        .heart()
        .await
        .expect("a second heart beside the first");
    let before = store.database_now().await.expect("database_now");
    let beat = heart.beat(&[], START).await.expect("beat");
    let other = second.beat(&[], START).await.expect("beat");
    let after = store.database_now().await.expect("database_now");
    assert_eq!(beat.extended, []);
    let told = [before, beat.database_now, other.database_now, after];
    assert!(
        told.is_sorted(),
        "one clock tells the time, and it does not run backwards: {told:?}"
    );
}

pub async fn a_lapsed_lease_that_nobody_settled_is_extended(store: Arc<dyn Store>) {
    let leased = running(&*store, "mail", START).await;
    assert_eq!(
        extended(&*store, &leased, at(10_040), at(10_000)).await,
        Extended::Held {
            until: at(10_040),
            cancel_requested: false
        },
        "epochs decide, not time: a holder that comes back in time goes on"
    );
    assert_eq!(store.lapsed(at(10_000), 10).await.expect("lapsed"), []);
    applied(&*store, &success(&leased, at(10_001)), at(10_001)).await;
}

pub async fn many_leases_are_extended_in_order(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..BATCH_MAX).map(|_| job("mail")).collect();
    created(&*store, &batch, START).await;
    let most = u32::try_from(BATCH_MAX).expect("it fits");
    let leased = take(&*store, &claim(&["mail"], most), START).await;
    assert_eq!(leased.len(), BATCH_MAX);
    let until = |n: usize| at(100 + n as u64 % 7);
    let extension = |(n, job): (usize, &LeasedJob)| Extension {
        job: job.id,
        epoch: if n % 3 == 0 {
            Epoch(9)
        } else {
            job.state.epoch
        },
        until: until(n),
    };
    let mut order: Vec<_> = leased.iter().enumerate().map(extension).collect();
    order.reverse();
    let answers = store.extend(&order, at(1)).await.expect("extend");
    for (n, answer) in answers.iter().rev().enumerate() {
        let held = Extended::Held {
            until: until(n),
            cancel_requested: false,
        };
        assert_eq!(
            *answer,
            if n % 3 == 0 { Extended::Lost } else { held },
            "answers stand in the order of the batch"
        );
    }
    assert_eq!(answers.len(), BATCH_MAX);
}

pub async fn leases_are_extended_while_jobs_are_settled(store: Arc<dyn Store>) {
    let batch: Vec<_> = (0..200).map(|_| job("mail")).collect();
    created(&*store, &batch, START).await;
    let leased = Arc::new(take(&*store, &claim(&["mail"], 200), START).await);
    let answers = at_once(4, |number| {
        let (store, leased) = (store.clone(), leased.clone());
        async move {
            let mut order: Vec<_> = leased.iter().collect();
            if number % 2 == 1 {
                order.reverse();
            }
            let mut heart = store.heart().await.expect("heart");
            for turn in 0..10 {
                let until = at(100 + turn);
                let beats: Vec<_> = order
                    .iter()
                    .map(|job| Extension {
                        job: job.id,
                        epoch: job.state.epoch,
                        until,
                    })
                    .collect();
                if number < 2 {
                    heart.beat(&beats, at(1)).await.expect("beat");
                } else {
                    let share = order
                        .chunks(20)
                        .nth(usize::try_from(turn).expect("it fits"))
                        .expect("it is there");
                    let settlements: Vec<_> = share.iter().map(|job| success(job, at(1))).collect();
                    advance(&*store, &settlements, None, at(1)).await;
                }
            }
        }
    })
    .await;
    assert_eq!(
        answers.len(),
        4,
        "heartbeats and settlements in opposite orders end, without a deadlock"
    );
    for job in leased.iter() {
        assert_eq!(state(&*store, job.id).await.name(), StateName::Succeeded);
    }
}

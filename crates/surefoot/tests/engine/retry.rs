//! When a failed job runs again, and when it does not.

use std::sync::Arc;

use surefoot::core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot::{Cx, Failure, JobPolicy, Outcome, Recovery};

use crate::world::{Task, World, ms, notes, policy_with_backoff, s};

async fn fails(_: Task, _: Cx) -> Outcome<u32> {
    Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into())
}

#[tokio::test(start_paused = true)]
async fn retries_follow_the_list_and_end_in_a_dead_letter() {
    let world = World::new();
    let engine = world
        .node()
        .handle(fails, policy_with_backoff(&[10, 30, 120, 600]))
        .start()
        .await
        .unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    world.settled(job).await;
    assert_eq!(world.death(job).await.reason, DeadReason::Exhausted);
    assert_eq!(
        world.outcomes(job).await,
        [Some(AttemptOutcome::Transient); 5]
    );
    for (gap, listed) in world.gaps(job).await.into_iter().zip([10, 30, 120, 600]) {
        assert!(
            gap >= s(listed) && gap <= s(listed) + ms(5),
            "{gap:?} for {listed} s"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_failure_is_retried_at_once() {
    let world = World::new();
    let engine = world.runs(fails).await;
    for n in 0..20 {
        engine.enqueue(Task::n(n)).await.unwrap();
    }
    tokio::time::sleep(s(3600)).await;
    let dead = engine.client().dead_groups().await.unwrap();
    assert_eq!(
        (dead.len(), dead[0].count),
        (1, 20),
        "one fingerprint for all"
    );
    let mut first_gaps = Vec::new();
    for job in engine
        .client()
        .jobs(&Default::default(), None, 100)
        .await
        .unwrap()
    {
        let gaps = world.gaps(job.id).await;
        for (gap, listed) in gaps.iter().zip([10.0, 30.0, 120.0, 600.0]) {
            let ratio = gap.as_secs_f64() / listed;
            assert!((0.74..=1.27).contains(&ratio), "{gap:?} for {listed} s");
        }
        first_gaps.push(gaps[0]);
    }
    first_gaps.sort();
    first_gaps.dedup();
    assert!(
        first_gaps.len() > 10,
        "what failed together does not come back together: {first_gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_is_not_retried() {
    let world = World::new();
    let run = |_: Task, _: Cx| async { Err::<u32, _>(Failure::permanent("no such payment\0")) };
    let engine = world.runs(run).await;
    let job = engine.enqueue(Task::n(1)).await.unwrap().id;
    world.settled(job).await;
    assert_eq!(world.death(job).await.reason, DeadReason::Permanent);
    assert_eq!(world.outcomes(job).await, [Some(AttemptOutcome::Permanent)]);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_out_and_uses_up_no_attempt() {
    let world = World::new();
    let run = |_: Task, cx: Cx| async move {
        if cx.attempt() <= 3 {
            Err(Failure::rate_limited(s(37), "slow down"))
        } else {
            Ok(cx.attempt())
        }
    };
    let policy = JobPolicy {
        attempts_max: 1,
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, policy).start().await.unwrap();
    let job = engine.enqueue(Task::n(1)).await.unwrap();
    assert_eq!(engine.result(job).await.unwrap(), 4);
    for gap in world.gaps(job.id).await {
        assert!(gap >= s(37) && gap < s(47), "{gap:?}");
    }
    let counts = world.job(job.id).await.job.counts;
    assert_eq!((counts.failed, counts.deferred, counts.starts), (0, 3, 4));
}

#[tokio::test(start_paused = true)]
async fn the_provider_key_is_the_same_on_every_attempt() {
    let world = World::new();
    let keys = notes();
    let seen = Arc::clone(&keys);
    let run = move |_: Task, cx: Cx| {
        seen.add(cx.provider_key().clone());
        async move {
            if cx.attempt() < 4 {
                Err(Failure::transient("again"))
            } else {
                Ok(1)
            }
        }
    };
    let engine = world.runs(run).await;
    let job = engine.enqueue(Task::n(1)).await.unwrap();
    engine.result(job).await.unwrap();
    let mut keys = keys.all();
    assert_eq!(keys.len(), 4);
    keys.dedup();
    assert_eq!(keys.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reported_unknown_goes_by_the_recovery() {
    for (recovery, state, attempts) in [
        (None, StateName::Dead, 1),
        (Some(Recovery::AtMostOnce), StateName::Dead, 1),
        (Some(Recovery::SameKey), StateName::Succeeded, 2),
        (Some(Recovery::Repeatable), StateName::Succeeded, 2),
    ] {
        let world = World::new();
        let run = |_: Task, cx: Cx| async move {
            if cx.attempt() == 1 {
                Err(Failure::unknown("no answer"))
            } else {
                Ok(1)
            }
        };
        let engine = world
            .node()
            .handle(
                run,
                JobPolicy {
                    recovery,
                    ..JobPolicy::default()
                },
            )
            .start()
            .await
            .unwrap();
        let job = engine.enqueue(Task::n(1)).await.unwrap().id;
        let record = world.settled(job).await;
        assert_eq!(record.job.state.name(), state, "{recovery:?}");
        assert_eq!(record.attempts.len(), attempts, "{recovery:?}");
        if state == StateName::Dead {
            assert_eq!(
                world.death(job).await.reason,
                DeadReason::OutcomeUnknown,
                "{recovery:?}"
            );
        }
    }
}

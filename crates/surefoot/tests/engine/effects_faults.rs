//! A store that fails around the writes of an effect, a holder that wakes up too late, and what a handler or a drain does in
//! the middle.

use std::sync::Arc;

use surefoot::core::job::{AttemptOutcome, StateName};
use surefoot::core::settle::{Fence, Report, Settlement, settle};
use surefoot::core::time::Roll;
use surefoot::{Cx, EngineOptions, Failure, Intent, JobPolicy};
use surefoot_testkit::{Fault, FaultyStore, Verb};

use crate::effects_world::{ALL, Act, How, Provider, end, node, policy, refund, states};
use crate::world::{Task, World, ms, notes, options, policy_with_backoff, s};

fn faulty() -> (World, FaultyStore) {
    let world = World::new();
    let faulty = FaultyStore::over(Arc::clone(&world.store), 1);
    (World::over(Arc::new(faulty.clone())), faulty)
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_around_a_write_of_an_effect_never_makes_two_of_it() {
    let faults = [
        Fault::Before,
        Fault::After,
        Fault::Delay(s(3)),
        Fault::Late(s(3)),
        Fault::Delay(s(60)),
        Fault::Late(s(60)),
    ];
    for fault in faults {
        for nth in 0..2 {
            for how in ALL {
                let (world, faulty) = faulty();
                let provider = Provider::doing(&[]);
                for _ in 0..nth {
                    faulty.next_right(Verb::WriteEffects);
                }
                faulty.next(Verb::WriteEffects, fault);
                let engine = node(&world, &provider, how).await;
                let job = engine.enqueue(Task::n(7)).await.unwrap().id;
                let end = end(&world, job).await;
                assert_eq!(end, "succeeded 7", "{fault:?} {nth} {how:?}");
                let seen = (provider.ledger.len(), provider.calls.len());
                assert_eq!(seen, (1, 1), "{fault:?} {nth} {how:?}");
            }
        }
    }
}

/// The store is gone from the answer of the provider on until after the end of the attempt.
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_written_down_stands_as_unknown() {
    for (how, expected) in [
        (How::Verify, ("succeeded 7", 1)),
        (How::SameKey(None), ("succeeded 7", 2)),
        (How::Once, ("outcome_unknown", 1)),
    ] {
        let (world, faulty) = faulty();
        let provider = Provider::doing(&[]).that_dedupes();
        faulty.next_right(Verb::WriteEffects);
        for _ in 0..60 {
            faulty.next(Verb::WriteEffects, Fault::Before);
        }
        let engine = node(&world, &provider, how).await;
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(45)).await;
        assert_eq!(states(&world, job).await, ["intended"], "{how:?}");
        let end = end(&world, job).await;
        assert_eq!((end.as_str(), provider.calls.len()), expected, "{how:?}");
        assert_eq!(provider.ledger.len(), 1);
        if how == How::Verify {
            let failed = world.job(job).await.job.counts.failed;
            assert_eq!(failed, 1, "a question uses up no attempt");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_leave_when_the_store_answers_too_late() {
    for how in ALL {
        for late in [Fault::Late(s(20)), Fault::Delay(s(20))] {
            let (world, faulty) = faulty();
            let provider = Provider::doing(&[]);
            faulty.next(Verb::WriteEffects, late);
            let engine = node(&world, &provider, how).await;
            let job = engine.enqueue(Task::n(7)).await.unwrap().id;
            tokio::time::sleep(ms(5500)).await;
            assert_eq!(provider.calls.len(), 0, "{how:?} {late:?}");
            assert_eq!(end(&world, job).await, "succeeded 7");
            let counts = world.job(job).await.job.counts;
            assert_eq!(counts.failed, 0, "nothing was sent, so nothing failed");
            let outcomes = world.outcomes(job).await;
            assert_eq!(
                outcomes[0],
                Some(AttemptOutcome::Released),
                "it was put off"
            );
        }
    }
}

/// No heartbeat gets through: the write that lets the call leave makes room for it.
#[tokio::test(start_paused = true)]
async fn the_lease_has_room_for_the_whole_call() {
    let (world, faulty) = faulty();
    for _ in 0..1000 {
        faulty.next(Verb::Beat, Fault::Before);
    }
    let provider = Provider::doing(&[Act::Silent]);
    let called = provider.clone();
    let run = move |task: Task, cx: Cx| {
        let provider = called.clone();
        async move {
            tokio::time::sleep(s(28)).await;
            refund(&cx, "psp.refund", task.n, provider, How::Verify).await
        }
    };
    let tight = JobPolicy {
        lease: s(31),
        ..policy()
    };
    let engine = world.node().handle(run, tight).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(29)).await;
    let effect = &engine.client().effects(job).await.unwrap()[0];
    let lease_until = world
        .job(job)
        .await
        .job
        .into_leased()
        .unwrap()
        .state
        .lease_until;
    let call_ends = effect.leaves_by.unwrap().after(effect.terms.timeout);
    assert!(lease_until > call_ends, "{lease_until} {call_ends}");
}

/// What another node would write if it took this one for dead.
async fn steal(world: &World, job: surefoot::core::id::JobId) {
    let leased = world.job(job).await.job.into_leased().unwrap();
    let effects = world.store.effects(&[job]).await.unwrap();
    let now = world.store.database_now().await.unwrap();
    let lost = settle(&leased, &effects, Report::Lost, &policy(), now, Roll(0));
    let stolen = Settlement {
        fence: Fence {
            lapsed_before: None,
            ..lost.fence
        },
        ..lost
    };
    world.store.advance(&[stolen], None, now).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_lost_its_lease_changes_nothing_and_its_word_is_kept() {
    for (how, expected, calls) in [
        (How::Verify, "succeeded 7", 1),
        (How::SameKey(None), "succeeded 7", 2),
        (How::Once, "outcome_unknown", 1),
    ] {
        let world = World::new();
        let provider = Provider::doing(&[Act::Slow(s(2))]).that_dedupes();
        let engine = node(&world, &provider, how).await;
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(1)).await;
        steal(&world, job).await;
        tokio::time::sleep(ms(1500)).await;
        assert_eq!(states(&world, job).await, ["intended"], "{how:?}");
        let first = &world.job(job).await.attempts[0];
        assert_eq!(first.outcome, Some(AttemptOutcome::Lost));
        let said = first.late.as_ref().map(ToString::to_string);
        assert_eq!(said.as_deref(), Some("psp.refund was applied: 7"));
        assert_eq!(end(&world, job).await, expected, "{how:?}");
        let seen = (provider.ledger.len(), provider.calls.len());
        assert_eq!(seen, (1, calls), "{how:?}");
    }
}

/// Its call is still on its way when the next holder has the job: that one waits until it has landed.
#[tokio::test(start_paused = true)]
async fn the_next_holder_waits_for_what_is_on_its_way() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Later(s(9))]);
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    steal(&world, job).await;
    tokio::time::sleep(s(9)).await;
    assert_eq!(
        provider.asks.len(),
        0,
        "5 s to leave, 5 s to answer, 1 s more"
    );
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_holder_does_not_begin_another_effect() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Slow(s(2))]);
    let called = provider.clone();
    let run = move |task: Task, cx: Cx| {
        let provider = called.clone();
        async move {
            let _ = refund(&cx, "psp.refund", task.n, provider.clone(), How::Once).await;
            refund(&cx, "psp.fee", task.n, provider, How::Once).await
        }
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    steal(&world, job).await;
    tokio::time::sleep(s(60)).await;
    assert_eq!(provider.calls.len(), 1);
    assert_eq!(world.told.count("lease lost"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_report_after_the_lease_was_lost_is_kept_with_its_attempt() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        if cx.attempt() == 1 {
            tokio::time::sleep(s(2)).await;
        }
        Ok(task.n * cx.attempt())
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    steal(&world, job).await;
    assert_eq!(end(&world, job).await, "succeeded 14");
    let first = &world.job(job).await.attempts[0];
    let said = first.late.as_ref().map(ToString::to_string);
    assert_eq!(said.as_deref(), Some("succeeded: 7"));
}

#[tokio::test(start_paused = true)]
async fn a_drain_in_the_middle_of_a_call_leaves_a_job_that_asks() {
    for (how, expected, calls) in [
        (How::Verify, "succeeded 7", 1),
        (How::SameKey(None), "succeeded 7", 2),
        (How::Once, "outcome_unknown", 1),
    ] {
        let world = World::new();
        let provider = Provider::doing(&[Act::AppliedSilent]).that_dedupes();
        let hurried = EngineOptions {
            drain_grace: s(1),
            ..options()
        };
        let first = world
            .node()
            .options(hurried)
            .handle(crate::effects_world::refunding(&provider, how), policy())
            .start()
            .await
            .unwrap();
        let job = first.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(1)).await;
        let drained = first.drain().await;
        assert_eq!((drained.abandoned, drained.unsettled), (0, 0));
        let state = world.state(job).await;
        let expected_state = match how {
            How::Verify => StateName::Verifying,
            How::SameKey(_) | How::Repeatable => StateName::Pending,
            How::Once => StateName::Dead,
        };
        assert_eq!(state, expected_state, "{how:?}");
        let counts = world.job(job).await.job.counts;
        assert_eq!((counts.failed, counts.deferred), (0, 1), "{how:?}");
        let alerts = world.told.count("needs human psp.refund");
        assert_eq!(alerts, usize::from(how == How::Once), "{how:?}");
        let _next = node(&world, &provider, how).await;
        assert_eq!(end(&world, job).await, expected, "{how:?}");
        let seen = (provider.ledger.len(), provider.calls.len());
        assert_eq!(seen, (1, calls), "{how:?}");
    }
}

/// Whatever a handler makes of an effect in doubt, its job neither succeeds nor fails.
#[tokio::test(start_paused = true)]
async fn a_handler_that_swallows_a_doubt_decides_nothing() {
    type Swallow = fn(Failure) -> Result<u32, Failure>;
    let ways: [Swallow; 4] = [
        |_| Ok(0),
        |_| Err(Failure::permanent("gave up")),
        |_| Err(Failure::cancelled("gave up")),
        |_| panic!("gave up"),
    ];
    for way in ways {
        for (how, expected) in [(How::Verify, "succeeded 7"), (How::Once, "outcome_unknown")] {
            let world = World::new();
            let provider = Provider::doing(&[Act::AppliedSilent]);
            let called = provider.clone();
            let run = move |task: Task, cx: Cx| {
                let provider = called.clone();
                async move {
                    match refund(&cx, "psp.refund", task.n, provider, how).await {
                        Ok(n) => Ok(n),
                        Err(failure) => way(failure),
                    }
                }
            };
            let engine = world.node().handle(run, policy()).start().await.unwrap();
            let job = engine.enqueue(Task::n(7)).await.unwrap().id;
            assert_eq!(end(&world, job).await, expected, "{how:?}");
            assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_doubt_is_settled_after_the_deadline_and_nothing_is_sent_then() {
    for (act, expected) in [
        (Act::AppliedSilent, "succeeded 7"),
        (Act::Silent, "deadline"),
    ] {
        let world = World::new();
        let provider = Provider::doing(&[act]);
        let engine = node(&world, &provider, How::Verify).await;
        let deadline_at = Some(engine.client().now().after(s(3)));
        let intent = Intent {
            deadline_at,
            ..Intent::of(&Task::n(7)).unwrap()
        };
        let job = engine.enqueue_intent(intent).await.unwrap().job();
        assert_eq!(end(&world, job).await, expected, "{act:?}");
        assert_eq!(provider.calls.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_that_expires_while_it_may_have_happened_says_so_to_the_observer() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent; 9]);
    let slow = policy_with_backoff(&[100]);
    let run = crate::effects_world::refunding(&provider, How::SameKey(None));
    let engine = world.node().handle(run, slow).start().await.unwrap();
    let deadline_at = Some(engine.client().now().after(s(120)));
    let intent = Intent {
        deadline_at,
        ..Intent::of(&Task::n(7)).unwrap()
    };
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    tokio::time::sleep(s(10)).await;
    assert_eq!(world.state(job).await, StateName::Retrying);
    engine.drain().await;
    tokio::time::sleep(s(150)).await;
    let _idle = world.node().start().await.unwrap();
    assert_eq!(end(&world, job).await, "outcome_unknown");
    assert_eq!(world.told.count("dead outcome_unknown"), 1);
    assert_eq!(world.told.count("dead deadline"), 0);
}

#[tokio::test(start_paused = true)]
async fn effects_that_cannot_be_read_put_the_attempt_off() {
    let (world, faulty) = faulty();
    let provider = Provider::doing(&[Act::Reset]);
    let engine = node(&world, &provider, How::Repeatable).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    faulty.next(Verb::Effects, Fault::Before);
    assert_eq!(end(&world, job).await, "succeeded 7");
    let counts = world.job(job).await.job.counts;
    assert_eq!((counts.failed, counts.deferred), (1, 1));
    assert_eq!(provider.calls.len(), 2);
}

/// What a handler committed in a transaction of its own is the end of the job, whatever it says afterwards.
#[tokio::test(start_paused = true)]
async fn a_success_that_the_handler_committed_itself_stands() {
    type After = fn() -> Result<u32, Failure>;
    let ways: [After; 3] = [
        || Ok(7),
        || Err(Failure::transient("the connection broke at the commit")),
        || panic!("after the commit"),
    ];
    for after in ways {
        let world = World::new();
        let starts = notes();
        let (store, seen) = (Arc::clone(&world.store), Arc::clone(&starts));
        let run = move |task: Task, cx: Cx| {
            let (store, starts) = (Arc::clone(&store), Arc::clone(&seen));
            async move {
                starts.add(cx.attempt());
                let settlement = cx.settlement(&task.n)?;
                // What `settle_in` does within the handler's transaction.
                let now = settlement.ended_at;
                store.advance(&[settlement], None, now).await?;
                // Heartbeats find the lease gone meanwhile.
                tokio::time::sleep(s(12)).await;
                after()
            }
        };
        let engine = world.node().handle(run, policy()).start().await.unwrap();
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(60)).await;
        assert_eq!(end(&world, job).await, "succeeded 7");
        assert_eq!(starts.len(), 1);
        assert_eq!(world.told.count("ended task succeeded succeeded"), 1);
        let bad = (
            world.told.count("lease lost"),
            world.told.count("stale write"),
        );
        assert_eq!(bad, (0, 0), "{:?}", world.told.lines());
    }
}

/// A transaction that was rolled back leaves the job to the handler's report.
#[tokio::test(start_paused = true)]
async fn a_success_that_was_not_committed_is_none() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        if cx.attempt() == 1 {
            cx.settlement(&task.n)?;
            return Err(Failure::transient("serialization failure"));
        }
        Ok(8)
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 8");
    assert_eq!(world.job(job).await.job.counts.failed, 1);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_effect_is_in_doubt_has_no_success_to_commit() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let refused = notes();
    let (called, seen) = (provider.clone(), Arc::clone(&refused));
    let run = move |task: Task, cx: Cx| {
        let (provider, refused) = (called.clone(), Arc::clone(&seen));
        async move {
            let n = refund(&cx, "psp.refund", task.n, provider, How::Once).await;
            refused.add(cx.settlement(&task.n).is_err());
            n
        }
    };
    let engine = world.node().handle(run, JobPolicy::default());
    let engine = engine.start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
    assert_eq!(refused.all(), [true]);
}

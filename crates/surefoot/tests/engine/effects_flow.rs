//! Several effects in one job, steps, code that changed, and what is refused before anything is written.

use std::sync::Arc;

use surefoot::core::effect::Verdict;
use surefoot::core::job::StateName;
use surefoot::core::payload::Payload;
use surefoot::{Applied, AtMostOnce, Cx, Failure, Outcome, SameKey, Verify, VerifyPlan};

use crate::effects_world::{ALL, Act, How, Provider, end, node, policy, refund, states};
use crate::world::{Task, World, notes, s};

#[tokio::test(start_paused = true)]
async fn of_two_effects_only_the_one_that_failed_is_sent_again() {
    for how in ALL {
        let world = World::new();
        let provider = Provider::doing(&[Act::Answer, Act::Unreachable]);
        let called = provider.clone();
        let run = move |task: Task, cx: Cx| {
            let provider = called.clone();
            async move {
                let one = refund(&cx, "psp.refund", task.n, provider.clone(), how).await?;
                let two = refund(&cx, "psp.fee", 1, provider, how).await?;
                Ok(one + two)
            }
        };
        let engine = world.node().handle(run, policy()).start().await.unwrap();
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        assert_eq!(end(&world, job).await, "succeeded 8");
        let fee = format!("{job}.1.1");
        let calls = provider.calls.all();
        assert_eq!(calls, [job.to_string(), fee.clone(), fee], "{how:?}");
        assert_eq!(states(&world, job).await, ["confirmed", "confirmed"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_effect_in_doubt_does_not_touch_the_first() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Answer, Act::AppliedSilent]);
    let called = provider.clone();
    let run = move |task: Task, cx: Cx| {
        let provider = called.clone();
        async move {
            let one = refund(&cx, "psp.refund", task.n, provider.clone(), How::Once).await?;
            let two = refund(&cx, "psp.fee", 1, provider, How::Verify).await?;
            Ok(one + two)
        }
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 14");
    assert_eq!((provider.calls.len(), provider.asks.len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_step_is_computed_once_and_has_a_place() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Unreachable]);
    let computed = notes();
    let (called, seen) = (provider.clone(), Arc::clone(&computed));
    let run = move |task: Task, cx: Cx| {
        let (provider, computed) = (called.clone(), Arc::clone(&seen));
        async move {
            let rate = cx
                .step("rate", || async {
                    computed.add(cx.attempt());
                    Ok(task.n + cx.attempt())
                })
                .await?;
            refund(&cx, "psp.refund", rate, provider, How::Once).await
        }
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 8");
    assert_eq!(computed.all(), [1]);
    assert_eq!(provider.calls.all(), vec![format!("{job}.1.1"); 2]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_fails_is_computed_again() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        let attempt = cx.attempt();
        cx.step("parse", || async move {
            match attempt {
                1 => Err(Failure::transient("not yet")),
                _ => Ok(task.n),
            }
        })
        .await
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 7");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_other_code_began_is_parked() {
    let names = [["psp.refund", "psp.charge"], ["psp.refund", "rate"]];
    for [first, second] in names {
        let world = World::new();
        let provider = Provider::doing(&[]);
        let called = provider.clone();
        let run = move |task: Task, cx: Cx| {
            let provider = called.clone();
            async move {
                if cx.attempt() == 1 {
                    refund(&cx, first, task.n, provider, How::Verify).await?;
                    return Err(Failure::transient("and then it failed"));
                }
                let swallowed = if second == "rate" {
                    cx.step(second, || async { Ok(1) }).await
                } else {
                    refund(&cx, second, task.n, provider.clone(), How::Verify).await
                };
                assert!(swallowed.is_err());
                // Nothing more is sent in this attempt, and its job does not succeed.
                let more = refund(&cx, "psp.more", 1, provider, How::Once).await;
                assert!(more.is_err());
                Ok(0)
            }
        };
        let engine = world.node().handle(run, policy()).start().await.unwrap();
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        assert_eq!(end(&world, job).await, "permanent", "{second}");
        let error = world.death(job).await.error;
        let text = error.as_str();
        assert!(text.contains(first) && text.contains(second), "{text}");
        assert_eq!(provider.calls.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_contradicts_itself_is_refused_before_it_is_written() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        let find = |_| async { Ok(Verdict::DidNotHappen) };
        let never = |_| async { panic!("it must not be called") };
        let draft = cx.effect("psp.refund");
        match task.n {
            0 => draft.timeout(s(60)).recover(AtMostOnce).call(never).await,
            1 => {
                let verify = Verify::by(find).settles_within(s(5));
                draft.timeout(s(10)).recover(verify).call(never).await
            }
            2 => {
                let verify = Verify::by(find).settles_within(s(60)).plan(VerifyPlan {
                    give_up_after: s(30),
                    ..VerifyPlan::default()
                });
                draft.recover(verify).call(never).await
            }
            3 => {
                let same_key = SameKey::kept_for(s(5));
                draft.timeout(s(5)).recover(same_key).call(never).await
            }
            4 => cx.effect("no name").recover(AtMostOnce).call(never).await,
            _ => {
                let draft = draft.dependency("no name")?;
                draft.recover(AtMostOnce).call(never).await
            }
        }
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    for n in 0..6 {
        let job = engine.enqueue(Task::n(n)).await.unwrap().id;
        assert_eq!(end(&world, job).await, "permanent", "{n}");
        assert_eq!(states(&world, job).await, [""; 0], "{n}");
        let error = world.death(job).await.error;
        assert!(error.as_str().contains("not sound"), "{error}");
    }
}

/// Without a time-out of its own a call has what is left of the attempt.
#[tokio::test(start_paused = true)]
async fn a_call_without_a_time_out_fits_into_lease_attempt_and_recovery() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        let find = |_| async { Ok(Verdict::DidNotHappen) };
        let call = |_| async { Ok(1) };
        match task.n {
            0 => cx.effect("a").recover(AtMostOnce).call(call).await,
            1 => {
                tokio::time::sleep(s(20)).await;
                cx.effect("a").recover(AtMostOnce).call(call).await
            }
            2 => {
                let verify = Verify::by(find).settles_within(s(12));
                cx.effect("a").recover(verify).call(call).await
            }
            _ => {
                let same_key = SameKey::kept_for(s(8));
                cx.effect("a").recover(same_key).call(call).await
            }
        }
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    for (n, expected) in [(0, 30), (1, 10), (2, 12), (3, 4)] {
        let job = engine.enqueue(Task::n(n)).await.unwrap().id;
        assert_eq!(end(&world, job).await, "succeeded 1");
        let effect = &engine.client().effects(job).await.unwrap()[0];
        let timeout = effect.terms.timeout;
        assert!(timeout <= s(expected), "{n}: {timeout:?}");
        assert!(timeout + s(1) > s(expected), "{n}: {timeout:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_raw_result_is_kept_as_it_came_and_costs_what_it_cost() {
    let world = World::new();
    let run = |_: Task, cx: Cx| async move {
        let kept = cx
            .effect("ai.grade")
            .cost(500)
            .recover(AtMostOnce)
            .call_raw(|_| async {
                Ok(Applied {
                    result: Payload::parse("{ \"b\": 1,\"a\": 2 }")?,
                    cost: Some(320),
                })
            })
            .await?;
        assert_eq!(kept.as_str(), "{ \"b\": 1,\"a\": 2 }");
        Ok(1)
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 1");
    let effect = &engine.client().effects(job).await.unwrap()[0];
    assert_eq!((effect.cost.reserved, effect.cost.booked()), (500, 320));
}

/// It was applied: a result that cannot be kept makes it unknown and not failed.
#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_to_keep_is_an_unknown_outcome() {
    let world = World::new();
    let run = |task: Task, cx: Cx| async move {
        let call = cx.effect("ai.grade").recover(AtMostOnce);
        let text: String = call.call(|_| async { Ok("x".repeat(2_000_000)) }).await?;
        Ok(task.n + u32::try_from(text.len()).unwrap())
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
}

#[tokio::test(start_paused = true)]
async fn a_kept_result_of_another_type_is_a_clear_failure() {
    let world = World::new();
    let run = |_: Task, cx: Cx| async move {
        let call = cx.effect("a").recover(AtMostOnce);
        if cx.attempt() == 1 {
            let text: Outcome<String> = call.call(|_| async { Ok("seven".to_owned()) }).await;
            text?;
            return Err(Failure::transient("and then it failed"));
        }
        call.call(|_| async { Ok(8_u32) }).await
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "permanent");
    let error = world.death(job).await.error;
    assert!(error.as_str().contains("kept result"), "{error}");
}

/// A handler that fails before it comes to ask is not run for ever, and not at once.
#[tokio::test(start_paused = true)]
async fn a_handler_that_never_comes_to_ask_ends_with_a_person() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let called = provider.clone();
    let run = move |task: Task, cx: Cx| {
        let provider = called.clone();
        async move {
            if cx.attempt() > 1 {
                return Err(Failure::transient("the ledger is away"));
            }
            refund(&cx, "psp.refund", task.n, provider, How::Verify).await
        }
    };
    let engine = world.node().handle(run, policy()).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(20)).await;
    assert_eq!(world.state(job).await, StateName::Verifying);
    assert_eq!(end(&world, job).await, "outcome_unknown");
    let record = world.job(job).await;
    assert_eq!(record.attempts.len(), 6);
    assert_eq!(provider.calls.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_context_outside_the_engine_remembers_its_own_effects() {
    let world = World::new();
    let provider = Provider::doing(&[]);
    let engine = node(&world, &provider, How::Once).await;
    engine.drain().await;
    let client = world.client(surefoot::Policies::new()).await;
    client.enqueue_job(&Task::n(7)).await.unwrap();
    let worker = "w".parse().unwrap();
    let queues = surefoot::core::port::Queues::All;
    let leased = client.lease(&worker, &[Task::kind()], queues, 1).await;
    let cx = Cx::standalone(&leased.unwrap()[0], s(30));
    let n = refund(&cx, "psp.refund", 7, provider.clone(), How::Verify).await;
    assert_eq!(n, Ok(7));
    let n = cx.step("parse", || async { Ok(8) }).await;
    assert_eq!(n, Ok(8));
    let job = cx.job();
    assert_eq!(states(&world, job).await, [""; 0]);
    assert_eq!(provider.calls.all(), [job.to_string()]);
}

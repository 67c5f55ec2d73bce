//! Each recovery against each thing that can go wrong with a call.

use surefoot::core::job::AttemptOutcome;

use crate::effects_world::{ALL, Act, How, Provider, end, node, states};
use crate::world::{Task, World, s};

/// One job, whose provider does this with the first call: how the job ends, how often it was applied, called, asked.
async fn story(how: How, acts: &[Act]) -> (String, usize, usize, usize) {
    let world = World::new();
    let provider = match how {
        How::SameKey(_) => Provider::doing(acts).that_dedupes(),
        How::Verify | How::Once | How::Repeatable => Provider::doing(acts),
    };
    let engine = node(&world, &provider, how).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    let end = end(&world, job).await;
    // What is still on its way lands.
    tokio::time::sleep(s(300)).await;
    (
        end,
        provider.ledger.len(),
        provider.calls.len(),
        provider.asks.len(),
    )
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_an_answer_under_every_recovery() {
    for how in ALL {
        for (act, expected) in [
            (Act::Answer, ("succeeded 7", 1, 1, 0)),
            (Act::Slow(s(4)), ("succeeded 7", 1, 1, 0)),
            (Act::Refuse(s(1)), ("permanent", 0, 1, 0)),
            // Nothing left, so it is sent again, also where it must be sent once at most.
            (Act::Unreachable, ("succeeded 7", 1, 2, 0)),
        ] {
            let (end, applied, calls, asks) = story(how, &[act]).await;
            assert_eq!(
                (end.as_str(), applied, calls, asks),
                expected,
                "{how:?} {act:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_never_a_second_effect() {
    for act in [Act::AppliedSilent, Act::AppliedReset, Act::AppliedPanic] {
        for (how, expected) in [
            (How::Verify, ("succeeded 7", 1, 1, 1)),
            (How::SameKey(None), ("succeeded 7", 1, 2, 0)),
            (How::Once, ("outcome_unknown", 1, 1, 0)),
            (How::Repeatable, ("succeeded 7", 2, 2, 0)),
        ] {
            let (end, applied, calls, asks) = story(how, &[act]).await;
            assert_eq!(
                (end.as_str(), applied, calls, asks),
                expected,
                "{how:?} {act:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_lost_on_its_way_is_sent_again_when_that_is_known() {
    for act in [Act::Silent, Act::Reset] {
        for (how, expected) in [
            // Asked at once, 5 s later by the plan, and when it can have no effect any more.
            (How::Verify, ("succeeded 7", 1, 2)),
            (How::SameKey(None), ("succeeded 7", 1, 2)),
            (How::Once, ("outcome_unknown", 0, 1)),
            (How::Repeatable, ("succeeded 7", 1, 2)),
        ] {
            let (end, applied, calls, _) = story(how, &[act]).await;
            assert_eq!((end.as_str(), applied, calls), expected, "{how:?} {act:?}");
        }
    }
}

/// It takes effect 12 s after it came: the provider said "not found" before.
#[tokio::test(start_paused = true)]
async fn a_call_that_takes_effect_after_not_found_is_not_sent_again() {
    let (end, applied, calls, asks) = story(How::Verify, &[Act::Later(s(12))]).await;
    assert_eq!((end.as_str(), applied, calls), ("succeeded 7", 1, 1));
    assert!(asks >= 2, "the first answer was: not found");
    let (end, applied, calls, _) = story(How::Once, &[Act::Later(s(12))]).await;
    assert_eq!((end.as_str(), applied, calls), ("outcome_unknown", 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_stays_silent_uses_up_the_attempts_and_nobody_calls_that_a_failure() {
    let silent = [Act::Silent; 9];
    for (how, end_expected, calls_expected) in [
        (How::Verify, "exhausted", 5),
        (How::SameKey(None), "outcome_unknown", 5),
        (How::Once, "outcome_unknown", 1),
        // Twice does no harm, so it may be called a failure.
        (How::Repeatable, "exhausted", 5),
    ] {
        let (end, applied, calls, _) = story(how, &silent).await;
        assert_eq!(
            (end.as_str(), applied, calls),
            (end_expected, 0, calls_expected),
            "{how:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_is_lost_with_its_node() {
    for act in [Act::AppliedSilent, Act::Silent, Act::Later(s(8))] {
        let applied = usize::from(act != Act::Silent);
        for (how, expected) in [
            (How::Verify, ("succeeded 7", 1, 2 - applied)),
            (How::SameKey(None), ("succeeded 7", 1, 2)),
            (How::Once, ("outcome_unknown", applied, 1)),
            (How::Repeatable, ("succeeded 7", 1 + applied, 2)),
        ] {
            let world = World::new();
            let provider = match how {
                How::SameKey(_) => Provider::doing(&[act]).that_dedupes(),
                How::Verify | How::Once | How::Repeatable => Provider::doing(&[act]),
            };
            let doomed = node(&world, &provider, how).await;
            let job = doomed.enqueue(Task::n(7)).await.unwrap().id;
            tokio::time::sleep(s(1)).await;
            assert_eq!(states(&world, job).await, ["intended"]);
            drop(doomed);
            let _next = node(&world, &provider, how).await;
            let end = end(&world, job).await;
            tokio::time::sleep(s(60)).await;
            assert_eq!(
                (end.as_str(), provider.ledger.len(), provider.calls.len()),
                expected,
                "{how:?} {act:?}"
            );
            let alerts = world.told.count("needs human psp.refund");
            assert_eq!(alerts, usize::from(how == How::Once), "{how:?} {act:?}");
            let lost = Some(AttemptOutcome::Lost);
            assert_eq!(world.outcomes(job).await[0], lost, "{how:?} {act:?}");
        }
    }
}

/// The node dies between the provider's answer and the end of the job: the answer is on record.
#[tokio::test(start_paused = true)]
async fn a_confirmed_effect_is_never_called_again() {
    for how in ALL {
        let world = World::new();
        let provider = Provider::doing(&[]);
        let called = provider.clone();
        let run = move |task: Task, cx: surefoot::Cx| {
            let provider = called.clone();
            async move {
                let n = crate::effects_world::refund(&cx, "psp.refund", task.n, provider, how);
                let n = n.await?;
                if cx.attempt() == 1 {
                    std::future::pending::<()>().await;
                }
                Ok(n)
            }
        };
        let start = || world.node().handle(run.clone(), Default::default()).start();
        let doomed = start().await.unwrap();
        let job = doomed.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(1)).await;
        assert_eq!(states(&world, job).await, ["confirmed"]);
        drop(doomed);
        let _next = start().await.unwrap();
        assert_eq!(end(&world, job).await, "succeeded 7");
        assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_uses_up_no_attempt() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Silent]);
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 7");
    let counts = world.job(job).await.job.counts;
    assert_eq!((counts.failed, counts.crashed, counts.unknown), (1, 0, 0));
    assert!(counts.starts > 2, "{counts:?}");
    assert!(world.told.count("verified psp.refund did_not_happen") >= 2);
}

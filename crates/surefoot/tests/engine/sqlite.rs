//! The engine over a real file: a node that dies in the middle, and the one that finishes its work.

use std::sync::Arc;

use surefoot::core::job::{AttemptOutcome, StateName};
use surefoot::{Cx, EngineOptions, Heartbeat, Intent, JobPolicy};

use crate::effects_world::{Act, How, Provider, refund};
use crate::world::{Task, World, ms, notes, options, policy_with_backoff, s};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_dies_on_sqlite_is_taken_over_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let policy = JobPolicy {
        timeout: ms(500),
        lease: s(1),
        crashes_max: 100,
        backoff: policy_with_backoff(&[1]).backoff,
        ..JobPolicy::default()
    };
    let options = || EngineOptions {
        heartbeat: Heartbeat::OwnThread,
        sweep: ms(200),
        ..options()
    };
    let starts = notes();
    let node = |world: &World| {
        let starts = Arc::clone(&starts);
        let run = move |task: Task, cx: Cx| {
            starts.add((cx.job(), cx.epoch()));
            async move {
                tokio::time::sleep(ms(50)).await;
                Ok(task.n)
            }
        };
        world.node().options(options()).handle(run, policy.clone())
    };

    let world = World::over(surefoot_store::open(&url).await.unwrap());
    let doomed = node(&world).start().await.unwrap();
    let intents = (0..300).map(|n| Intent::of(&Task::n(n)).unwrap()).collect();
    let answers = doomed.client().enqueue_many(intents).await.unwrap();
    tokio::time::sleep(ms(120)).await;
    drop(doomed);
    drop(world);

    let world = World::over(surefoot_store::open(&url).await.unwrap());
    let engine = node(&world).start().await.unwrap();
    let mut lost = 0;
    for (n, answer) in answers.iter().enumerate() {
        assert_eq!(
            engine.result_of::<u32>(answer.job()).await.unwrap() as usize,
            n
        );
        let record = world.job(answer.job()).await;
        assert_eq!(record.job.state.name(), StateName::Succeeded);
        for (job, epoch) in starts.all().iter().filter(|(job, _)| *job == answer.job()) {
            assert!(
                record
                    .attempts
                    .iter()
                    .any(|attempt| attempt.epoch == *epoch),
                "{job} {epoch}"
            );
        }
        lost += record
            .attempts
            .iter()
            .filter(|attempt| attempt.outcome == Some(AttemptOutcome::Lost))
            .count();
    }
    assert!(lost > 0, "the first node died in the middle");
    engine.drain().await;
}

/// The whole story of an effect, read back from a file after each step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_on_sqlite_is_asked_about_and_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let world = World::over(surefoot_store::open(&url).await.unwrap());
    let provider = Provider::doing(&[Act::Answer, Act::AppliedReset]);
    let called = provider.clone();
    let run = move |task: Task, cx: Cx| {
        let provider = called.clone();
        async move {
            let one = refund(&cx, "psp.refund", task.n, provider.clone(), How::Once).await?;
            let two = refund(&cx, "psp.fee", 1, provider, How::Verify).await?;
            Ok(one + two)
        }
    };
    let engine = world.node().handle(run, JobPolicy::default());
    let engine = engine.start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap();
    assert_eq!(engine.result(job).await.unwrap(), 14);
    assert_eq!((provider.calls.len(), provider.asks.len()), (2, 1));
    let effects = engine.client().effects(job.id).await.unwrap();
    let states: Vec<_> = effects.iter().map(|effect| effect.state.as_str()).collect();
    assert_eq!(states, ["confirmed", "confirmed"]);
    engine.drain().await;
}

//! From enqueue to result, and what is refused on the way.

use std::sync::Arc;

use surefoot::core::id::Kind;
use surefoot::core::job::{DeadReason, StateName};
use surefoot::core::payload::Payload;
use surefoot::core::port::Enqueued;
use surefoot::{Cx, EngineOptions, Error, Handler, Intent, JobPolicy, StartError, Unfinished};

use crate::world::{Task, World, notes, options, s};

#[tokio::test(start_paused = true)]
async fn a_job_runs_and_its_result_is_read() {
    let world = World::new();
    let double = |task: Task, cx: Cx| async move {
        assert_eq!((cx.attempt(), cx.kind().as_str()), (1, "task"));
        assert_eq!(cx.provider_key().as_str(), cx.job().to_string());
        Ok(task.n * 2)
    };
    let engine = world.runs(double).await;
    let job = engine.enqueue(Task::n(21)).await.unwrap();
    assert!(job.created);
    assert_eq!(engine.result(job).await.unwrap(), 42);
    assert_eq!(
        world.told.lines(),
        [
            "enqueued task",
            "claimed task",
            "ended task succeeded succeeded"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_new_job_is_picked_up_at_once_and_not_by_the_poll() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let _engine = world.runs(run).await;
    let other = world.client(surefoot::Policies::new()).await;
    tokio::time::sleep(s(10)).await;
    let job = other.enqueue_job(&Task::n(1)).await.unwrap();
    tokio::time::sleep(crate::world::ms(1)).await;
    assert_eq!(
        world.state(job.id).await,
        StateName::Succeeded,
        "announced by another process"
    );
}

#[tokio::test(start_paused = true)]
async fn one_key_is_one_job_and_another_payload_is_a_conflict() {
    let world = World::new();
    let ran = notes();
    let seen = Arc::clone(&ran);
    let run = move |task: Task, _: Cx| {
        seen.add(task.n);
        async move { Ok(task.n) }
    };
    let engine = world.runs(run).await;
    let keyed = |n| Task {
        key: Some("k".to_owned()),
        ..Task::n(n)
    };
    let first = engine.enqueue(keyed(1)).await.unwrap();
    assert_eq!(engine.result(first).await.unwrap(), 1);
    let again = engine.enqueue(keyed(1)).await.unwrap();
    assert_eq!((again.id, again.created), (first.id, false));
    match engine.enqueue(keyed(2)).await {
        Err(Error::Conflict(job)) => assert_eq!(job, first.id),
        other => panic!("{other:?}"),
    }
    tokio::time::sleep(s(5)).await;
    assert_eq!(ran.all(), [1]);
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_nobody_runs_waits() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    let intent = Intent::new(Kind::new("strange").unwrap(), Payload::null());
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    tokio::time::sleep(s(3600)).await;
    assert_eq!(world.state(job).await, StateName::Pending);
    assert_eq!(world.outcomes(job).await, []);
}

#[tokio::test(start_paused = true)]
async fn higher_priorities_run_earlier() {
    let world = World::new();
    let client = world.client(surefoot::Policies::new()).await;
    for (n, priority) in [(1, 0), (2, -5), (3, 100), (4, 0)] {
        client
            .enqueue_job(&Task {
                priority,
                ..Task::n(n)
            })
            .await
            .unwrap();
    }
    let order = notes();
    let seen = Arc::clone(&order);
    let run = move |task: Task, _: Cx| {
        seen.add(task.n);
        async move { Ok(task.n) }
    };
    let one = EngineOptions {
        concurrency: 1,
        ..options()
    };
    let _engine = world.runs_with(one, run).await;
    tokio::time::sleep(s(5)).await;
    assert_eq!(order.all(), [3, 1, 4, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_payload_that_cannot_be_read_is_a_dead_letter_with_its_attempt_on_record() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let engine = world.runs(run).await;
    let intent = Intent::new(Task::kind(), Payload::parse(r#"{"n":"many"}"#).unwrap());
    let job = engine.enqueue_intent(intent).await.unwrap().job();
    world.settled(job).await;
    let death = world.death(job).await;
    assert_eq!(death.reason, DeadReason::Permanent);
    assert!(
        death
            .error
            .as_str()
            .starts_with("the payload cannot be read: "),
        "{}",
        death.error
    );
    assert!(
        death
            .error
            .as_str()
            .contains("invalid type: string \"many\", expected u32"),
        "{}",
        death.error
    );
    assert_eq!(world.outcomes(job).await.len(), 1);
    match engine.result_of::<u32>(job).await {
        Err(Error::Unfinished {
            why: Unfinished::Dead(told),
            ..
        }) => assert_eq!(told, death),
        other => panic!("{other:?}"),
    }
}

struct Raw(String);

#[async_trait::async_trait]
impl Handler for Raw {
    async fn run(&self, _: Cx, payload: Payload) -> Result<Payload, surefoot::Failure> {
        Ok(Payload::parse(format!(
            "[{},{}]",
            payload.as_str(),
            self.0
        ))?)
    }
}

#[tokio::test(start_paused = true)]
async fn a_raw_handler_gets_the_payload_byte_for_byte() {
    let world = World::new();
    let kind = Kind::new("raw").unwrap();
    let handler = Arc::new(Raw("1.0".to_owned()));
    let engine = world
        .node()
        .handler(kind.clone(), JobPolicy::default(), handler)
        .start()
        .await
        .unwrap();
    let payload = Payload::parse("9007199254740993").unwrap();
    let job = engine
        .enqueue_intent(Intent::new(kind, payload))
        .await
        .unwrap()
        .job();
    let result: Box<serde_json::value::RawValue> = engine.result_of(job).await.unwrap();
    assert_eq!(result.get(), "[9007199254740993,1.0]");
}

#[tokio::test(start_paused = true)]
async fn many_are_handed_in_at_once_and_one_conflict_spoils_nothing() {
    let world = World::new();
    let client = world.client(surefoot::Policies::new()).await;
    let intent = |n: u32, key: &str| {
        Intent::of(&Task {
            key: Some(key.to_owned()),
            ..Task::n(n)
        })
        .unwrap()
    };
    let answers = client
        .enqueue_many(vec![intent(1, "a"), intent(2, "a"), intent(3, "b")])
        .await
        .unwrap();
    let [
        Enqueued::Created(first),
        Enqueued::Conflict(second),
        Enqueued::Created(_),
    ] = answers[..]
    else {
        panic!("{answers:?}");
    };
    assert_eq!(first, second);
    assert_eq!(client.enqueue_many(Vec::new()).await.unwrap(), []);
    let refused = client
        .enqueue(Intent {
            priority: 101,
            ..intent(4, "c")
        })
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "priority 101 is out of range, give -100 to 100"
    );
    let refused = client
        .enqueue_many(vec![intent(5, "d"); 1001])
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "1001 items are too many for one call, give at most 1000"
    );
}

#[tokio::test(start_paused = true)]
async fn an_unsound_engine_does_not_start_and_names_every_fault() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    let fault = world
        .node()
        .options(EngineOptions {
            concurrency: 0,
            ..options()
        })
        .handle(run, JobPolicy::default())
        .handle(
            run,
            JobPolicy {
                attempts_max: 0,
                ..JobPolicy::default()
            },
        )
        .start()
        .await;
    let Err(StartError::Unsound(faults)) = fault.map(|_| ()) else {
        panic!("it started")
    };
    assert_eq!(faults.len(), 3, "{faults:?}");
}

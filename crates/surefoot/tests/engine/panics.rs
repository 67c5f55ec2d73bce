//! A handler that panics, in whichever stage, costs its own attempt and nothing else.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::job::{AttemptOutcome, DeadReason};
use surefoot::core::payload::PAYLOAD_BYTES_MAX;
use surefoot::{Cx, Engine, Job, JobPolicy, JobRef, Outcome, Recovery};

use crate::world::{Task, World, ms, s};

/// Where it panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    Decode,
    Call,
    Run,
    Drop,
    Encode,
}

#[derive(Clone, Copy)]
struct Bomb(Stage);

impl Serialize for Bomb {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.0 as u8)
    }
}

impl<'de> Deserialize<'de> for Bomb {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stages = [
            Stage::Decode,
            Stage::Call,
            Stage::Run,
            Stage::Drop,
            Stage::Encode,
        ];
        let stage = stages[u8::deserialize(deserializer)? as usize];
        assert!(stage != Stage::Decode, "boom in decode");
        Ok(Self(stage))
    }
}

impl Job for Bomb {
    const KIND: &'static str = "bomb";
    type Output = Shell;
}

struct Shell(Stage);

impl Serialize for Shell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        assert!(self.0 != Stage::Encode, "boom in encode");
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Shell {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Ok(Self(Stage::Run))
    }
}

struct DropsBadly;

impl Drop for DropsBadly {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("boom in drop");
        }
    }
}

fn explode(bomb: Bomb, _: Cx) -> impl Future<Output = Outcome<Shell>> + Send + 'static {
    assert!(bomb.0 != Stage::Call, "boom in call");
    async move {
        match bomb.0 {
            Stage::Run => panic!("boom in run"),
            Stage::Drop => {
                let _held = DropsBadly;
                std::future::pending::<()>().await;
            }
            Stage::Decode | Stage::Call | Stage::Encode => {}
        }
        Ok(Shell(bomb.0))
    }
}

fn twice() -> JobPolicy {
    let backoff = Backoff::List {
        delays: vec![ms(10)],
        jitter: Jitter::None,
    };
    JobPolicy {
        attempts_max: 2,
        timeout: s(1),
        lease: s(9),
        backoff,
        ..JobPolicy::default()
    }
}

async fn node(world: &World, recovery: Option<Recovery>) -> Engine {
    let run = |task: Task, _: Cx| async move { Ok(task.n) };
    world
        .node()
        .handle(
            explode,
            JobPolicy {
                recovery,
                ..twice()
            },
        )
        .handle(run, JobPolicy::default())
        .start()
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_any_stage_is_a_failed_attempt() {
    let world = World::new();
    let engine = node(&world, None).await;
    for (stage, outcome, text) in [
        (
            Stage::Decode,
            AttemptOutcome::Transient,
            "panicked: boom in decode",
        ),
        (
            Stage::Call,
            AttemptOutcome::Transient,
            "panicked: boom in call",
        ),
        (
            Stage::Run,
            AttemptOutcome::Transient,
            "panicked: boom in run",
        ),
        (Stage::Drop, AttemptOutcome::TimedOut, "job time-out fired"),
        (
            Stage::Encode,
            AttemptOutcome::Transient,
            "panicked: boom in encode",
        ),
    ] {
        let job = engine.enqueue(Bomb(stage)).await.unwrap();
        world.settled(job.id).await;
        let death = world.death(job.id).await;
        assert_eq!(
            (death.reason, death.error.as_str()),
            (DeadReason::Exhausted, text),
            "{stage:?}"
        );
        assert_eq!(
            world.outcomes(job.id).await,
            [Some(outcome), Some(outcome)],
            "{stage:?}"
        );
    }
    let after = engine.enqueue(Task::n(5)).await.unwrap();
    assert_eq!(engine.result(after).await.unwrap(), 5, "the node works on");
    assert_eq!(engine.health().running, 0);
}

#[tokio::test(start_paused = true)]
async fn a_panic_under_at_most_once_is_an_unknown_outcome() {
    let world = World::new();
    let engine = node(&world, Some(Recovery::AtMostOnce)).await;
    let job = engine.enqueue(Bomb(Stage::Run)).await.unwrap();
    world.settled(job.id).await;
    assert_eq!(world.death(job.id).await.reason, DeadReason::OutcomeUnknown);
    assert_eq!(world.outcomes(job.id).await.len(), 1);
}

#[derive(Serialize, Deserialize)]
struct Wordy;

impl Job for Wordy {
    const KIND: &'static str = "wordy";
    type Output = String;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_too_large_is_a_dead_letter_that_says_so() {
    let world = World::new();
    let run = |_: Wordy, _: Cx| async { Ok("x".repeat(PAYLOAD_BYTES_MAX)) };
    let engine = world
        .node()
        .handle(run, JobPolicy::default())
        .start()
        .await
        .unwrap();
    let job: JobRef<Wordy> = engine.enqueue(Wordy).await.unwrap();
    world.settled(job.id).await;
    let death = world.death(job.id).await;
    assert_eq!(death.reason, DeadReason::Permanent);
    assert_eq!(
        death.error.as_str(),
        "the handler ended, but its result cannot be kept: payload has 1048578 bytes, at most 1048576 are accepted"
    );
}

//! Waiting for a job to change.

use surefoot::core::id::JobId;
use surefoot::core::job::StateName;
use surefoot::core::time::Timestamp;
use surefoot::{Changed, Cx, Error, Policies, Seen, Unfinished};
use tokio::time::Instant;

use crate::world::{Task, World, by, ms, s};

#[tokio::test(start_paused = true)]
async fn each_change_is_seen_here_and_elsewhere() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(10)).await;
        Ok(task.n)
    };
    let engine = world.runs(run).await;
    let elsewhere = world.client(Policies::new()).await;
    for (client, within) in [(engine.client(), ms(1)), (&elsewhere, s(3))] {
        let job = engine.enqueue(Task::n(1)).await.unwrap().id;
        let mut seen: Option<Seen> = None;
        let mut states = Vec::new();
        while states.last() != Some(&StateName::Succeeded) {
            match client.changed(job, seen.as_ref(), s(60)).await.unwrap() {
                Changed::To(record) => {
                    states.push(record.job.state.name());
                    seen = Some(Seen::from(&*record));
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(states.last(), Some(&StateName::Succeeded));
        assert!(states.contains(&StateName::Running), "{states:?}");
        let ended_at = world.job(job).await.attempts[0].ended_at.unwrap();
        let late = engine.client().now().since(ended_at);
        assert!(late <= within, "{late:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_a_change_ends_and_asks_seldom() {
    let world = World::new();
    let client = world.client(Policies::new()).await;
    let job = client.enqueue_job(&Task::n(1)).await.unwrap().id;
    let seen = Seen::from(&world.job(job).await);
    let began = Instant::now();
    assert_eq!(
        client.changed(job, Some(&seen), s(30)).await.unwrap(),
        Changed::Same
    );
    assert_eq!(began.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_job_without_a_result_says_why() {
    let world = World::new();
    let client = world.client(Policies::new()).await;
    let job = client.enqueue_job(&Task::n(1)).await.unwrap();
    client.cancel(job.id, &by()).await.unwrap();
    let error = client.result(job).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Unfinished {
                why: Unfinished::Cancelled(_),
                ..
            }
        ),
        "{error:?}"
    );
    let nobody = JobId::new(Timestamp::MIN, [0; 10]);
    let error = client.result_of::<u32>(nobody).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Unfinished {
                why: Unfinished::NotFound,
                ..
            }
        ),
        "{error:?}"
    );
}

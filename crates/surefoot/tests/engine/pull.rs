//! Pull workers: claim, extend, report.

use surefoot::core::id::{Epoch, JobId, Worker};
use surefoot::core::job::{AttemptOutcome, DeadReason, StateName};
use surefoot::core::payload::Payload;
use surefoot::core::port::Queues;
use surefoot::core::settle::Report;
use surefoot::core::time::Timestamp;
use surefoot::{
    Client, Cx, Error, Failure, JobPolicy, LeaseExtended, Policies, Recovery, Reported,
};

use crate::world::{Task, World, by, s};

async fn client(world: &World, policy: JobPolicy) -> Client {
    let mut policies = Policies::new();
    policies.insert(Task::kind(), policy);
    world.client(policies).await
}

async fn leased(client: &Client) -> (JobId, Epoch) {
    client.enqueue_job(&Task::n(1)).await.unwrap();
    let worker = Worker::new("python-1").unwrap();
    let leases = client
        .lease(&worker, &[Task::kind()], Queues::All, 10)
        .await
        .unwrap();
    assert_eq!(leases.len(), 1);
    (leases[0].id, leases[0].state.epoch)
}

#[tokio::test(start_paused = true)]
async fn a_report_is_applied_once_and_may_be_repeated() {
    let world = World::new();
    let client = client(&world, JobPolicy::default()).await;
    let (job, epoch) = leased(&client).await;
    let report = || Report::Succeeded(Payload::parse("7").unwrap());
    let state = StateName::Succeeded;
    assert_eq!(
        client.report(job, epoch, report()).await.unwrap(),
        Reported::Applied { state }
    );
    assert_eq!(
        client.report(job, epoch, report()).await.unwrap(),
        Reported::Already { state }
    );
    let other = Report::Failed(Failure::permanent("no"));
    assert_eq!(
        client.report(job, epoch, other).await.unwrap(),
        Reported::Stale
    );
    assert_eq!(
        client.report(job, epoch.next(), report()).await.unwrap(),
        Reported::Stale
    );
    let nobody = JobId::new(Timestamp::MIN, [0; 10]);
    assert_eq!(
        client.report(nobody, epoch, report()).await.unwrap(),
        Reported::NotFound
    );
    assert_eq!(client.result_of::<u32>(job).await.unwrap(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_report_goes_by_the_kinds_policy() {
    let world = World::new();
    let policy = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let client = client(&world, policy).await;
    let (job, epoch) = leased(&client).await;
    client
        .report(job, epoch, Report::Failed(Failure::transient("reset")))
        .await
        .unwrap();
    assert_eq!(world.state(job).await, StateName::Retrying);
    tokio::time::sleep(s(20)).await;
    let worker = Worker::new("python-2").unwrap();
    let again = client
        .lease(&worker, &[Task::kind()], Queues::All, 10)
        .await
        .unwrap();
    assert_eq!((again[0].id, again[0].counts.starts), (job, 2));
    let unknown = Report::Failed(Failure::unknown("no answer"));
    client
        .report(job, again[0].state.epoch, unknown)
        .await
        .unwrap();
    assert_eq!(world.death(job).await.reason, DeadReason::OutcomeUnknown);
}

#[tokio::test(start_paused = true)]
async fn a_pull_worker_cannot_hold_a_job_for_ever() {
    let world = World::new();
    let client = client(&world, JobPolicy::default()).await;
    let (job, epoch) = leased(&client).await;
    let started = client.now();
    tokio::time::sleep(s(25)).await;
    let held = client.extend(job, epoch).await.unwrap();
    assert_eq!(
        held,
        LeaseExtended::Held {
            until: started.after(s(65)),
            cancel_requested: false
        }
    );
    client.cancel(job, &by()).await.unwrap();
    tokio::time::sleep(s(20)).await;
    let held = client.extend(job, epoch).await.unwrap();
    assert_eq!(
        held,
        LeaseExtended::Held {
            until: started.after(s(70)),
            cancel_requested: true
        }
    );
    assert_eq!(
        client.extend(job, epoch.next()).await.unwrap(),
        LeaseExtended::Lost
    );
    tokio::time::sleep(s(25)).await;
    assert_eq!(
        client.extend(job, epoch).await.unwrap(),
        LeaseExtended::Lost,
        "30 s to run and 40 s to report"
    );
}

#[tokio::test(start_paused = true)]
async fn a_pull_workers_lost_job_is_found_by_any_node() {
    let world = World::new();
    let client = client(&world, JobPolicy::default()).await;
    let _node = world.node().start().await.unwrap();
    let (job, epoch) = leased(&client).await;
    tokio::time::sleep(s(50)).await;
    assert_eq!(world.state(job).await, StateName::Retrying);
    let late = Report::Succeeded(Payload::null());
    assert_eq!(
        client.report(job, epoch, late).await.unwrap(),
        Reported::Stale
    );
}

/// A `fail transient` from outside would begin a second call while the first is under way.
#[tokio::test(start_paused = true)]
async fn nobody_reports_or_extends_what_a_node_runs() {
    let world = World::new();
    let run = |task: Task, _: Cx| async move {
        tokio::time::sleep(s(5)).await;
        Ok(task.n)
    };
    let once = JobPolicy {
        recovery: Some(Recovery::AtMostOnce),
        ..JobPolicy::default()
    };
    let engine = world.node().handle(run, once).start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap();
    tokio::time::sleep(s(2)).await;
    let record = world.job(job.id).await;
    let (epoch, holder) = (
        record.attempts[0].epoch,
        record.attempts[0].worker.to_string(),
    );
    assert!(holder.starts_with("node:"), "{holder}");
    assert_eq!(holder, engine.worker().to_string());

    let client = world.client(Policies::new()).await;
    for report in [
        Report::Failed(Failure::transient("try again")),
        Report::Failed(Failure::unknown("who knows")),
        Report::Succeeded(Payload::null()),
    ] {
        assert_eq!(
            client.report(job.id, epoch, report).await.unwrap(),
            Reported::HeldByNode
        );
    }
    assert_eq!(
        client.extend(job.id, epoch).await.unwrap(),
        LeaseExtended::HeldByNode
    );
    assert_eq!(engine.result(job).await.unwrap(), 7);
    assert_eq!(
        world.outcomes(job.id).await,
        [Some(AttemptOutcome::Succeeded)]
    );
}

#[tokio::test(start_paused = true)]
async fn no_pull_worker_is_called_what_a_node_is_called() {
    let world = World::new();
    let client = client(&world, JobPolicy::default()).await;
    client.enqueue_job(&Task::n(1)).await.unwrap();
    let worker = Worker::new("node:1").unwrap();
    let refused = client
        .lease(&worker, &[Task::kind()], Queues::All, 1)
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::ReservedWorker(_)), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_report_under_another_epoch_does_not_end_the_present_attempt() {
    let world = World::new();
    let client = client(&world, JobPolicy::default()).await;
    let _node = world.node().start().await.unwrap();
    let (job, lost) = leased(&client).await;
    tokio::time::sleep(s(70)).await;
    let worker = Worker::new("python-2").unwrap();
    let again = client
        .lease(&worker, &[Task::kind()], Queues::All, 10)
        .await
        .unwrap();
    assert_eq!(again[0].id, job);
    let present = again[0].state.epoch;
    for epoch in [lost, present.next()] {
        let report = Report::Succeeded(Payload::null());
        assert_eq!(
            client.report(job, epoch, report).await.unwrap(),
            Reported::Stale
        );
        assert_eq!(
            client.extend(job, epoch).await.unwrap(),
            LeaseExtended::Lost
        );
        assert_eq!(world.state(job).await, StateName::Running);
    }
    let report = Report::Succeeded(Payload::null());
    let state = StateName::Succeeded;
    assert_eq!(
        client.report(job, present, report).await.unwrap(),
        Reported::Applied { state }
    );
}

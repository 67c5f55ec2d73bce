//! What the cases share: jobs, claims and settlements in their plainest form, and verbs that must not err.

pub(super) mod effect;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use surefoot_core::failure::Failure;
use surefoot_core::id::{Actor, JobId, Key, Kind, OrderKey, Queue, Tenant, Worker};
use surefoot_core::job::{DeadReason, JobState, LeasedJob, PRIORITY_STANDARD, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{
    Advanced, By, Cancelled, Claim, Enqueued, Extended, Extension, JobRecord, KindTerms, NewJob,
    Queues, Replay, ReplayEffect, Settled, Steered, Store,
};
use surefoot_core::settle::{Next, Report, Settlement, settle};
use surefoot_core::text::ErrorText;
use surefoot_core::time::{Roll, Timestamp};
use tokio::sync::Barrier;

/// When every case begins: 2026-03-01T12:00:00Z.
pub(super) const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// How long the leases of [`terms`] hold.
pub(super) const LEASE: Duration = Duration::from_secs(40);

/// `seconds` after [`START`].
pub(super) fn at(seconds: u64) -> Timestamp {
    START.after(Duration::from_secs(seconds))
}

pub(super) fn kind(name: &str) -> Kind {
    Kind::new(name).expect("a kind")
}

pub(super) fn queue(name: &str) -> Queue {
    Queue::new(name).expect("a queue")
}

pub(super) fn key(name: &str) -> Key {
    Key::new(name).expect("a key")
}

pub(super) fn order_key(name: &str) -> OrderKey {
    OrderKey::new(name).expect("an order key")
}

pub(super) fn payload(json: &str) -> Payload {
    Payload::parse(json).expect("a payload")
}

pub(super) fn by(reason: &str) -> By {
    By {
        actor: Actor::new("ada").expect("an actor"),
        reason: ErrorText::from(reason),
    }
}

/// A job id that is higher than every one given before in this process.
pub(super) fn fresh_id() -> JobId {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    JobId::new(START, random)
}

/// A job of this kind with nothing else asked for.
pub(super) fn job(kind_name: &str) -> NewJob {
    NewJob {
        id: fresh_id(),
        tenant: Tenant::single(),
        kind: kind(kind_name),
        key: None,
        queue: Queue::standard(),
        priority: PRIORITY_STANDARD,
        order_key: None,
        concurrency_key: None,
        payload: payload(r#"{"n":1}"#),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

/// A job of this kind and key.
pub(super) fn keyed(kind_name: &str, key_name: &str) -> NewJob {
    NewJob {
        key: Some(key(key_name)),
        ..job(kind_name)
    }
}

pub(super) fn terms(kind_name: &str) -> KindTerms {
    KindTerms {
        kind: kind(kind_name),
        lease: LEASE,
        recovery: None,
        concurrency_max: None,
        concurrency_per_key_max: None,
    }
}

/// A claim of worker `w` on every queue.
pub(super) fn claim(kinds: &[&str], max: u32) -> Claim {
    Claim {
        worker: Worker::new("w").expect("a worker"),
        kinds: kinds.iter().map(|name| terms(name)).collect(),
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max,
    }
}

/// Enqueues jobs that must all be created, and gives their ids.
pub(super) async fn created(store: &dyn Store, jobs: &[NewJob], now: Timestamp) -> Vec<JobId> {
    let answers = store.enqueue(jobs, now).await.expect("enqueue");
    let expected: Vec<_> = jobs.iter().map(|job| Enqueued::Created(job.id)).collect();
    assert_eq!(
        answers, expected,
        "no-lost-intent: each new job is written down and answered in order"
    );
    jobs.iter().map(|job| job.id).collect()
}

pub(super) async fn advance(
    store: &dyn Store,
    settlements: &[Settlement],
    claim: Option<&Claim>,
    now: Timestamp,
) -> Advanced {
    let advanced = store
        .advance(settlements, claim, now)
        .await
        .expect("advance");
    assert_eq!(
        advanced.settled.len(),
        settlements.len(),
        "each settlement has its answer"
    );
    advanced
}

/// What a claim takes.
pub(super) async fn take(store: &dyn Store, claim: &Claim, now: Timestamp) -> Vec<LeasedJob> {
    advance(store, &[], Some(claim), now).await.leased
}

/// The only job that a claim takes.
pub(super) async fn take_one(store: &dyn Store, kind_name: &str, now: Timestamp) -> LeasedJob {
    let mut leased = take(store, &claim(&[kind_name], 1), now).await;
    assert_eq!(
        leased.len(),
        1,
        "one {kind_name} job is there to be claimed"
    );
    leased.remove(0)
}

/// Enqueues one job of this kind and claims it.
pub(super) async fn running(store: &dyn Store, kind_name: &str, now: Timestamp) -> LeasedJob {
    created(store, &[job(kind_name)], now).await;
    take_one(store, kind_name, now).await
}

/// What core decides on a report, under the default policy.
pub(super) fn decided(leased: &LeasedJob, report: Report, now: Timestamp) -> Settlement {
    settle(leased, &[], report, &JobPolicy::default(), now, Roll(0))
}

pub(super) fn success(leased: &LeasedJob, now: Timestamp) -> Settlement {
    decided(leased, Report::Succeeded(payload(r#"{"ok":true}"#)), now)
}

pub(super) fn transient(leased: &LeasedJob, now: Timestamp) -> Settlement {
    decided(leased, Report::Failed(Failure::transient("try again")), now)
}

pub(super) fn permanent(leased: &LeasedJob, error: &str, now: Timestamp) -> Settlement {
    decided(leased, Report::Failed(Failure::permanent(error)), now)
}

pub(super) fn released(leased: &LeasedJob, now: Timestamp) -> Settlement {
    decided(leased, Report::Released(ErrorText::from("drain")), now)
}

pub(super) fn lost(leased: &LeasedJob, now: Timestamp) -> Settlement {
    decided(leased, Report::Lost, now)
}

pub(super) async fn settled(store: &dyn Store, settlement: &Settlement, now: Timestamp) -> Settled {
    advance(store, std::slice::from_ref(settlement), None, now)
        .await
        .settled[0]
}

/// Applies a settlement that must hold.
pub(super) async fn applied(store: &dyn Store, settlement: &Settlement, now: Timestamp) {
    assert_eq!(
        settled(store, settlement, now).await,
        Settled::Applied,
        "a settlement of the lease's holder applies"
    );
}

pub(super) async fn extended(
    store: &dyn Store,
    leased: &LeasedJob,
    until: Timestamp,
    now: Timestamp,
) -> Extended {
    let extension = Extension {
        job: leased.id,
        epoch: leased.state.epoch,
        until,
    };
    let answers = store.extend(&[extension], now).await.expect("extend");
    assert_eq!(answers.len(), 1, "each extension has its answer");
    answers[0]
}

pub(super) async fn record(store: &dyn Store, job: JobId) -> JobRecord {
    store
        .job(job)
        .await
        .expect("job")
        .expect("no-lost-intent: a job that was acknowledged is there")
}

pub(super) async fn state(store: &dyn Store, job: JobId) -> JobState {
    record(store, job).await.job.state
}

pub(super) async fn state_name(store: &dyn Store, job: JobId) -> StateName {
    state(store, job).await.name()
}

/// A settlement after which the provider is asked at `due_at`.
pub(super) fn verifying(leased: &LeasedJob, due_at: Timestamp, now: Timestamp) -> Settlement {
    let mut settlement = decided(leased, Report::StillUnknown("no answer yet".into()), now);
    settlement.next = Next::Verifying {
        due_at,
        error: "no answer yet".into(),
    };
    settlement
}

/// Enqueues a job, runs it and leaves it verifying, due at ten seconds after [`START`].
pub(super) async fn asking(store: &dyn Store, new: NewJob) -> LeasedJob {
    created(store, std::slice::from_ref(&new), START).await;
    let leased = take_one(store, new.kind.as_str(), START).await;
    assert_eq!(leased.id, new.id);
    applied(store, &verifying(&leased, at(10), START), START).await;
    leased
}

/// Enqueues a job and brings it into this state, at [`START`]; no other job of its kind may be waiting.
pub(super) async fn in_state(store: &dyn Store, new: NewJob, wanted: StateName) -> JobId {
    created(store, std::slice::from_ref(&new), START).await;
    let kind_name = new.kind.as_str();
    match wanted {
        StateName::Pending => {}
        StateName::Running => drop(take_one(store, kind_name, START).await),
        StateName::Retrying => {
            let leased = take_one(store, kind_name, START).await;
            applied(store, &transient(&leased, START), START).await;
        }
        StateName::Verifying => {
            let leased = take_one(store, kind_name, START).await;
            applied(store, &verifying(&leased, at(10), START), START).await;
        }
        StateName::Succeeded => {
            let leased = take_one(store, kind_name, START).await;
            applied(store, &success(&leased, START), START).await;
        }
        StateName::Dead | StateName::Ignored => {
            let leased = take_one(store, kind_name, START).await;
            applied(store, &permanent(&leased, "no such account", START), START).await;
        }
        StateName::Cancelled => {
            let answer = store
                .cancel(new.id, &by("not needed"), START)
                .await
                .expect("cancel");
            assert_eq!(answer, Cancelled::Done);
        }
    }
    if wanted == StateName::Ignored {
        let answer = store
            .ignore(new.id, &by("a test order"), START)
            .await
            .expect("ignore");
        assert_eq!(answer, Steered::Done);
    }
    assert_eq!(state_name(store, new.id).await, wanted);
    new.id
}

/// A dead letter of this kind that died for this reason, at [`START`].
pub(super) async fn dead(store: &dyn Store, kind_name: &str, reason: DeadReason) -> JobId {
    let leased = running(store, kind_name, START).await;
    let mut settlement = permanent(&leased, "no such account", START);
    if let Next::Dead(death) = &mut settlement.next {
        death.reason = reason;
    }
    applied(store, &settlement, START).await;
    leased.id
}

/// Replays a job five seconds after [`START`].
pub(super) async fn replayed(
    store: &dyn Store,
    job: JobId,
    effect: Option<ReplayEffect>,
) -> Steered {
    let replay = Replay {
        effect,
        by: by("account made"),
    };
    store.replay(job, &replay, at(5)).await.expect("replay")
}

/// Ids, in the order of what was leased.
pub(super) fn ids(leased: &[LeasedJob]) -> Vec<JobId> {
    leased.iter().map(|job| job.id).collect()
}

/// Runs `task` on as many tasks as there are numbers, all let go at once, and gives what each answered, in the
/// order of the numbers.
pub(super) async fn at_once<T, F>(tasks: usize, task: impl Fn(usize) -> F) -> Vec<T>
where
    T: Send + 'static,
    F: Future<Output = T> + Send + 'static,
{
    let gate = Arc::new(Barrier::new(tasks));
    let started: Vec<_> = (0..tasks)
        .map(|number| {
            let (gate, future) = (gate.clone(), task(number));
            tokio::spawn(async move {
                gate.wait().await;
                future.await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for handle in started {
        match handle.await {
            Ok(answer) => answers.push(answer),
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }
    answers
}

/// The jobs that expire, as the store answers them.
pub(super) async fn expire(store: &dyn Store, now: Timestamp, limit: u32) -> Vec<JobId> {
    let expired = store.expire(now, limit).await.expect("expire");
    expired.into_iter().map(|expired| expired.job).collect()
}

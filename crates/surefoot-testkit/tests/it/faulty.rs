//! FaultyStore: a fault after the commit leaves no double and no loss when the call is repeated, as the port says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::effect::{
    Answer, Begin, Declared, Effect, EffectRecovery, EffectTerms, answered, begin,
};
use surefoot_core::error::StoreError;
use surefoot_core::id::{EffectName, JobId, Key, Kind, Queue, Tenant, Worker};
use surefoot_core::job::{LeasedJob, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{
    Claim, EffectWrite, EffectWritten, Enqueued, Extended, Extension, JobFilter, KindTerms, NewJob,
    Queues, Settled, Store,
};
use surefoot_core::settle::{Report, settle};
use surefoot_core::time::{Roll, Timestamp};
use surefoot_testkit::{
    Fault, FaultCounts, FaultRates, FaultyStore, ManualClock, MemoryStore, Verb,
};

const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

fn faulty(seed: u64) -> (FaultyStore, MemoryStore) {
    let memory = MemoryStore::new(Arc::new(ManualClock::new(START)));
    (FaultyStore::over(Arc::new(memory.clone()), seed), memory)
}

fn job(number: u64) -> NewJob {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    NewJob {
        id: JobId::new(START, random),
        tenant: Tenant::single(),
        kind: Kind::new("mail").unwrap(),
        key: Some(Key::new(format!("k-{number}")).unwrap()),
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

fn claim(max: u32) -> Claim {
    Claim {
        worker: Worker::new("w").unwrap(),
        kinds: vec![KindTerms {
            kind: Kind::new("mail").unwrap(),
            lease: Duration::from_secs(40),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }],
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max,
    }
}

#[tokio::test]
async fn a_fault_before_takes_no_effect_and_one_after_does() {
    let (faulty, memory) = faulty(1);
    faulty.next(Verb::Enqueue, Fault::Before);
    faulty.next(Verb::Enqueue, Fault::After);
    let refused = faulty.enqueue(&[job(1)], START).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable(_)) && refused.is_transient());
    assert_eq!(memory.job(job(1).id).await.unwrap(), None);
    let lost = faulty.enqueue(&[job(1)], START).await.unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable(_)));
    assert!(memory.job(job(1).id).await.unwrap().is_some());
    let again = faulty.enqueue(&[job(1)], START).await.unwrap();
    assert_eq!(again, [Enqueued::Created(job(1).id)]);
    let counts = FaultCounts {
        calls: 3,
        before: 1,
        after: 1,
        delayed: 0,
    };
    assert_eq!(faulty.counts(Verb::Enqueue), counts);
    assert_eq!(faulty.counts(Verb::Advance), FaultCounts::default());
}

#[tokio::test(start_paused = true)]
async fn a_delayed_verb_takes_effect_later_and_a_late_one_answers_later() {
    let (faulty, memory) = faulty(1);
    let wait = Duration::from_secs(60);
    for (fault, written_meanwhile) in [(Fault::Delay(wait), false), (Fault::Late(wait), true)] {
        let number = u64::from(written_meanwhile);
        faulty.next(Verb::Enqueue, fault);
        let call = tokio::spawn({
            let faulty = faulty.clone();
            async move { faulty.enqueue(&[job(number)], START).await }
        });
        tokio::time::sleep(wait / 2).await;
        assert_eq!(
            memory.job(job(number).id).await.unwrap().is_some(),
            written_meanwhile
        );
        assert!(!call.is_finished());
        tokio::time::sleep(wait).await;
        assert_eq!(
            call.await.unwrap().unwrap(),
            [Enqueued::Created(job(number).id)]
        );
    }
    assert_eq!(faulty.counts(Verb::Enqueue).delayed, 2);
}

#[tokio::test]
async fn hearts_and_announcements_fail_too() {
    let (faulty, _) = faulty(1);
    faulty.enqueue(&[job(1)], START).await.unwrap();
    let leased = faulty
        .advance(&[], Some(&claim(1)), START)
        .await
        .unwrap()
        .leased
        .remove(0);
    faulty.next(Verb::Heart, Fault::Before);
    assert!(faulty.heart().await.is_err());
    let mut heart = faulty.heart().await.unwrap();
    let until = START.after(Duration::from_secs(100));
    let beats = [Extension {
        job: leased.id,
        epoch: leased.state.epoch,
        until,
    }];
    faulty.next(Verb::Beat, Fault::After);
    assert!(heart.beat(&beats, START).await.is_err());
    let shorter = [Extension {
        until: START,
        ..beats[0]
    }];
    let beat = heart.beat(&shorter, START).await.unwrap();
    assert_eq!(
        beat.extended,
        [Extended::Held {
            until,
            cancel_requested: false
        }],
        "the lost beat took effect"
    );

    let mut listener = faulty.announcements().await.unwrap().unwrap();
    faulty.announce(&[Queue::standard()]).await.unwrap();
    assert_eq!(listener.next().await.unwrap(), Queue::standard());
    faulty.next(Verb::NextAnnouncement, Fault::Before);
    assert!(listener.next().await.is_err());
    faulty.next(Verb::Announcements, Fault::Before);
    assert!(faulty.announcements().await.is_err());
}

#[tokio::test]
async fn the_same_seed_gives_the_same_faults() {
    let mut runs = Vec::new();
    for seed in [3, 3, 4] {
        let (faulty, _) = faulty(seed);
        faulty.misbehave(FaultRates {
            before: 0.3,
            after: 0.3,
            ..FaultRates::default()
        });
        let mut run = Vec::new();
        for number in 0..50 {
            run.push(faulty.enqueue(&[job(number)], START).await.is_ok());
        }
        runs.push((run, faulty.counts(Verb::Enqueue)));
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
    let FaultCounts { before, after, .. } = runs[0].1;
    assert!(
        before > 5 && after > 5 && before + after < 45,
        "{before} {after}"
    );
}

/// Repeats a call until it answers, as an engine does; bounded, so that a store that never answers is a failure.
async fn repeated<T, F>(call: impl Fn() -> F) -> T
where
    F: Future<Output = Result<T, StoreError>>,
{
    for _ in 0..200 {
        match call().await {
            Ok(answer) => return answer,
            Err(StoreError::Unavailable(_)) => {}
            Err(other) => panic!("only injected faults happen here: {other}"),
        }
    }
    panic!("200 faults in a row")
}

#[tokio::test]
async fn repeated_calls_leave_no_double_and_no_loss() {
    const JOBS: u64 = 200;
    for seed in 0..30 {
        let (faulty, memory) = faulty(seed);
        faulty.misbehave(FaultRates {
            before: 0.2,
            after: 0.3,
            ..FaultRates::default()
        });
        for number in 0..JOBS {
            // Every second caller makes a new id for its repetition, as a client that lost its answer may.
            let first = job(number);
            let second = NewJob {
                id: job(JOBS + number).id,
                ..job(number)
            };
            let answer = repeated(|| faulty.enqueue(std::slice::from_ref(&first), START)).await[0];
            assert_eq!(answer, Enqueued::Created(first.id));
            let answer = repeated(|| faulty.enqueue(std::slice::from_ref(&second), START)).await[0];
            assert_eq!(
                answer,
                Enqueued::Existing(first.id),
                "no-double-effect: one key, one job"
            );
        }
        let mut now = START;
        let mut applied = 0;
        for _ in 0..100 {
            now = now.after(Duration::from_secs(50));
            let claim = claim(20);
            let leased = repeated(|| faulty.advance(&[], Some(&claim), now))
                .await
                .leased;
            let policy = JobPolicy::default();
            let end = |job| {
                settle(
                    job,
                    &[],
                    Report::Succeeded(Payload::null()),
                    &policy,
                    now,
                    Roll(0),
                )
            };
            let ends: Vec<_> = leased.iter().map(end).collect();
            let settled = repeated(|| faulty.advance(&ends, None, now)).await.settled;
            assert!(
                settled
                    .iter()
                    .all(|answer| matches!(answer, Settled::Applied | Settled::Already))
            );
            applied += settled.len() as u64;
            // A claim whose answer was lost leaves jobs running that nobody holds: they lapse.
            let lapsed = repeated(|| faulty.lapsed(now, 1000)).await;
            let ends: Vec<_> = lapsed
                .iter()
                .map(|job| {
                    settle(
                        job,
                        &[],
                        Report::Lost,
                        &JobPolicy {
                            crashes_max: 100,
                            ..policy.clone()
                        },
                        now,
                        Roll(0),
                    )
                })
                .collect();
            repeated(|| faulty.advance(&ends, None, now)).await;
        }
        assert_eq!(
            applied, JOBS,
            "one-outcome: each job was settled once (seed {seed})"
        );
        let all = memory.jobs(&JobFilter::default(), None, 500).await.unwrap();
        assert_eq!(all.len() as u64, JOBS, "no-double-effect (seed {seed})");
        for job in &all {
            assert_eq!(
                job.state.name(),
                StateName::Succeeded,
                "no-lost-intent (seed {seed})"
            );
            let record = memory.job(job.id).await.unwrap().unwrap();
            let starts = usize::try_from(job.counts.starts).unwrap();
            assert_eq!(
                record.attempts.len(),
                starts,
                "every-attempt-logged (seed {seed})"
            );
            assert!(
                record
                    .attempts
                    .iter()
                    .all(|attempt| attempt.outcome.is_some())
            );
        }
        assert!(
            all.iter().any(|job| job.counts.crashed > 0),
            "some claims were lost, or nothing was tested"
        );
    }
}

/// A holder that comes to its only effect: sends once and keeps the answer, or returns what is on record. Every send goes
/// to the ledger.
async fn handled(store: &FaultyStore, leased: &LeasedJob, ledger: &mut Vec<String>) -> Payload {
    let now = leased.state.started_at;
    let declared = Declared {
        place: 0,
        name: EffectName::new("psp.refund").unwrap(),
        dependency: None,
        terms: EffectTerms {
            recovery: EffectRecovery::AtMostOnce,
            timeout: Duration::from_secs(10),
        },
        cost: 0,
    };
    let known = known(store, leased.id).await;
    let leaves_by = now.after(Duration::from_secs(20));
    match begin(known.first(), &declared, leased, leaves_by, now) {
        Begin::Send(effect) => {
            assert_eq!(
                known,
                [],
                "no-double-effect: sent only where nothing is on record"
            );
            let intended = held(leased, *effect);
            wrote(store, &intended, now).await;
            ledger.push(intended.effect.key().to_string());
            let answer = Answer::Applied {
                result: Payload::null(),
                cost: None,
            };
            let done = answered(&intended.effect, answer, Some(now), now);
            wrote(store, &held(leased, done), now).await;
            Payload::null()
        }
        Begin::Return(result) => result,
        other => panic!("what was written is on record: {other:?}"),
    }
}

async fn known(store: &FaultyStore, job: JobId) -> Vec<Effect> {
    let asked = [job];
    repeated(|| store.effects(&asked)).await
}

fn held(leased: &LeasedJob, effect: Effect) -> EffectWrite {
    EffectWrite {
        effect,
        fence: Some(leased.state.epoch),
        lease_until: Some(leased.state.started_at.after(Duration::from_secs(40))),
    }
}

/// Repeats the write until it is answered, and asserts that it stands as if it had run once.
async fn wrote(store: &FaultyStore, write: &EffectWrite, now: Timestamp) {
    let answers = repeated(|| store.write_effects(std::slice::from_ref(write), now)).await;
    assert!(
        matches!(
            answers[..],
            [EffectWritten::Applied | EffectWritten::Already]
        ),
        "a repeated write is the same call: {answers:?}"
    );
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_already_and_written_once() {
    let (faulty, memory) = faulty(1);
    faulty.enqueue(&[job(1)], START).await.unwrap();
    let claimed = faulty.advance(&[], Some(&claim(1)), START).await.unwrap();
    let leased = &claimed.leased[0];
    for fault in [Fault::Before, Fault::After, Fault::After, Fault::Before] {
        faulty.next(Verb::WriteEffects, fault);
    }
    let mut ledger = Vec::new();
    handled(&faulty, leased, &mut ledger).await;
    handled(&faulty, leased, &mut ledger).await;
    assert_eq!(ledger, [leased.provider_key().to_string()]);
    let known = memory.effects(&[leased.id]).await.unwrap();
    let versions: Vec<_> = known.iter().map(|effect| effect.version).collect();
    assert_eq!(versions, [2], "no-double-effect: each step once");
    let FaultCounts { before, after, .. } = faulty.counts(Verb::WriteEffects);
    assert_eq!((before, after), (2, 2));
}

#[tokio::test]
async fn repeated_writes_of_effects_leave_no_double_and_no_loss() {
    const JOBS: u64 = 50;
    for seed in 0..30 {
        let (faulty, memory) = faulty(seed);
        let jobs: Vec<_> = (0..JOBS).map(job).collect();
        memory.enqueue(&jobs, START).await.unwrap();
        faulty.misbehave(FaultRates {
            before: 0.2,
            after: 0.3,
            ..FaultRates::default()
        });
        let policy = JobPolicy {
            crashes_max: 100,
            ..JobPolicy::default()
        };
        let (mut now, mut ledger) = (START, Vec::new());
        for _ in 0..60 {
            now = now.after(Duration::from_secs(3_600));
            let claim = claim(10);
            let leased = repeated(|| faulty.advance(&[], Some(&claim), now)).await;
            for leased in &leased.leased {
                let result = handled(&faulty, leased, &mut ledger).await;
                let effects = known(&faulty, leased.id).await;
                let report = Report::Succeeded(result);
                let end = settle(leased, &effects, report, &policy, now, Roll(0));
                // A settlement is tried once: where it did not take effect the job lapses and its handler runs again.
                let _ = faulty.advance(&[end], None, now).await;
            }
            let later = now.after(Duration::from_secs(60));
            let lapsed = repeated(|| faulty.lapsed(later, 1000)).await;
            for lapsed in &lapsed {
                let effects = known(&faulty, lapsed.id).await;
                let end = settle(lapsed, &effects, Report::Lost, &policy, later, Roll(0));
                repeated(|| faulty.advance(std::slice::from_ref(&end), None, later)).await;
            }
        }
        ledger.sort();
        let mut expected: Vec<_> = jobs.iter().map(|job| job.id.to_string()).collect();
        expected.sort();
        assert_eq!(
            ledger, expected,
            "no-double-effect, no-lost-intent (seed {seed})"
        );
        let all = memory.jobs(&JobFilter::default(), None, 500).await.unwrap();
        assert!(
            all.iter()
                .all(|job| job.state.name() == StateName::Succeeded),
            "no-lost-intent (seed {seed})"
        );
        assert!(
            all.iter().any(|job| job.counts.crashed > 0),
            "some handlers ran twice, or nothing was tested"
        );
        assert!(faulty.counts(Verb::WriteEffects).after > 10);
    }
}

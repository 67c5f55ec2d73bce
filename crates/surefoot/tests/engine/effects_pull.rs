//! Pull workers carry out effects by the same rules.

use std::sync::Arc;

use surefoot::core::effect::{
    Answer, Declared, Effect, EffectRecovery, EffectTerms, Verdict, VerifyPlan, Witness,
};
use surefoot::core::id::{Actor, EffectName, Epoch, JobId, ProviderKey, Worker};
use surefoot::core::job::StateName;
use surefoot::core::payload::Payload;
use surefoot::core::port::Queues;
use surefoot::core::settle::Report;
use surefoot::{Client, EffectBegun, EffectTold, Failure, Policies, Reported};

use crate::effects_world::{How, Provider, node, plan, policy};
use surefoot_testkit::{FaultRates, FaultyStore};

use crate::world::{Task, World, s};

const VERIFY: EffectRecovery = EffectRecovery::Verify {
    settles_within: s(20),
};

pub(crate) fn declared(recovery: EffectRecovery) -> Declared {
    Declared {
        place: 0,
        name: EffectName::new("psp.refund").unwrap(),
        dependency: None,
        terms: EffectTerms {
            recovery,
            timeout: s(5),
        },
        cost: 100,
    }
}

async fn client(world: &World) -> Client {
    let mut policies = Policies::new();
    policies.insert(Task::kind(), policy());
    world.client(policies).await
}

async fn claimed(client: &Client) -> (JobId, Epoch) {
    let worker = Worker::new("python-1").unwrap();
    for _ in 0..1000 {
        let leases = client.lease(&worker, &[Task::kind()], Queues::All, 1).await;
        if let Some(job) = leases.unwrap().first() {
            return (job.id, job.state.epoch);
        }
        tokio::time::sleep(s(1)).await;
    }
    panic!("nothing to claim");
}

async fn leased(client: &Client) -> (JobId, Epoch) {
    client.enqueue_job(&Task::n(7)).await.unwrap();
    claimed(client).await
}

async fn begun(client: &Client, job: JobId, epoch: Epoch, recovery: EffectRecovery) -> EffectBegun {
    let begun = client.begin_effect(job, epoch, declared(recovery)).await;
    begun.unwrap()
}

fn applied() -> Answer {
    Answer::Applied {
        result: Payload::parse("7").unwrap(),
        cost: Some(60),
    }
}

fn on_record(told: EffectTold) -> Effect {
    match told {
        EffectTold::OnRecord(effect) => *effect,
        other => panic!("{other:?}"),
    }
}

async fn report(client: &Client, job: JobId, epoch: Epoch, report: Report) -> StateName {
    match client.report(job, epoch, report).await.unwrap() {
        Reported::Applied { state } => state,
        other => panic!("{other:?}"),
    }
}

fn unknown() -> Report {
    Report::Failed(Failure::unknown("no answer"))
}

#[tokio::test(start_paused = true)]
async fn a_worker_sends_under_the_engines_key_and_never_again() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    tokio::time::sleep(s(33)).await;
    let EffectBegun::Send { key, leave_within } = begun(&client, job, epoch, VERIFY).await else {
        panic!("a first effect is sent");
    };
    assert_eq!(key, ProviderKey::of(job, 1));
    let until = world.job(job).await.job.into_leased().unwrap();
    let room = until.state.lease_until.since(client.now());
    assert!(room >= leave_within + s(5), "{room:?}");
    let told = client.answer_effect(job, epoch, 0, applied()).await;
    let effect = on_record(told.unwrap());
    assert_eq!(
        (effect.state.as_str(), effect.cost.booked()),
        ("confirmed", 60)
    );
    let again = begun(&client, job, epoch, VERIFY).await;
    assert_eq!(again, EffectBegun::Return(Payload::parse("7").unwrap()));
    let done = Report::Succeeded(Payload::null());
    assert_eq!(
        report(&client, job, epoch, done).await,
        StateName::Succeeded
    );
    assert_eq!(client.effects(job).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_asks_before_it_sends_again() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    begun(&client, job, epoch, VERIFY).await;
    let silent = Answer::MaybeApplied("no answer".into());
    let told = client.answer_effect(job, epoch, 0, silent).await.unwrap();
    assert_eq!(on_record(told).state.as_str(), "unknown");
    // It cannot say how it went while nobody knows.
    let done = Report::Succeeded(Payload::null());
    assert_eq!(
        report(&client, job, epoch, done).await,
        StateName::Verifying
    );

    let (_, epoch) = claimed(&client).await;
    let EffectBegun::Ask { key } = begun(&client, job, epoch, VERIFY).await else {
        panic!("it is asked about");
    };
    assert_eq!(key, ProviderKey::of(job, 1));
    let say = async |epoch, verdict| {
        let plan = plan();
        let told = client.verdict_on_effect(job, epoch, 0, verdict, &plan);
        on_record(told.await.unwrap())
    };
    let early = say(epoch, Verdict::DidNotHappen).await;
    assert_eq!(
        early.state.as_str(),
        "unknown",
        "it could still take effect"
    );
    let later = begun(&client, job, epoch, VERIFY).await;
    assert!(matches!(later, EffectBegun::AskLater { .. }), "{later:?}");
    let still = Report::StillUnknown("not there yet".into());
    assert_eq!(
        report(&client, job, epoch, still).await,
        StateName::Verifying
    );
    assert_eq!(world.job(job).await.job.counts.failed, 1);

    let (_, epoch) = claimed(&client).await;
    let absent = say(epoch, Verdict::DidNotHappen).await;
    assert_eq!(absent.state.as_str(), "absent");
    let again = begun(&client, job, epoch, VERIFY).await;
    assert!(matches!(again, EffectBegun::Send { .. }), "{again:?}");
    on_record(
        client
            .answer_effect(job, epoch, 0, applied())
            .await
            .unwrap(),
    );
    let done = Report::Succeeded(Payload::null());
    assert_eq!(
        report(&client, job, epoch, done).await,
        StateName::Succeeded
    );
}

#[tokio::test(start_paused = true)]
async fn of_a_question_that_was_asked_too_early_only_that_it_happened_counts() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    begun(&client, job, epoch, VERIFY).await;
    let plan = plan();
    for (verdict, expected) in [
        (Verdict::NeedsHuman("who knows".into()), "intended"),
        (Verdict::DidNotHappen, "intended"),
        (Verdict::happened(&7).unwrap(), "confirmed"),
    ] {
        let told = client
            .verdict_on_effect(job, epoch, 0, verdict, &plan)
            .await;
        assert_eq!(on_record(told.unwrap()).state.as_str(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_is_under_way_is_answered_before_it_is_begun_again() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    begun(&client, job, epoch, EffectRecovery::AtMostOnce).await;
    let twice = begun(&client, job, epoch, EffectRecovery::AtMostOnce).await;
    assert_eq!(twice, EffectBegun::UnderWay);
    let held_back = Answer::NotSent("the answer was lost".into());
    client
        .answer_effect(job, epoch, 0, held_back)
        .await
        .unwrap();
    let again = begun(&client, job, epoch, EffectRecovery::AtMostOnce).await;
    assert!(matches!(again, EffectBegun::Send { .. }), "{again:?}");
    assert_eq!(client.effects(job).await.unwrap()[0].sends, 1);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_is_gone_in_the_middle_of_a_call_leaves_a_doubt() {
    for (recovery, expected) in [
        (VERIFY, StateName::Verifying),
        (EffectRecovery::SameKey { ttl: None }, StateName::Retrying),
        (EffectRecovery::AtMostOnce, StateName::Dead),
    ] {
        let world = World::new();
        let client = client(&world).await;
        let (job, epoch) = leased(&client).await;
        begun(&client, job, epoch, recovery).await;
        let _sweeps = world.node().start().await.unwrap();
        tokio::time::sleep(s(49)).await;
        assert_eq!(world.state(job).await, expected, "{recovery:?}");
        // Whatever it says now changes nothing; its word is kept.
        let told = client.answer_effect(job, epoch, 0, applied()).await;
        assert_eq!(told.unwrap(), EffectTold::Stale);
        let begun = begun(&client, job, epoch, recovery).await;
        assert_eq!(begun, EffectBegun::Stale);
        let done = Report::Succeeded(Payload::parse("7").unwrap());
        let answer = client.report(job, epoch, done).await.unwrap();
        assert_eq!(answer, Reported::Stale);
        let late = world.job(job).await.attempts[0].late.clone();
        assert_eq!(late.unwrap().as_str(), "succeeded: 7");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_is_refused_before_anything_is_written() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    let unsound = Declared {
        terms: EffectTerms {
            recovery: VERIFY,
            timeout: s(50),
        },
        ..declared(VERIFY)
    };
    let begun_unsound = client.begin_effect(job, epoch, unsound).await.unwrap();
    assert!(
        matches!(begun_unsound, EffectBegun::Refused(_)),
        "{begun_unsound:?}"
    );
    let nobody = JobId::new(client.now(), [0; 10]);
    let of_nobody = begun(&client, nobody, epoch, VERIFY).await;
    assert_eq!(of_nobody, EffectBegun::NotFound);
    let stale = begun(&client, job, epoch.next(), VERIFY).await;
    assert_eq!(stale, EffectBegun::Stale);
    let told = client.answer_effect(job, epoch, 0, applied()).await;
    assert_eq!(told.unwrap(), EffectTold::NotBegun);
    // At 66 s the worker has 4 s left to hold the job, and the call may take 5.
    for _ in 0..3 {
        tokio::time::sleep(s(22)).await;
        client.extend(job, epoch).await.unwrap();
    }
    let late = begun(&client, job, epoch, VERIFY).await;
    assert!(matches!(late, EffectBegun::Refused(_)), "{late:?}");
    assert_eq!(client.effects(job).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn other_code_and_exhausted_attempts_send_nothing() {
    let world = World::new();
    let client = client(&world).await;
    let (job, mut epoch) = leased(&client).await;
    for _ in 0..4 {
        begun(&client, job, epoch, VERIFY).await;
        let refused = Answer::Rejected("busy".into());
        client.answer_effect(job, epoch, 0, refused).await.unwrap();
        let busy = Report::Failed(Failure::transient("busy"));
        assert_eq!(report(&client, job, epoch, busy).await, StateName::Retrying);
        epoch = claimed(&client).await.1;
    }
    let renamed = Declared {
        name: EffectName::new("psp.charge").unwrap(),
        ..declared(VERIFY)
    };
    let changed = client.begin_effect(job, epoch, renamed).await.unwrap();
    let name = EffectName::new("psp.refund").unwrap();
    assert_eq!(changed, EffectBegun::Changed(name));
    begun(&client, job, epoch, VERIFY).await;
    let silent = Answer::MaybeApplied("no answer".into());
    client.answer_effect(job, epoch, 0, silent).await.unwrap();
    assert_eq!(
        report(&client, job, epoch, unknown()).await,
        StateName::Verifying
    );
    tokio::time::sleep(s(60)).await;
    let (_, epoch) = claimed(&client).await;
    begun(&client, job, epoch, VERIFY).await;
    let plan = VerifyPlan::default();
    let verdict = Verdict::DidNotHappen;
    let told = client
        .verdict_on_effect(job, epoch, 0, verdict, &plan)
        .await;
    assert_eq!(on_record(told.unwrap()).state.as_str(), "absent");
    let spent = begun(&client, job, epoch, VERIFY).await;
    assert!(matches!(spent, EffectBegun::Refused(_)), "{spent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_witness_and_a_worker_do_not_overwrite_one_another() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    let EffectBegun::Send { key, .. } = begun(&client, job, epoch, VERIFY).await else {
        panic!("a first effect is sent");
    };
    let witness = Witness::Caller(Actor::new("webhook").unwrap());
    let happened = Verdict::happened(&99).unwrap();
    let told = client.resolve(key.as_str(), happened, witness).await;
    assert!(matches!(told, Ok(surefoot::Resolved::Settled { .. })));
    let told = client.answer_effect(job, epoch, 0, applied()).await;
    let effect = on_record(told.unwrap());
    let kept = begun(&client, job, epoch, VERIFY).await;
    assert_eq!(kept, EffectBegun::Return(Payload::parse("99").unwrap()));
    assert_eq!(effect.version, 2);
    let refused = Answer::Rejected("no such payment".into());
    let told = client.answer_effect(job, epoch, 0, refused).await;
    let disputed = on_record(told.unwrap());
    assert_eq!(
        (disputed.state.as_str(), disputed.disputes.len()),
        ("confirmed", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn nobody_speaks_for_an_effect_that_a_node_carries_out() {
    let world = World::new();
    let provider = Provider::doing(&[crate::effects_world::Act::Slow(s(4))]);
    let engine = node(&world, &provider, How::Once).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    let epoch = world.job(job).await.attempts[0].epoch;
    let client = client(&world).await;
    assert_eq!(
        begun(&client, job, epoch, VERIFY).await,
        EffectBegun::HeldByNode
    );
    let told = client.answer_effect(job, epoch, 0, applied()).await;
    assert_eq!(told.unwrap(), EffectTold::HeldByNode);
    let plan = plan();
    let verdict = Verdict::DidNotHappen;
    let told = client
        .verdict_on_effect(job, epoch, 0, verdict, &plan)
        .await;
    assert_eq!(told.unwrap(), EffectTold::HeldByNode);
    assert_eq!(
        world.settled(job).await.job.state.name(),
        StateName::Succeeded
    );
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_only_asks_uses_up_no_attempt() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    begun(&client, job, epoch, VERIFY).await;
    let answer = Answer::MaybeApplied("no answer".into());
    client.answer_effect(job, epoch, 0, answer).await.unwrap();
    assert_eq!(
        report(&client, job, epoch, unknown()).await,
        StateName::Verifying
    );
    let rounds = 2 * policy().attempts_max;
    let patient = VerifyPlan {
        asks_max: 100,
        ..plan()
    };
    for _ in 0..rounds {
        tokio::time::sleep(s(1)).await;
        let (job, epoch) = claimed(&client).await;
        assert!(matches!(
            begun(&client, job, epoch, VERIFY).await,
            EffectBegun::Ask { .. }
        ));
        let still = Verdict::StillUnknown { ask_again_in: None };
        let told = client
            .verdict_on_effect(job, epoch, 0, still, &patient)
            .await;
        assert_eq!(on_record(told.unwrap()).state.as_str(), "unknown");
        assert_eq!(
            report(&client, job, epoch, unknown()).await,
            StateName::Verifying
        );
    }
    let counts = client.job(job).await.unwrap().unwrap().job.counts;
    assert_eq!((counts.failed, counts.starts), (1, rounds + 1));
}

#[tokio::test(start_paused = true)]
async fn a_repeated_success_that_was_in_doubt_is_told_what_the_first_one_was() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    begun(&client, job, epoch, VERIFY).await;
    let answer = Answer::MaybeApplied("no answer".into());
    client.answer_effect(job, epoch, 0, answer).await.unwrap();
    let success = || Report::Succeeded(Payload::null());
    assert_eq!(
        report(&client, job, epoch, success()).await,
        StateName::Verifying
    );
    let state = StateName::Verifying;
    assert_eq!(
        client.report(job, epoch, success()).await.unwrap(),
        Reported::Already { state }
    );
}

#[tokio::test(start_paused = true)]
async fn a_not_found_that_was_looked_up_too_early_does_not_count_however_late_it_comes() {
    let world = World::new();
    let client = client(&world).await;
    let (job, epoch) = leased(&client).await;
    begun(&client, job, epoch, VERIFY).await;
    let answer = Answer::MaybeApplied("no answer".into());
    client.answer_effect(job, epoch, 0, answer).await.unwrap();
    report(&client, job, epoch, unknown()).await;
    tokio::time::sleep(s(15)).await;
    let (job, epoch) = claimed(&client).await;
    assert!(matches!(
        begun(&client, job, epoch, VERIFY).await,
        EffectBegun::Ask { .. }
    ));
    // The provider looked at once; its answer takes long.
    tokio::time::sleep(s(10)).await;
    let told = client
        .verdict_on_effect(job, epoch, 0, Verdict::DidNotHappen, &plan())
        .await;
    assert_eq!(on_record(told.unwrap()).state.as_str(), "unknown");
}

#[tokio::test(start_paused = true)]
async fn a_report_beside_the_begin_of_an_effect_hides_no_doubt() {
    for seed in 0..40 {
        let world = World::new();
        let slow = FaultyStore::over(Arc::clone(&world.store), seed);
        slow.misbehave(FaultRates {
            delay: 1.0,
            delay_max: s(1),
            ..FaultRates::default()
        });
        let client = client(&World::over(Arc::new(slow))).await;
        let (job, epoch) = leased(&client).await;
        let begins = begun(&client, job, epoch, EffectRecovery::AtMostOnce);
        let reports = client.report(job, epoch, Report::Succeeded(Payload::null()));
        let (begins, reports) = tokio::join!(begins, reports);
        let sends = matches!(begins, EffectBegun::Send { .. });
        let succeeded = matches!(
            reports.unwrap(),
            Reported::Applied {
                state: StateName::Succeeded
            }
        );
        assert!(!(sends && succeeded), "seed {seed}");
    }
}

//! Somebody else knows: a webhook, a person. And orders of people about what nobody knows.

use surefoot::core::effect::{EffectState, Verdict, Witness};
use surefoot::core::id::Actor;
use surefoot::core::job::{DeadReason, StateName};
use surefoot::core::payload::Payload;
use surefoot::core::port::{Cancelled, Replay, ReplayEffect, Steered};
use surefoot::{Engine, Resolved};
use tokio::time::Instant;

use crate::effects_world::{Act, How, Provider, end, node, states};
use crate::world::{Task, World, by, s};

fn webhook() -> Witness {
    Witness::Caller(Actor::new("psp webhook").unwrap())
}

fn happened(n: u32) -> Verdict {
    Verdict::happened(&n).unwrap()
}

async fn key(world: &World, job: surefoot::core::id::JobId) -> String {
    let effects = world.store.effects(&[job]).await.unwrap();
    effects[0].key().as_str().to_owned()
}

async fn tell(
    engine: &Engine,
    world: &World,
    job: surefoot::core::id::JobId,
    v: Verdict,
) -> Resolved {
    let key = key(world, job).await;
    engine.client().resolve(&key, v, webhook()).await.unwrap()
}

fn word(resolved: &Resolved) -> &'static str {
    match resolved {
        Resolved::Settled { .. } => "settled",
        Resolved::Same { .. } => "same",
        Resolved::Disputed { .. } => "disputed",
        Resolved::TooEarly { .. } => "too early",
        Resolved::NoVerdict => "no verdict",
        Resolved::NotFound => "not found",
    }
}

#[tokio::test(start_paused = true)]
async fn a_witness_that_comes_before_the_answer_counts() {
    for how in [How::Verify, How::SameKey(None), How::Once, How::Repeatable] {
        let world = World::new();
        let provider = Provider::doing(&[Act::Slow(s(3))]);
        let engine = node(&world, &provider, how).await;
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(1)).await;
        let told = tell(&engine, &world, job, happened(99)).await;
        assert_eq!(word(&told), "settled");
        assert_eq!(end(&world, job).await, "succeeded 99", "{how:?}");
        assert_eq!(provider.calls.len(), 1);
        assert_eq!(world.told.count("disputed"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_says_otherwise_than_the_witness_is_a_dispute() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Refuse(s(3))]);
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    tell(&engine, &world, job, happened(99)).await;
    assert_eq!(end(&world, job).await, "succeeded 99");
    assert_eq!(world.told.count("disputed psp.refund"), 1);
    let effects = engine.client().effects(job).await.unwrap();
    assert_eq!(effects[0].disputes.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_witness_lets_a_verifying_job_go_on_at_once() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Silent]);
    provider.says([Verdict::StillUnknown {
        ask_again_in: Some(s(300)),
    }]);
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(10)).await;
    assert_eq!(world.state(job).await, StateName::Verifying);
    let start = Instant::now();
    let told = tell(&engine, &world, job, happened(99)).await;
    assert_eq!(word(&told), "settled");
    assert_eq!(end(&world, job).await, "succeeded 99");
    assert!(start.elapsed() < s(2), "{:?}", start.elapsed());
    assert_eq!(provider.calls.len(), 1);
    assert_eq!(
        word(&tell(&engine, &world, job, happened(99)).await),
        "same"
    );
    let not = tell(&engine, &world, job, Verdict::DidNotHappen).await;
    assert_eq!(word(&not), "disputed");
    assert_eq!(world.told.count("disputed psp.refund"), 1);
    assert_eq!(world.state(job).await, StateName::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn did_not_happen_counts_when_nothing_can_land_any_more() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Reset]);
    provider.says([Verdict::StillUnknown {
        ask_again_in: Some(s(500)),
    }]);
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(10)).await;
    let early = tell(&engine, &world, job, Verdict::DidNotHappen).await;
    let Resolved::TooEarly { until } = early else {
        panic!("{early:?}")
    };
    let left = until.since(engine.client().now());
    assert!(
        left > s(9) && left <= s(10),
        "20 s after the call ended: {left:?}"
    );
    tokio::time::sleep(left).await;
    let told = tell(&engine, &world, job, Verdict::DidNotHappen).await;
    assert_eq!(word(&told), "settled");
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn words_that_say_nothing_and_keys_of_nobody_change_nothing() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Silent]);
    let engine = node(&world, &provider, How::Once).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
    let still = Verdict::StillUnknown { ask_again_in: None };
    assert_eq!(word(&tell(&engine, &world, job, still).await), "no verdict");
    let keys = [
        "",
        "nonsense",
        &format!("{job}.2"),
        &format!("{job}.1.1"),
        "01890a5d-ac96-774b-bcce-b302099a8057",
    ];
    for key in keys {
        let told = engine.client().resolve(key, happened(1), webhook()).await;
        assert_eq!(told.unwrap(), Resolved::NotFound, "{key}");
    }
    assert_eq!(states(&world, job).await, ["unknown"]);
}

#[tokio::test(start_paused = true)]
async fn a_witness_brings_a_dead_letter_back() {
    for (verdict, expected, calls) in [
        (happened(99), "succeeded 99", 1),
        (Verdict::DidNotHappen, "succeeded 7", 2),
    ] {
        let world = World::new();
        let provider = Provider::doing(&[Act::Silent]);
        let engine = node(&world, &provider, How::Once).await;
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        assert_eq!(end(&world, job).await, "outcome_unknown");
        assert_eq!(world.told.count("needs human psp.refund"), 1);
        tokio::time::sleep(s(60)).await;
        let told = tell(&engine, &world, job, verdict).await;
        assert_eq!(word(&told), "settled");
        assert_eq!(end(&world, job).await, expected);
        assert_eq!(provider.calls.len(), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_can_tell_waits_for_a_person() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let still = Verdict::StillUnknown { ask_again_in: None };
    provider.says(std::iter::repeat_n(still, 20));
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
    assert_eq!(states(&world, job).await, ["needs_human"]);
    assert_eq!(provider.asks.len(), 6, "as the plan says");
    assert_eq!(world.told.count("needs human psp.refund"), 1);
    let person = Witness::Person(by());
    let key = key(&world, job).await;
    let told = engine.client().resolve(&key, happened(7), person).await;
    assert_eq!(word(&told.unwrap()), "settled");
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_verification_that_hangs_or_fails_says_nothing() {
    use surefoot::{Cx, Failure, Verify};
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let called = provider.clone();
    let run = move |task: Task, cx: Cx| {
        let (provider, asked) = (called.clone(), called.clone());
        async move {
            let verify = Verify::by(move |key| {
                let provider = asked.clone();
                async move {
                    let verdict = provider.clone().find(key).await;
                    match provider.asks.len() {
                        1 => std::future::pending().await,
                        2 => Err(Failure::transient("busy")),
                        _ => verdict,
                    }
                }
            })
            .settles_within(s(20))
            .plan(crate::effects_world::plan())
            .timeout(s(3));
            cx.effect("psp.refund")
                .timeout(s(5))
                .recover(verify)
                .call(move |key| provider.refund(key, task.n))
                .await
        }
    };
    let engine = world.node().handle(run, Default::default());
    let engine = engine.start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 1));
    assert_eq!(world.told.count("verified psp.refund still_unknown"), 2);
}

async fn replay(engine: &Engine, job: surefoot::core::id::JobId, effect: ReplayEffect) -> Steered {
    let replay = Replay {
        effect: Some(effect),
        by: by(),
    };
    engine.client().replay(job, &replay).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_replay_as_a_new_effect_has_a_new_key() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let engine = node(&world, &provider, How::Once).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
    let old = key(&world, job).await;
    assert_eq!(replay(&engine, job, ReplayEffect::New).await, Steered::Done);
    assert_eq!(end(&world, job).await, "succeeded 7");
    let ledger = provider.ledger.all();
    assert_eq!(ledger, [old.clone(), format!("{old}.2")]);
    // The old key is no key of this job any more.
    let late = engine.client().resolve(&old, happened(1), webhook()).await;
    assert_eq!(late.unwrap(), Resolved::NotFound);
}

/// The replaced effect is no doubt of this job any more, also before the new one is begun.
#[tokio::test(start_paused = true)]
async fn a_replay_as_a_new_effect_may_fail_before_it_is_begun() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Silent]);
    let called = provider.clone();
    let run = move |task: Task, cx: surefoot::Cx| {
        let provider = called.clone();
        async move {
            if cx.attempt() == 2 {
                return Err(surefoot::Failure::transient("the ledger is away"));
            }
            crate::effects_world::refund(&cx, "psp.refund", task.n, provider, How::Once).await
        }
    };
    let engine = world.node().handle(run, Default::default());
    let engine = engine.start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
    replay(&engine, job, ReplayEffect::New).await;
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!(provider.ledger.all(), [format!("{job}.2")]);
}

#[tokio::test(start_paused = true)]
async fn a_replay_as_the_same_effect_is_sent_under_the_same_key() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Silent]);
    let engine = node(&world, &provider, How::Once).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "outcome_unknown");
    let key = key(&world, job).await;
    assert_eq!(
        replay(&engine, job, ReplayEffect::Same).await,
        Steered::Done
    );
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!(provider.calls.all(), [key.clone(), key]);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_replays_what_can_be_asked_about_does_not_send_it_again() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let doomed = node(&world, &provider, How::Verify).await;
    let job = doomed.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    drop(doomed);
    // Three crashes in the middle of the call.
    let mut leased = world.job(job).await.job.into_leased().unwrap();
    leased.counts.crashed = 2;
    let now = leased.state.lease_until.after(s(60));
    let effects = world.store.effects(&[job]).await.unwrap();
    let policy = surefoot::JobPolicy::default();
    let report = surefoot::core::settle::Report::Lost;
    let lost = surefoot::core::settle::settle(
        &leased,
        &effects,
        report,
        &policy,
        now,
        surefoot::core::time::Roll(0),
    );
    world.store.advance(&[lost], None, now).await.unwrap();
    assert_eq!(world.death(job).await.reason, DeadReason::CrashLoop);
    let engine = node(&world, &provider, How::Verify).await;
    assert_eq!(
        replay(&engine, job, ReplayEffect::Same).await,
        Steered::Done
    );
    assert_eq!(end(&world, job).await, "succeeded 7");
    assert_eq!((provider.ledger.len(), provider.calls.len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn after_the_provider_forgot_the_key_only_a_person_sends_it_again() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent; 3]).that_dedupes();
    let how = How::SameKey(Some(s(35)));
    let engine = node(&world, &provider, how).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    // Sent at 0 s and 15 s; at 30 s it could leave until 35 s, and the key is not kept so long.
    assert_eq!(end(&world, job).await, "outcome_unknown");
    assert_eq!(provider.calls.len(), 2);
    assert_eq!(states(&world, job).await, ["needs_human"]);
    assert_eq!(world.told.count("needs human psp.refund"), 1);
    replay(&engine, job, ReplayEffect::Same).await;
    tokio::time::sleep(s(1)).await;
    assert_eq!(provider.calls.len(), 3, "sent because a person ordered it");
    assert_eq!(end(&world, job).await, "outcome_unknown");
    replay(&engine, job, ReplayEffect::Same).await;
    assert_eq!(end(&world, job).await, "succeeded 7");
    let calls = provider.calls.all();
    assert!(calls.iter().all(|key| *key == calls[0]), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn what_may_have_happened_is_asked_about_before_it_is_cancelled() {
    for (act, expected, calls) in [
        (Act::AppliedSilent, "succeeded 7", 1),
        (Act::Silent, "cancelled", 1),
    ] {
        let world = World::new();
        let provider = Provider::doing(&[act]);
        let wait = Verdict::StillUnknown {
            ask_again_in: Some(s(30)),
        };
        provider.says([wait]);
        let engine = node(&world, &provider, How::Verify).await;
        let job = engine.enqueue(Task::n(7)).await.unwrap().id;
        tokio::time::sleep(s(10)).await;
        assert_eq!(world.state(job).await, StateName::Verifying);
        let answer = engine.client().cancel(job, &by()).await.unwrap();
        assert_eq!(answer, Cancelled::Requested);
        assert_eq!(end(&world, job).await, expected, "{act:?}");
        assert_eq!(provider.calls.len(), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn an_edited_payload_does_not_change_what_happened() {
    let world = World::new();
    let provider = Provider::doing(&[Act::Answer, Act::Refuse(s(1))]);
    let called = provider.clone();
    let run = move |task: Task, cx: surefoot::Cx| {
        let provider = called.clone();
        async move {
            use crate::effects_world::refund;
            let one = refund(&cx, "psp.refund", task.n, provider.clone(), How::Verify).await?;
            let two = refund(&cx, "psp.fee", task.n, provider, How::Verify).await?;
            Ok(one * 1000 + two)
        }
    };
    let engine = world.node().handle(run, Default::default());
    let engine = engine.start().await.unwrap();
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    assert_eq!(end(&world, job).await, "permanent");
    assert_eq!(states(&world, job).await, ["confirmed", "rejected"]);
    let edited = Payload::from_serialize(&Task::n(8)).unwrap();
    engine.client().edit(job, &edited, &by()).await.unwrap();
    replay(&engine, job, ReplayEffect::Same).await;
    assert_eq!(end(&world, job).await, "succeeded 7008");
    let key = format!("{job}");
    let fee = format!("{job}.1.1");
    assert_eq!(provider.calls.all(), [key, fee.clone(), fee]);
}

#[tokio::test(start_paused = true)]
async fn a_result_says_who_knew_it_and_what_it_cost() {
    let world = World::new();
    let provider = Provider::doing(&[Act::AppliedSilent]);
    let engine = node(&world, &provider, How::Verify).await;
    let job = engine.enqueue(Task::n(7)).await.unwrap().id;
    tokio::time::sleep(s(1)).await;
    let effects = engine.client().effects(job).await.unwrap();
    assert_eq!(effects[0].cost.booked(), 100, "before anybody knows");
    end(&world, job).await;
    let effects = engine.client().effects(job).await.unwrap();
    assert_eq!(effects[0].cost.booked(), 100, "a time-out is not free");
    assert!(
        matches!(
            &effects[0].state,
            EffectState::Confirmed {
                by: Witness::Query,
                ..
            }
        ),
        "{effects:?}"
    );
}

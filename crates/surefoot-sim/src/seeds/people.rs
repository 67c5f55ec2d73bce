//! People and webhooks: who hands in, cancels, inspects dead letters, and tells what became of an effect. They act through
//! the client, and what they say is true: they read the provider's own books first.

use std::time::Duration;

use surefoot::{Client, Intent, Verdict};
use surefoot_core::effect::{Effect, Witness};
use surefoot_core::id::{Actor, Key, Kind, OrderKey};
use surefoot_core::job::{Job, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::{By, Cancelled, Enqueued, JobFilter, Replay, ReplayEffect, Steered};
use tokio::time::sleep;

use super::dice::dice;
use super::log::Log;
use super::node::Shared;
use super::plan::Order;
use super::provider::result;
use super::tally::Happened;

/// How often a client tries before it gives up.
const TRIES_MAX: u32 = 20;

/// An intent of the world. The same order is the same intent.
pub(super) fn intent(kind: &Kind, order: &Order, amount: u32, shared: &Shared) -> Option<Intent> {
    let payload = Payload::from_serialize(order).ok()?;
    let text = payload.into_string();
    let payload = Payload::parse(text.replacen('{', &format!("{{\"amount\":{amount},"), 1)).ok()?;
    let now = shared.time.now();
    Some(Intent {
        key: Key::new(format!("refund-{}", order.n)).ok(),
        order_key: order
            .line
            .and_then(|line| OrderKey::new(format!("line-{line}")).ok()),
        deadline_at: order
            .deadline_s
            .map(|seconds| now.after(Duration::from_secs(seconds))),
        ..Intent::new(kind.clone(), payload)
    })
}

/// Hands an intent in, again and again until it is acknowledged.
pub(super) async fn hand_in(client: Client, intent: Intent, n: u32, log: Log) {
    for nth in 0..TRIES_MAX {
        match client.enqueue(intent.clone()).await {
            Ok(answer) => {
                acknowledged(&log, n, answer);
                return;
            }
            Err(error) => log.line(format_args!("intent {n} was not acknowledged: {error}")),
        }
        sleep(Duration::from_secs(u64::from(nth + 1))).await;
    }
}

fn acknowledged(log: &Log, n: u32, answer: Enqueued) {
    let job = answer.job();
    log.line(format_args!("intent {n} is {answer:?}"));
    log.count(match answer {
        Enqueued::Created(_) => Happened::Enqueued,
        Enqueued::Existing(_) => Happened::Clicked,
        Enqueued::Conflict(_) => Happened::Conflicted,
    });
    let first = log.with(|state| *state.acknowledged.entry(n).or_insert(job));
    if first != job {
        log.breaks(
            "one-outcome",
            format_args!("intent {n} is {first}, and later {job}"),
        );
    }
}

/// Asks to cancel an intent's job.
pub(super) async fn cancel(client: Client, n: u32, log: Log) {
    let Some(job) = log.with(|state| state.acknowledged.get(&n).copied()) else {
        return;
    };
    let Some(by) = person("it is not wanted") else {
        return;
    };
    match client.cancel(job, &by).await {
        Ok(Cancelled::Done) => {
            log.count(Happened::CancelAsked);
            log.count(Happened::Cancelled);
        }
        Ok(Cancelled::Requested) => log.count(Happened::CancelAsked),
        Ok(Cancelled::Refused(_) | Cancelled::NotFound) | Err(_) => {}
    }
}

fn person(why: &str) -> Option<By> {
    Some(By {
        actor: Actor::new("ann").ok()?,
        reason: why.into(),
    })
}

/// Looks at every dead letter and does something about it.
pub(super) async fn inspect(client: Client, shared: Shared, number: usize) {
    let dead = JobFilter {
        state: Some(StateName::Dead),
        ..JobFilter::default()
    };
    let Ok(jobs) = client.store().jobs(&dead, None, 100).await else {
        return;
    };
    for job in jobs {
        let mut rng = dice(shared.seed, ("inspect", number, job.id.to_string()));
        // A store that fails here fails the person: another one comes.
        let _ = decide(&client, &shared, &job, &mut rng).await;
    }
}

async fn decide(
    client: &Client,
    shared: &Shared,
    job: &Job,
    rng: &mut fastrand::Rng,
) -> Option<()> {
    let effects = client.store().effects(&[job.id]).await.ok()?;
    let open: Vec<&Effect> = effects.iter().filter(|effect| effect.is_open()).collect();
    let choice = rng.u32(0..10);
    if choice == 0 {
        let ignored = client
            .ignore(job.id, &person("nobody wants it")?)
            .await
            .ok()?;
        done(shared, ignored, Happened::Ignored);
        return Some(());
    }
    if choice < 6 && !open.is_empty() {
        for effect in open {
            resolve(client, shared, effect).await?;
        }
        return Some(());
    }
    // Whoever orders it to be sent again has seen that it did not happen, and will not.
    let absent = open
        .iter()
        .all(|effect| !shared.provider.entry(effect.key().as_str()).happens());
    let repeatable = open
        .iter()
        .all(|effect| !effect.terms.recovery.second_call_matters());
    if !absent && !repeatable {
        return Some(());
    }
    if choice == 9 {
        let payload = job
            .payload
            .as_str()
            .replacen("\"amount\":1", "\"amount\":2", 1);
        let payload = Payload::parse(payload).ok()?;
        let edited = client
            .edit(job.id, &payload, &person("a typing error")?)
            .await
            .ok()?;
        done(shared, edited, Happened::Edited);
    }
    let (effect, what) = if choice == 8 {
        (ReplayEffect::New, Happened::ReplayedNew)
    } else {
        (ReplayEffect::Same, Happened::ReplayedSame)
    };
    let replay = Replay {
        effect: Some(effect),
        by: person("it did not happen")?,
    };
    let replayed = client.replay(job.id, &replay).await.ok()?;
    done(shared, replayed, what);
    Some(())
}

fn done(shared: &Shared, steered: Steered, what: Happened) {
    match steered {
        Steered::Done => shared.log.count(what),
        Steered::Refused(_) | Steered::NeedsEffectChoice | Steered::NotFound => {}
    }
}

async fn resolve(client: &Client, shared: &Shared, effect: &Effect) -> Option<()> {
    let key = effect.key();
    let entry = shared.provider.entry(key.as_str());
    let verdict = if !entry.applied.is_empty() {
        Verdict::Happened {
            result: result(&key),
            cost: None,
        }
    } else if entry.coming.is_empty() {
        Verdict::DidNotHappen
    } else {
        return Some(());
    };
    let by = Witness::Person(person("seen in the provider's books")?);
    let said = verdict.as_str();
    let resolved = client.resolve(key.as_str(), verdict, by).await.ok()?;
    if matches!(resolved, surefoot::Resolved::Settled { .. }) {
        shared.log.count(Happened::Resolved);
    }
    shared
        .log
        .line(format_args!("a person says of {key} {said}: {resolved:?}"));
    Some(())
}

/// A webhook tells that an effect took place.
pub(super) async fn hook(client: Client, key: String, log: Log) {
    let Ok(actor) = Actor::new("webhook") else {
        return;
    };
    let result = Payload::from_store(format!("{{\"refund\":\"{key}\"}}"));
    for _ in 0..TRIES_MAX {
        let verdict = Verdict::Happened {
            result: result.clone(),
            cost: None,
        };
        let by = Witness::Caller(actor.clone());
        match client.resolve(&key, verdict, by).await {
            Ok(resolved) => {
                log.count(Happened::Hooked);
                match resolved {
                    surefoot::Resolved::Settled { .. } => log.count(Happened::HookCounted),
                    surefoot::Resolved::Same { .. } => log.count(Happened::HookTwice),
                    surefoot::Resolved::Disputed { .. }
                    | surefoot::Resolved::TooEarly { .. }
                    | surefoot::Resolved::NoVerdict
                    | surefoot::Resolved::NotFound => {}
                }
                log.line(format_args!("webhook of {key}: {resolved:?}"));
                return;
            }
            Err(_) => sleep(Duration::from_secs(2)).await,
        }
    }
}

//! The stories: each runs a real engine on a SQLite file of its own against a real HTTP provider that misbehaves, and tells
//! what the user saw and what the provider did.

use std::time::Duration;

use surefoot::core::effect::Witness;
use surefoot::core::id::{Actor, JobId};
use surefoot::core::job::{AttemptOutcome, StateName};
use surefoot::core::payload::Payload;
use surefoot::core::port::{By, JobRecord, Replay, Steered};
use surefoot::{Engine, Resolved, Unfinished, Verdict};
use surefoot_testkit::{Act, Answer, ScriptedProvider};
use tempfile::TempDir;

use crate::refund::{CALL_TIMEOUT, Provider, Refund};
use crate::{Fault, till};

/// How long a story waits for a state before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What became of a refund.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Which story.
    pub story: &'static str,
    /// The states that it came to between its attempts, in order; those of less than some milliseconds may be missing.
    pub states: Vec<String>,
    /// How its attempts ended.
    pub attempts: Vec<&'static str>,
    /// How often the provider was called to pay.
    pub calls: u64,
    /// How often it paid.
    pub paid: u64,
    /// What was booked for it, in millionths.
    pub booked: u64,
}

/// A shop with one engine and one provider.
struct World {
    engine: Engine,
    provider: ScriptedProvider,
    _files: TempDir,
}

impl World {
    async fn new(kind: Provider, acts: impl IntoIterator<Item = Act>) -> Result<Self, Fault> {
        let provider = ScriptedProvider::start().await?;
        provider.deduplicates(matches!(kind, Provider::KeepsKeysFor(_)));
        provider.script(acts);
        let files = tempfile::tempdir()?;
        let database = format!("sqlite:{}", files.path().join("shop.db").display());
        let engine = till::engine(&database, &provider.url(), kind).await?;
        Ok(Self {
            engine,
            provider,
            _files: files,
        })
    }

    async fn hand_in(&self) -> Result<JobId, Fault> {
        let job = Refund {
            refund_id: "r-1".to_owned(),
            payment: "p-7".to_owned(),
            cents: 1999,
        };
        Ok(self.engine.enqueue(job).await?.id)
    }

    async fn record(&self, job: JobId) -> Result<JobRecord, Fault> {
        Ok(self
            .engine
            .client()
            .job(job)
            .await?
            .ok_or("the job is gone")?)
    }

    /// Watches a job until it is in this state; keeps each state that it passed.
    async fn until(&self, job: JobId, wanted: &str, seen: &mut Vec<String>) -> Result<(), Fault> {
        let watching = async {
            loop {
                let record = self.record(job).await?;
                let state = record.job.state.name();
                let between = state != StateName::Running;
                if between && seen.last().map(String::as_str) != Some(state.as_str()) {
                    seen.push(state.as_str().to_owned());
                }
                if state.as_str() == wanted {
                    return Ok::<(), Fault>(());
                }
                if state.is_final() {
                    return Err(format!("{job} is {} and not {wanted}", state.as_str()).into());
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, watching).await?
    }

    async fn told(
        self,
        story: &'static str,
        job: JobId,
        states: Vec<String>,
    ) -> Result<Told, Fault> {
        let attempts = self.record(job).await?.attempts;
        let outcomes = attempts.iter().filter_map(|attempt| attempt.outcome);
        let attempts = outcomes.map(AttemptOutcome::as_str).collect();
        let effects = self.engine.client().effects(job).await?;
        let booked = effects.iter().map(|effect| effect.cost.booked()).sum();
        self.engine.drain().await;
        let report = self.provider.report();
        Ok(Told {
            story,
            states,
            attempts,
            calls: self.provider.calls(),
            paid: report.applied(),
            booked,
        })
    }
}

/// The provider pays, and the answer never comes. It is asked, and it knows.
///
/// # Errors
/// The story did not go as it is told.
pub async fn paid_and_silent() -> Result<Told, Fault> {
    let world = World::new(Provider::Answers, [Act::ApplyThenHang]).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    world.until(job, "succeeded", &mut states).await?;
    world.told("paid, then silent", job, states).await
}

/// The provider never got to it. It is asked, says no too early to count, says no again, and is sent the same key.
///
/// # Errors
/// The story did not go as it is told.
pub async fn never_paid() -> Result<Told, Fault> {
    let world = World::new(Provider::Answers, [Act::Hang]).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    world.until(job, "succeeded", &mut states).await?;
    world.told("silent, and not paid", job, states).await
}

/// The provider pays long after the call timed out, while it still answers "not found".
///
/// # Errors
/// The story did not go as it is told.
pub async fn paid_late() -> Result<Told, Fault> {
    let late = Act::ApplyLate(CALL_TIMEOUT + Duration::from_millis(600));
    let world = World::new(Provider::Answers, [late]).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    world.until(job, "succeeded", &mut states).await?;
    world.told("paid after the time-out", job, states).await
}

/// A webhook comes before any question is answered.
///
/// # Errors
/// The story did not go as it is told.
pub async fn webhook_first() -> Result<Told, Fault> {
    let world = World::new(Provider::Answers, [Act::ApplyThenHang]).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    let key = intended_key(&world, job).await?;
    let webhook = Witness::Caller(Actor::new("psp webhook")?);
    let verdict = Verdict::happened(&serde_json::json!({ "by": "webhook" }))?;
    let resolved = world
        .engine
        .client()
        .resolve(&key, verdict, webhook)
        .await?;
    if !matches!(resolved, Resolved::Settled { .. } | Resolved::Same { .. }) {
        return Err(format!("the webhook was not taken: {resolved:?}").into());
    }
    world.until(job, "succeeded", &mut states).await?;
    world.told("the webhook comes first", job, states).await
}

/// The provider is gone for good. After some questions a person decides, with a reason.
///
/// # Errors
/// The story did not go as it is told.
pub async fn a_person_decides() -> Result<Told, Fault> {
    let mut world = World::new(Provider::Answers, [Act::ApplyThenHang]).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    let key = intended_key(&world, job).await?;
    tokio::time::sleep(CALL_TIMEOUT / 2).await;
    let (calls, paid) = (world.provider.calls(), world.provider.report().applied());
    world.provider = ScriptedProvider::start().await?;
    world.until(job, "dead", &mut states).await?;
    let ann = Witness::Person(by("it stands in the bank's list")?);
    let verdict = Verdict::happened(&serde_json::json!({ "by": "ann" }))?;
    world.engine.client().resolve(&key, verdict, ann).await?;
    world.until(job, "succeeded", &mut states).await?;
    let told = world
        .told("silent until a person decides", job, states)
        .await?;
    Ok(Told {
        calls,
        paid,
        ..told
    })
}

/// The provider refuses the refund; the payload was wrong. A person mends it and replays the dead letter.
///
/// # Errors
/// The story did not go as it is told.
pub async fn edited() -> Result<Told, Fault> {
    let refused = Act::Refuse(Answer::new(422, "no such payment"));
    let world = World::new(Provider::Answers, [refused]).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    world.until(job, "dead", &mut states).await?;
    let mended = Payload::parse(r#"{"refund_id":"r-1","payment":"p-8","cents":1999}"#)?;
    let steered = world
        .engine
        .client()
        .edit(job, &mended, &by("typo in the payment")?)
        .await?;
    steer(steered)?;
    let replay = Replay {
        effect: None,
        by: by("mended")?,
    };
    steer(world.engine.client().replay(job, &replay).await?)?;
    world.until(job, "succeeded", &mut states).await?;
    world.told("the payload is mended", job, states).await
}

/// The provider keeps keys for a second only, and cannot be asked. After that a replay as the same effect is refused by
/// the engine, for it would pay twice: a person decides.
///
/// # Errors
/// The story did not go as it is told.
pub async fn replayed_after_the_key_is_forgotten() -> Result<Told, Fault> {
    let ttl = Duration::from_millis(1200);
    let acts = std::iter::repeat_n(Act::ApplyThenHang, 8);
    let world = World::new(Provider::KeepsKeysFor(ttl), acts).await?;
    let job = world.hand_in().await?;
    let mut states = Vec::new();
    world.until(job, "dead", &mut states).await?;
    let calls = world.provider.calls();
    tokio::time::sleep(ttl).await;
    let unfinished = world.engine.result_of::<serde_json::Value>(job).await;
    match unfinished {
        Err(surefoot::Error::Unfinished {
            why: Unfinished::Dead(_),
            ..
        }) => {}
        other => return Err(format!("the reader was told {other:?}").into()),
    }
    let key = intended_key(&world, job).await?;
    let verdict = Verdict::happened(&serde_json::json!({ "by": "ann" }))?;
    let ann = Witness::Person(by("the provider's support confirmed it")?);
    world.engine.client().resolve(&key, verdict, ann).await?;
    world.until(job, "succeeded", &mut states).await?;
    if world.provider.calls() != calls {
        return Err("it was sent again after the provider had forgotten the key".into());
    }
    world.told("the key is forgotten", job, states).await
}

/// The provider key of the job's effect, once it is on record.
async fn intended_key(world: &World, job: JobId) -> Result<String, Fault> {
    let looking = async {
        loop {
            if let Some(effect) = world.engine.client().effects(job).await?.first() {
                return Ok::<String, Fault>(effect.key().to_string());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await?
}

fn by(reason: &str) -> Result<By, Fault> {
    Ok(By {
        actor: Actor::new("ann")?,
        reason: reason.into(),
    })
}

fn steer(steered: Steered) -> Result<(), Fault> {
    match steered {
        Steered::Done => Ok(()),
        refused @ (Steered::Refused(_) | Steered::NeedsEffectChoice | Steered::NotFound) => {
            Err(format!("the order was refused: {refused:?}").into())
        }
    }
}

//! The job. Its one effect is verified: after a time-out the provider is asked before anything is sent again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use surefoot::checklist::{Answers, Checklist, EffectAnswers, VerifyFacts};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::effect::{EffectRecovery, VerifyPlan};
use surefoot::core::id::ProviderKey;
use surefoot::{Cx, Job, JobPolicy, Outcome, SameKey, Verify};
use surefoot_policy::Policy;

use crate::Fault;
use crate::psp::Psp;

/// A refund of one payment.
#[derive(Debug, Serialize, Deserialize)]
pub struct Refund {
    /// What makes it one refund.
    pub refund_id: String,
    /// Which payment.
    pub payment: String,
    /// How much.
    pub cents: u64,
}

impl Job for Refund {
    const KIND: &'static str = "refund";
    type Output = Value;

    fn key(&self) -> Option<String> {
        Some(self.refund_id.clone())
    }
}

/// How the provider treats what it may have missed; every time is short, so that the stories are.
#[derive(Clone, Copy, Debug)]
pub enum Provider {
    /// It can be asked.
    Answers,
    /// It cannot be asked, and keeps keys for this long.
    KeepsKeysFor(Duration),
}

/// The name of the effect on record.
pub const EFFECT: &str = "psp.refund";
/// The name of the provider.
pub const PSP: &str = "psp";
/// How long one call may take.
pub const CALL_TIMEOUT: Duration = Duration::from_millis(400);
/// How long after a call left the provider may still pay.
pub const SETTLES_WITHIN: Duration = Duration::from_millis(1500);
/// How many questions go unanswered before a person decides.
pub const ASKS_MAX: u32 = 4;

/// How refunds are run.
#[must_use]
pub fn policy() -> JobPolicy {
    JobPolicy {
        timeout: Duration::from_secs(2),
        lease: Duration::from_secs(4),
        backoff: every(Duration::from_millis(100)),
        ..JobPolicy::default()
    }
}

/// Carries out a refund.
///
/// # Errors
/// What the provider answered; where nobody knows, the engine decides what follows.
pub async fn refund(job: Refund, cx: Cx, psp: Psp, provider: Provider) -> Outcome<Value> {
    let effect = cx
        .effect(EFFECT)
        .dependency(PSP)?
        .timeout(CALL_TIMEOUT)
        .cost(job.cents.saturating_mul(10_000));
    let call = |key: ProviderKey| {
        let psp = psp.clone();
        let (payment, cents) = (job.payment.clone(), job.cents);
        async move { psp.refund(&payment, cents, key.as_str()).await }
    };
    match provider {
        Provider::Answers => {
            let ask = Verify::by(|key: ProviderKey| {
                let psp = psp.clone();
                async move { psp.find_refund(key.as_str()).await }
            });
            let ask = ask.settles_within(SETTLES_WITHIN).plan(plan());
            effect.recover(ask).call(call).await
        }
        Provider::KeepsKeysFor(ttl) => effect.recover(SameKey::kept_for(ttl)).call(call).await,
    }
}

/// What is asked before anything runs: the answers for the job and for the provider behind this policy.
///
/// # Errors
/// A kind whose name does not fit.
pub fn checklist(provider: Provider, psp: &Policy) -> Result<Checklist, Fault> {
    let (recovery, verify) = match provider {
        Provider::Answers => {
            let settles_within = SETTLES_WITHIN;
            let (what, plan) = ("GET /effects/{key}".to_owned(), plan());
            let verify = Some(VerifyFacts { what, plan });
            (EffectRecovery::Verify { settles_within }, verify)
        }
        Provider::KeepsKeysFor(ttl) => (EffectRecovery::SameKey { ttl: Some(ttl) }, None),
    };
    let answers = Answers {
        side_effect: Some("pays the customer back".to_owned()),
        effects: vec![EffectAnswers {
            name: EFFECT.to_owned(),
            recovery,
            verify,
            call: Some(psp.call_facts(PSP, recovery)),
        }],
        alert: Some("pages the payments team".to_owned()),
        waivers: Vec::new(),
    };
    let list = Checklist::new().job::<Refund>(policy(), answers)?;
    Ok(list.dependency(psp.facts(PSP)))
}

/// How the provider is asked.
fn plan() -> VerifyPlan {
    VerifyPlan {
        backoff: every(Duration::from_millis(200)),
        asks_max: ASKS_MAX + 8,
        ..VerifyPlan::default()
    }
}

fn every(delay: Duration) -> Backoff {
    Backoff::List {
        delays: vec![delay],
        jitter: Jitter::Fraction(0.25),
    }
}

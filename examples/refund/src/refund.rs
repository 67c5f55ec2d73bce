//! The job. Its one effect is verified: after a time-out the provider is asked before anything is sent again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::effect::VerifyPlan;
use surefoot::core::id::ProviderKey;
use surefoot::{Cx, Job, JobPolicy, Outcome, SameKey, Verify};

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
        .effect("psp.refund")
        .dependency("psp")?
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
            let plan = VerifyPlan {
                backoff: every(Duration::from_millis(200)),
                asks_max: ASKS_MAX + 8,
                ..VerifyPlan::default()
            };
            let ask = ask.settles_within(SETTLES_WITHIN).plan(plan);
            effect.recover(ask).call(call).await
        }
        Provider::KeepsKeysFor(ttl) => effect.recover(SameKey::kept_for(ttl)).call(call).await,
    }
}

fn every(delay: Duration) -> Backoff {
    Backoff::List {
        delays: vec![delay],
        jitter: Jitter::None,
    }
}

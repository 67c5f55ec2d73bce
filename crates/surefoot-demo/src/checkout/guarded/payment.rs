//! A payment as a job of one effect, which is verified: a time-out is asked about and never simply sent again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::error::StoreError;
use surefoot::core::id::{JobId, Key, Kind, Tenant};
use surefoot::{Cx, Engine, Job, JobPolicy, Outcome, Verify, VerifyPlan};

use super::psp::{Psp, Receipt};
use crate::checkout::Order;
use crate::times::{ASK_EVERY, ASK_TIMEOUT, CHARGE_TIMEOUT, SETTLES_WITHIN};

/// A payment, carried out in the background.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Payment {
    /// The customer's key.
    pub(super) key: String,
    pub(super) order: Order,
}

impl Job for Payment {
    const KIND: &'static str = "payment";
    type Output = Receipt;

    fn key(&self) -> Option<String> {
        Some(self.key.clone())
    }
}

/// One attempt. The call leaves once; where its outcome is unknown, the provider is asked before it may leave again.
pub(super) async fn carry_out(job: Payment, cx: Cx, psp: Psp) -> Outcome<Receipt> {
    let asked = psp.clone();
    let ask = Verify::by(move |key| {
        let psp = asked.clone();
        async move { psp.find(key.as_str()).await }
    });
    let plan = VerifyPlan {
        backoff: every(ASK_EVERY),
        asks_max: 200,
        give_up_after: Duration::from_secs(60),
    };
    let ask = ask
        .settles_within(SETTLES_WITHIN)
        .plan(plan)
        .timeout(ASK_TIMEOUT);
    cx.effect("psp.charge")
        .dependency("psp")?
        .timeout(CHARGE_TIMEOUT + Duration::from_millis(200))
        .recover(ask)
        .call(|key| async move { psp.charge(&job.order, key.as_str()).await })
        .await
}

/// How payments are run. Every time is short, so that the demo is.
pub(super) fn policy() -> JobPolicy {
    JobPolicy {
        timeout: Duration::from_millis(2500),
        lease: Duration::from_millis(3500),
        attempts_max: 8,
        backoff: every(ASK_EVERY),
        ..JobPolicy::default()
    }
}

/// The payment under a customer's key.
///
/// # Errors
/// Nobody can say whether there is one.
pub(super) async fn find(engine: &Engine, key: &str) -> Result<Option<JobId>, StoreError> {
    let (Ok(kind), Ok(key)) = (Kind::new(Payment::KIND), Key::new(key)) else {
        return Ok(None);
    };
    let client = engine.client();
    client.find(&Tenant::single(), &kind, &key).await
}

pub(super) fn every(pause: Duration) -> Backoff {
    Backoff::List {
        delays: vec![pause],
        jitter: Jitter::Full,
    }
}

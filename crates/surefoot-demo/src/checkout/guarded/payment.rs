//! A payment as a job of one effect, which is verified: a time-out is asked about and never simply sent again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::{Cx, Job, JobPolicy, Outcome, Verify, VerifyPlan};

use super::psp::{Psp, Receipt};
use crate::checkout::Order;
use crate::times::{ASK_EVERY, ASK_TIMEOUT, CHARGE_TIMEOUT, SETTLES_WITHIN};

/// A payment, carried out in the background. Its key is that of the request it comes from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Payment(pub(super) Order);

impl Job for Payment {
    const KIND: &'static str = "payment";
    type Output = Receipt;
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
        .call(|key| async move { psp.charge(&job.0, key.as_str()).await })
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

/// The pause between two tries or two questions.
pub(super) fn every(pause: Duration) -> Backoff {
    Backoff::List {
        delays: vec![pause],
        jitter: Jitter::Full,
    }
}

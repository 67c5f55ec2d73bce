//! The job that charges an order. Its one effect is verified: where nobody knows whether the money was taken, the provider is
//! asked before anything is sent again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use surefoot::core::id::ProviderKey;
use surefoot::core::time::Clock;
use surefoot::{Cx, Job, Outcome, Relay, Verify};

use crate::orders::Orders;
use crate::provider::{self, Charged, Psp};
use crate::settings::Settings;

/// The name of the effect on record.
pub const EFFECT: &str = "psp.charge";

/// An order that is to be charged. Its key is that of the request that placed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Which order.
    pub order: String,
    /// How much.
    pub cents: u64,
}

impl Job for Charge {
    const KIND: &'static str = "charge";
    type Output = Charged;
}

/// What charging takes; cheap to clone.
#[derive(Clone)]
pub struct Till {
    /// Whom it calls.
    pub psp: Psp,
    /// Where it writes.
    pub orders: Orders,
    /// Who is woken by what it writes.
    pub relay: Relay,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Its times.
    pub settings: Settings,
}

/// Charges one order.
///
/// # Errors
/// What the provider answered; where nobody knows, the engine decides what follows.
pub async fn charge(job: Charge, cx: Cx, till: Till) -> Outcome<Charged> {
    let (psp, settings) = (&till.psp, &till.settings);
    let ask = Verify::by(|key: ProviderKey| async move { psp.find(key.as_str()).await })
        .settles_within(settings.settles_within())
        .plan(settings.ask_plan())
        .timeout(settings.ask_timeout());
    let charged = cx
        .effect(EFFECT)
        .dependency(provider::NAME)?
        .timeout(settings.effect_timeout())
        .recover(ask)
        .call(|key| async move { psp.charge(job.cents, key.as_str()).await })
        .await?;
    let now = till.clock.now();
    let charged = till.orders.settle(&job.order, charged, &cx, now).await?;
    till.relay.wake();
    Ok(charged)
}

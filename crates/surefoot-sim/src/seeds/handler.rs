//! The handlers of a world: what a careful and a careless author write. They act only through the context that the engine
//! gives them.

use std::time::Duration;

use async_trait::async_trait;
use surefoot::{
    AtMostOnce, Cx, Failure, Handler, JobPolicy, Outcome, Recover, Repeatable, SameKey, Verify,
    VerifyPlan,
};
use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::payload::Payload;

use super::gate::Gate;
use super::log::Log;
use super::plan::{How, Mood, Order};
use super::provider::{KEYS_KEPT, Provider, SETTLES, TIMEOUT};
use super::tally::Happened;

pub(super) const ATTEMPTS_MAX: u32 = 4;
pub(super) const CRASHES_MAX: u32 = 2;

/// How the jobs of a world are run.
pub(super) fn policy() -> JobPolicy {
    JobPolicy {
        timeout: Duration::from_secs(12),
        lease: Duration::from_secs(15),
        attempts_max: ATTEMPTS_MAX,
        crashes_max: CRASHES_MAX,
        backoff: Backoff::List {
            delays: [1, 2, 4].map(Duration::from_secs).to_vec(),
            jitter: Jitter::Full,
        },
        ..JobPolicy::default()
    }
}

/// See the module.
pub(super) struct Refunds {
    pub(super) provider: Provider,
    pub(super) gate: Gate,
    pub(super) log: Log,
}

#[async_trait]
impl Handler for Refunds {
    async fn run(&self, cx: Cx, payload: Payload) -> Result<Payload, Failure> {
        let order: Order = payload
            .decode()
            .map_err(|error| Failure::permanent(error.to_string()))?;
        let (job, epoch) = (cx.job(), cx.epoch());
        self.log.count(Happened::Started);
        self.log
            .line(format_args!("handler of {job} under {epoch}: {order:?}"));
        self.log.with(|state| state.started.insert((job, epoch)));
        if order.mood == Mood::Long {
            cx.step("sum", || async { Ok(order.n) }).await?;
        }
        let first = self.effect(&cx, "psp.refund", order.how).await;
        let once = cx.attempt() == 1;
        match order.mood {
            Mood::Plain => first,
            Mood::Swallows => Ok(first.unwrap_or_else(|_| Payload::null())),
            Mood::FailsAfter if once => {
                first?;
                Err(Failure::transient("the next thing failed"))
            }
            Mood::Panics if once => panic!("after the effect"),
            Mood::Hangs if once => {
                first?;
                std::future::pending().await
            }
            Mood::FailsAfter | Mood::Panics | Mood::Hangs => first,
            Mood::GivesUp => {
                first.map_err(|failure| Failure::permanent(failure.text.as_str().to_owned()))
            }
            Mood::Long => {
                let first = first?;
                self.effect(&cx, "mail.send", order.how).await?;
                Ok(first)
            }
        }
    }
}

impl Refunds {
    async fn effect(&self, cx: &Cx, name: &str, how: How) -> Outcome<Payload> {
        let (provider, gate) = (self.provider.clone(), self.gate.clone());
        cx.effect(name)
            .timeout(TIMEOUT)
            .cost(100)
            .recover(self.recovery(how))
            .call_raw(move |key| async move {
                gate.open().await;
                Ok(provider.call(key, how).await?.into())
            })
            .await
    }

    fn recovery(&self, how: How) -> Recover<'static> {
        let (provider, gate) = (self.provider.clone(), self.gate.clone());
        match how {
            How::Verify => Verify::by(move |key| {
                let (provider, gate) = (provider.clone(), gate.clone());
                async move {
                    gate.open().await;
                    provider.find(key).await
                }
            })
            .settles_within(SETTLES)
            .plan(plan())
            .timeout(TIMEOUT)
            .into(),
            How::SameKey => SameKey::kept_for_ever().into(),
            How::SameKeyForgotten => SameKey::kept_for(KEYS_KEPT).into(),
            How::AtMostOnce => AtMostOnce.into(),
            How::Repeatable => Repeatable.into(),
        }
    }
}

fn plan() -> VerifyPlan {
    VerifyPlan {
        backoff: Backoff::List {
            delays: vec![Duration::from_secs(2)],
            jitter: Jitter::None,
        },
        asks_max: 12,
        give_up_after: Duration::from_secs(300),
    }
}

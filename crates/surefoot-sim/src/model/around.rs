//! What happens around the workers: time, webhooks, a person who wants to cancel.

use surefoot_core::effect::{Verdict, Witness, Witnessed, witnessed};
use surefoot_core::payload::Payload;
use surefoot_core::port::{By, EffectWrite, Store};

use super::Protocol;
use super::setup::TICK;
use super::world::{World, at_once};

impl Protocol {
    pub(super) fn tick(&self, world: &mut World) {
        world.now = world.now.after(TICK);
        let late = world.provider.land(self.setup.keeps_keys, world.now);
        self.seen.landed_late.add(late);
    }

    pub(super) fn hook(&self, world: &mut World) {
        world.memory.hooks += 1;
        let Some(effect) = world.record.effect.clone() else {
            return;
        };
        let verdict = if world.provider.applied > 0 {
            happened_so()
        } else {
            Verdict::DidNotHappen
        };
        let by = Witness::Caller(self.names.webhook.clone());
        match witnessed(&effect, &verdict, by, world.now) {
            Witnessed::Settled(effect) | Witnessed::Disputed(effect) => {
                self.seen.witnessed.add(1);
                let write = EffectWrite {
                    effect: *effect,
                    fence: None,
                    lease_until: None,
                };
                self.write_effect(world, write);
                at_once(world.store.hasten(world.job, world.now));
            }
            Witnessed::Same | Witnessed::TooEarly(_) | Witnessed::NoVerdict => {}
        }
    }

    pub(super) fn cancel(&self, world: &mut World) {
        world.memory.cancelled = true;
        let by = By {
            actor: self.names.webhook.clone(),
            reason: "not wanted any more".into(),
        };
        at_once(world.store.cancel(world.job, &by, world.now));
    }
}

pub(super) fn happened_so() -> Verdict {
    Verdict::Happened {
        result: refund(),
        cost: None,
    }
}

/// The provider's one answer.
pub(super) fn refund() -> Payload {
    Payload::from_store(r#"{"refund":1}"#.to_owned())
}

//! A sink and its consumer with an inbox. It fails, is silent, panics, and applies what it was given after its caller is gone.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use surefoot::{Failure, Sink};
use surefoot_core::id::{Consumer, SinkName, Source};
use surefoot_core::message::{Accepted, Message, Proof, Receipt};
use surefoot_core::port::Messages;
use tokio::time::sleep;

use super::super::dice::dice;
use super::super::gate::Gate;
use super::super::plan::seconds;
use super::super::tally::Happened;
use super::check;
use super::ledger::{Landing, To};
use super::node::Shared;

/// One of so many messages cannot be taken before a person mends it.
const POISONED_ONE_IN: u32 = 12;

/// See the module.
pub(super) struct Mailbox {
    pub(super) shared: Shared,
    pub(super) name: SinkName,
    pub(super) gate: Gate,
}

#[async_trait]
impl Sink for Mailbox {
    async fn deliver(&self, message: Message) -> Result<Proof, Failure> {
        self.gate.open().await;
        let shared = &self.shared;
        let to: To = (self.name.clone(), message.id.as_str().to_owned());
        check::order_kept(shared, &self.name, &message);
        let given = shared.ledger.give(&to);
        shared.log.count(match given {
            1 => Happened::MessageGiven,
            _ => Happened::MessageGivenAgain,
        });
        shared
            .log
            .line(format_args!("{} to {}, {given}", to.1, to.0));
        let mut rng = dice(shared.seed, ("sink", to.0.as_str(), &to.1, given));
        sleep(seconds(&mut rng, 0.0, 1.0)).await;
        self.gate.open().await;
        let poisoned = dice(shared.seed, ("poison", to.0.as_str(), &to.1)).u32(0..POISONED_ONE_IN);
        if poisoned == 0 && !shared.ledger.is_mended(&to) {
            return Err(Failure::permanent("no such account"));
        }
        if rng.f64() < shared.ledger.rate() {
            return self.misbehave(&mut rng, message).await;
        }
        apply(shared, &self.name, &message);
        Ok(Proof::new("kept"))
    }
}

impl Mailbox {
    async fn misbehave(&self, rng: &mut fastrand::Rng, message: Message) -> Result<Proof, Failure> {
        let shared = &self.shared;
        match rng.u32(0..6) {
            0 => return Err(Failure::transient("it is busy")),
            1 => {
                apply(shared, &self.name, &message);
                return Err(Failure::transient("the answer was lost"));
            }
            2 => return Err(Failure::unknown("the connection was reset")),
            3 => panic!("on purpose"),
            4 => apply(shared, &self.name, &message),
            _ => {
                let at = shared.time.now().after(seconds(rng, 0.0, 20.0));
                shared.ledger.land(Landing {
                    at,
                    sink: self.name.clone(),
                    message,
                });
            }
        }
        // It says nothing more.
        sleep(Duration::from_secs(3600)).await;
        Err(Failure::unknown("it was silent"))
    }
}

/// The consumer's transaction: the receipt and what it makes of the message are one step.
pub(super) fn apply(shared: &Shared, sink: &SinkName, message: &Message) {
    let Ok(consumer) = Consumer::new(sink.as_str()) else {
        return;
    };
    let receipt = Receipt::of(Source::outbox(), message, consumer);
    // The store in memory answers at once.
    let accepted = shared
        .store
        .accept(&receipt, shared.time.now())
        .now_or_never();
    let to = (sink.clone(), message.id.as_str().to_owned());
    match accepted {
        Some(Ok(Accepted::First)) => {
            shared.log.count(Happened::MessageApplied);
            shared.log.line(format_args!("{} applies {}", to.0, to.1));
            shared.ledger.apply(&to);
        }
        Some(Ok(Accepted::Duplicate { .. })) => shared.log.count(Happened::MessageDuplicate),
        Some(Err(_)) | None => {}
    }
}

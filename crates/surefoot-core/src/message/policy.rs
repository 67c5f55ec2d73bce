//! How a sink is delivered to, as plain data with documented defaults and one `validate` that reports every fault at once.

use std::time::Duration;

use crate::backoff::{Backoff, Jitter};

/// The most messages of one key that one take gives to one holder.
pub const PER_KEY_MAX: u32 = 100;

/// How a sink is delivered to.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryPolicy {
    /// The longest that one delivery may take. Default 10 s.
    pub timeout: Duration,
    /// How long what was taken stays with its holder; longer than `timeout`, so that a delivery ends before another
    /// relay can begin the same one. Default 30 s.
    pub lease: Duration,
    /// How many tries of a message may fail before it is parked. Default 20, which is above two hours with the default
    /// backoff.
    pub attempts_max: u32,
    /// How many times the holder of a message may be lost before it is parked: a message that kills whoever delivers it
    /// must not do so for ever. The first loss counts whatever its holder did, each further one only when the message had
    /// left; so it is at least 2. Default 5.
    pub losses_max: u32,
    /// How long to wait after a failure. Default from 1 s, doubled up to 10 min, each between half of it and all of it.
    pub backoff: Backoff,
    /// How many keys are delivered to at once by one relay; messages without a key count as one each. Default 16.
    pub concurrency: u32,
    /// How many messages of one key are taken at once, at most [`PER_KEY_MAX`]. Default 10.
    pub per_key_max: u32,
}

impl Default for DeliveryPolicy {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            attempts_max: 20,
            losses_max: 5,
            backoff: Backoff::Exponential {
                base: Duration::from_secs(1),
                factor: 2.0,
                cap: Duration::from_secs(600),
                jitter: Jitter::Equal,
            },
            concurrency: 16,
            per_key_max: 10,
        }
    }
}

impl DeliveryPolicy {
    /// Every contradiction in this policy, each with its remedy; empty when it is sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = self.backoff.validate();
        if self.timeout.is_zero() {
            faults.push(
                "timeout is zero, so nothing could be delivered; set it above zero".to_owned(),
            );
        }
        if self.lease <= self.timeout {
            faults.push(format!(
                "lease {:?} is not longer than timeout {:?}, so a message could be delivered by two relays at once; \
                 raise the lease or lower the timeout",
                self.lease, self.timeout
            ));
        }
        if self.attempts_max == 0 {
            faults.push(
                "attempts_max is 0, so every message would be parked; set 1 or more".to_owned(),
            );
        }
        if self.losses_max < 2 {
            faults.push(format!(
                "losses_max is {}, so a message that no sink was given could be parked; set 2 or more",
                self.losses_max
            ));
        }
        if self.concurrency == 0 || self.per_key_max == 0 {
            faults.push(
                "concurrency or per_key_max is 0, so nothing would be taken; set 1 or more"
                    .to_owned(),
            );
        }
        if self.per_key_max > PER_KEY_MAX {
            faults.push(format!(
                "per_key_max is {}, at most {PER_KEY_MAX} are taken; lower it",
                self.per_key_max
            ));
        }
        faults
    }
}

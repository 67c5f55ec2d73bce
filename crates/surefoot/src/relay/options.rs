//! How a relay works, as plain data with documented defaults.

use std::time::Duration;

use crate::bounded::STORE_TIMEOUT;

/// How a relay works.
#[derive(Clone, Debug)]
pub struct RelayOptions {
    /// How often each sink is looked at where nothing woke the relay. Default 1 s.
    pub poll: Duration,
    /// The longest that one call of the store may take. Default [`STORE_TIMEOUT`].
    pub store_timeout: Duration,
    /// How long a drain lets deliveries end. Default 20 s.
    pub drain_grace: Duration,
    /// How long what was delivered or skipped stays on record, and with it the id of its message. Default 7 days.
    pub keep: Duration,
    /// How long receipts stay; longer than any source repeats a message. Default 30 days.
    pub keep_receipts: Duration,
    /// Makes the relay's choices repeatable; for tests.
    pub seed: Option<u64>,
}

impl Default for RelayOptions {
    fn default() -> Self {
        let days = |days: u64| Duration::from_secs(days * 24 * 3600);
        Self {
            poll: Duration::from_secs(1),
            store_timeout: STORE_TIMEOUT,
            drain_grace: Duration::from_secs(20),
            keep: days(7),
            keep_receipts: days(30),
            seed: None,
        }
    }
}

impl RelayOptions {
    /// The shortest time between two looks: no loop may spin.
    pub const POLL_MIN: Duration = Duration::from_millis(10);

    /// Every contradiction, each with its remedy; empty when the options are sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.poll < Self::POLL_MIN {
            faults.push(format!(
                "poll is {:?}, give {:?} or more",
                self.poll,
                Self::POLL_MIN
            ));
        }
        if self.store_timeout.is_zero() {
            faults
                .push("store_timeout is zero, so no call could end; set it above zero".to_owned());
        }
        if self.keep_receipts < self.keep {
            faults.push(format!(
                "keep_receipts {:?} is shorter than keep {:?}, so a message could be delivered again after its receipt \
                 was forgotten; raise keep_receipts",
                self.keep_receipts, self.keep
            ));
        }
        faults
    }
}

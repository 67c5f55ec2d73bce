//! What follows from the answer of a sink.

use std::time::Duration;

use super::{DeliveryPolicy, Proof};
use crate::classify::Class;
use crate::failure::Failure;
use crate::text::ErrorText;
use crate::time::{Roll, Timestamp};

/// The longest that a sink can put a message off: a `Retry-After` beyond it counts as this.
pub const DELAY_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The states that a taken delivery can go to. What does not end it gives those behind it under its key back as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextDelivery {
    /// The sink has it.
    Delivered {
        /// When.
        at: Timestamp,
        /// What the sink said.
        proof: Proof,
    },
    /// It is tried again.
    Waiting {
        /// The earliest time.
        due_at: Timestamp,
        /// Why; `None` where it was given back untried.
        error: Option<ErrorText>,
        /// How many tries failed so far.
        failed: u32,
    },
    /// A person decides.
    Parked {
        /// Since when.
        at: Timestamp,
        /// Why.
        error: ErrorText,
        /// How many tries failed.
        failed: u32,
    },
}

/// Decides what becomes of a delivery of which `failed` tries failed before this one.
///
/// - A failure that may pass, and one after which nobody knows, is tried again: a message is delivered at least once, and its
///   consumer deduplicates by its id. Failures use up `attempts_max`; a call that was put off, or cancelled, does not.
/// - What cannot pass is parked at once, and what used up its tries too.
#[must_use]
pub fn delivered_or_not(
    answer: Result<Proof, Failure>,
    failed: u32,
    policy: &DeliveryPolicy,
    now: Timestamp,
    roll: Roll,
) -> NextDelivery {
    let failure = match answer {
        Ok(proof) => return NextDelivery::Delivered { at: now, proof },
        Err(failure) => failure,
    };
    let (counts, hopeless) = match failure.class {
        Class::Permanent => (true, true),
        Class::Cancelled => (false, false),
        Class::Transient | Class::Unknown => (!failure.put_off, false),
    };
    let used = failed.saturating_add(u32::from(counts));
    let hopeless = hopeless || counts && used >= policy.attempts_max;
    if hopeless {
        return NextDelivery::Parked {
            at: now,
            error: failure.text,
            failed: used,
        };
    }
    let planned = policy.backoff.delay(used.max(1), None, roll);
    let delay = failure
        .retry_after
        .unwrap_or_default()
        .max(planned)
        .min(DELAY_MAX);
    NextDelivery::Waiting {
        due_at: now.after(delay),
        error: Some(failure.text),
        failed: used,
    }
}

/// A delivery that is given back untried: it is due at once, and nothing is used up.
#[must_use]
pub fn given_back(failed: u32, now: Timestamp) -> NextDelivery {
    NextDelivery::Waiting {
        due_at: now,
        error: None,
        failed,
    }
}

/// What becomes of a delivery whose holders were lost as often as the policy bears, instead of one more try; `None` while it
/// may be tried.
#[must_use]
pub fn lost_too_often(
    failed: u32,
    lost: u32,
    policy: &DeliveryPolicy,
    now: Timestamp,
) -> Option<NextDelivery> {
    (lost >= policy.losses_max).then(|| NextDelivery::Parked {
        at: now,
        error: format!("its holder was lost {lost} times while it was being delivered").into(),
        failed,
    })
}

//! What the author of an effect declares. There is no default.

use std::time::Duration;

use crate::backoff::Backoff;
use crate::timeouts::lease_has_room;

/// How an effect is carried out, kept on its row: whoever finds its lease lost goes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectTerms {
    /// What an unknown outcome means.
    pub recovery: EffectRecovery,
    /// The longest that one call may take, retries inside of it included.
    pub timeout: Duration,
}

/// What the author of an effect declares for the case that nobody knows whether it happened: its recovery.
///
/// The same choice, as each of those says it who makes it:
///
/// | type | who says it |
/// |---|---|
/// | `EffectRecovery` | the core, on the row of an effect |
/// | [`Recovery`](crate::policy::Recovery) | the author of a kind, on its leases: for jobs without an effect on record |
/// | `surefoot::Recover` | a handler in Rust, with the function that asks; made of `Verify`, `SameKey` and so on |
/// | `CallRecovery` of the command line | a configured kind, with the question that is asked |
/// | `EffectRecovery` of the HTTP API | a pull worker, which asks by itself |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectRecovery {
    /// A local computation: nothing outside can have happened. Run it again.
    Step,
    /// Ask the provider before anything is sent again.
    Verify {
        /// How long after a call left it can still take effect: an earlier "did not happen" proves nothing.
        settles_within: Duration,
    },
    /// The provider deduplicates by key: send again under the same key, while it still keeps the key.
    SameKey {
        /// How long the provider keeps a key; `None` is for ever. After it, a person decides.
        ttl: Option<Duration>,
    },
    /// Never send again: a person decides.
    AtMostOnce,
    /// Doing it twice does no harm: send again.
    Repeatable,
}

impl EffectRecovery {
    /// Every word of [`EffectRecovery::as_str`].
    pub const WORDS: [&'static str; 5] = [
        Self::Step.as_str(),
        Self::Verify {
            settles_within: Duration::ZERO,
        }
        .as_str(),
        Self::SameKey { ttl: None }.as_str(),
        Self::AtMostOnce.as_str(),
        Self::Repeatable.as_str(),
    ];

    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Verify { .. } => "verify",
            Self::SameKey { .. } => "same_key",
            Self::AtMostOnce => "at_most_once",
            Self::Repeatable => "repeatable",
        }
    }

    /// Whether doing it twice would matter.
    #[must_use]
    pub const fn second_call_matters(self) -> bool {
        match self {
            Self::Step | Self::Repeatable => false,
            Self::Verify { .. } | Self::SameKey { .. } | Self::AtMostOnce => true,
        }
    }
}

impl EffectTerms {
    /// The room between the end of the longest call and the first verification of an effect whose lease was lost.
    pub const MARGIN: Duration = Duration::from_secs(1);

    /// How long after a call left it can still take effect.
    #[must_use]
    pub const fn settles_within(&self) -> Duration {
        match self.recovery {
            EffectRecovery::Verify { settles_within } => settles_within,
            EffectRecovery::Step
            | EffectRecovery::SameKey { .. }
            | EffectRecovery::AtMostOnce
            | EffectRecovery::Repeatable => self.timeout,
        }
    }

    /// Every contradiction with a job's lease, each with its remedy; empty when the terms are sound.
    #[must_use]
    pub fn validate(&self, lease: Duration) -> Vec<String> {
        let mut faults = Vec::new();
        if !lease_has_room(self.timeout, lease) {
            faults.push(format!(
                "a call may take {:?} and the lease holds {lease:?}, so another holder could start while the call is on \
                 its way; lower the time-out or raise the lease",
                self.timeout
            ));
        }
        match self.recovery {
            EffectRecovery::Verify { settles_within } if settles_within < self.timeout => faults.push(format!(
                "settles_within {settles_within:?} is shorter than the time-out {:?}: a call can take effect until its \
                 time-out at least; raise settles_within",
                self.timeout
            )),
            EffectRecovery::SameKey { ttl: Some(ttl) } if ttl <= self.timeout => faults.push(format!(
                "the provider keeps keys for {ttl:?} and one call may take {:?}, so no second call could ever use the \
                 same key; use verify or at_most_once",
                self.timeout
            )),
            EffectRecovery::Step
            | EffectRecovery::Verify { .. }
            | EffectRecovery::SameKey { .. }
            | EffectRecovery::AtMostOnce
            | EffectRecovery::Repeatable => {}
        }
        faults
    }
}

/// How often and how long to ask a provider what became of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyPlan {
    /// How long to wait between questions.
    pub backoff: Backoff,
    /// How many questions to ask before a person decides. Default 20.
    pub asks_max: u32,
    /// How long after the outcome became unknown a person decides. Default 24 h.
    pub give_up_after: Duration,
}

impl Default for VerifyPlan {
    fn default() -> Self {
        Self {
            backoff: Backoff::default(),
            asks_max: 20,
            give_up_after: Duration::from_secs(24 * 60 * 60),
        }
    }
}

impl VerifyPlan {
    /// Every contradiction, each with its remedy; empty when the plan is sound.
    #[must_use]
    pub fn validate(&self, settles_within: Duration) -> Vec<String> {
        let mut faults = self.backoff.validate();
        if self.asks_max == 0 {
            faults.push(
                "asks_max is 0, so nothing would ever be asked; set 1 or more, or use at_most_once"
                    .to_owned(),
            );
        }
        if self.give_up_after <= settles_within {
            faults.push(format!(
                "give_up_after {:?} is not longer than settles_within {settles_within:?}, so \"did not happen\" could \
                 never count; raise give_up_after",
                self.give_up_after
            ));
        }
        faults
    }
}

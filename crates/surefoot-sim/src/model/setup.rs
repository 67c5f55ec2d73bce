//! What is modelled: the recovery that the author declared, what the provider is like, and the small numbers that bound
//! it all. A tick is a second, the unit of the core's own margin.

use std::time::Duration;

use surefoot_core::backoff::{Backoff, Jitter};
use surefoot_core::effect::{Declared, EffectRecovery, EffectTerms, VerifyPlan};
use surefoot_core::id::{Actor, EffectName, Kind, NameError, Queue, Worker};
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, Queues};

pub(super) const TICK: Duration = Duration::from_secs(1);
const TIMEOUT: u32 = 1;
const LEASE: u32 = 4;
/// How long after it left the slowest call takes effect, and what the author declared.
const SETTLES: u32 = 2;

pub(super) const fn ticks(count: u32) -> Duration {
    TICK.saturating_mul(count)
}

/// A provider that does something else than what is declared, or a process for which no engine can vouch: the documented
/// limits. All off by default; each is a place where the guarantee ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// A process may be frozen between its last look at the clock and the first byte of its call.
    pub freeze_before_the_first_byte: bool,
    /// The provider has no look-up: it answers every question with "did not happen".
    pub no_look_up: bool,
    /// A call may take effect later than `settles_within` says.
    pub later_than_declared: bool,
}

/// One protocol to explore.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What an unknown outcome means.
    pub recovery: EffectRecovery,
    /// The provider applies a key once, for as long as it keeps keys; `None` never deduplicates.
    pub keeps_keys: Option<Keeps>,
    /// Where the guarantee ends.
    pub limits: Limits,
    /// How many workers.
    pub workers: usize,
    /// How often a holder may be lost before the job is a dead letter.
    pub crashes_max: u32,
    /// How many failures use the job up.
    pub attempts_max: u32,
    /// How often a webhook may come.
    pub hooks_max: u8,
    /// Somebody may ask to cancel the job, once.
    pub cancels: bool,
}

/// For how long a provider keeps a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// For ever.
    Always,
    /// So many ticks from the first call under it that it applied.
    Ticks(u32),
}

impl Setup {
    /// `verify`, against a provider that does not deduplicate.
    #[must_use]
    pub fn verify() -> Self {
        Self {
            recovery: EffectRecovery::Verify {
                settles_within: ticks(SETTLES),
            },
            keeps_keys: None,
            limits: Limits::default(),
            workers: 2,
            crashes_max: 2,
            attempts_max: 2,
            hooks_max: 1,
            cancels: true,
        }
    }

    /// `at_most_once`, against a provider that does not deduplicate.
    #[must_use]
    pub fn at_most_once() -> Self {
        Self {
            recovery: EffectRecovery::AtMostOnce,
            ..Self::verify()
        }
    }

    /// `same_key`, against a provider that deduplicates for ever.
    #[must_use]
    pub fn same_key() -> Self {
        Self {
            recovery: EffectRecovery::SameKey { ttl: None },
            keeps_keys: Some(Keeps::Always),
            ..Self::verify()
        }
    }

    /// `same_key`, against a provider that forgets keys.
    #[must_use]
    pub fn same_key_forgotten() -> Self {
        Self {
            recovery: EffectRecovery::SameKey {
                ttl: Some(ticks(6)),
            },
            keeps_keys: Some(Keeps::Ticks(6)),
            ..Self::verify()
        }
    }

    /// Every recovery, once with crashes and second attempts and once with webhooks and a cancellation.
    #[must_use]
    pub fn all() -> Vec<(String, Self)> {
        let recoveries = [
            ("verify", Self::verify()),
            ("at_most_once", Self::at_most_once()),
            ("same_key", Self::same_key()),
            ("same_key that is forgotten", Self::same_key_forgotten()),
        ];
        let mut all = Vec::new();
        for (name, setup) in recoveries {
            all.push((
                format!("{name}, crashes and second attempts"),
                Self {
                    hooks_max: 0,
                    cancels: false,
                    ..setup.clone()
                },
            ));
            all.push((
                format!("{name}, webhooks and a cancellation"),
                Self {
                    crashes_max: 1,
                    attempts_max: 1,
                    ..setup
                },
            ));
        }
        all
    }

    /// The same with fewer faults, for a run of a few seconds.
    #[must_use]
    pub fn small(self) -> Self {
        Self {
            crashes_max: 1,
            attempts_max: 1,
            hooks_max: 0,
            cancels: false,
            ..self
        }
    }

    /// The longest that a call of this provider needs to take effect.
    pub(super) fn lands_within(&self) -> u32 {
        let declared = match self.recovery {
            EffectRecovery::Verify { .. } => SETTLES,
            EffectRecovery::Step
            | EffectRecovery::SameKey { .. }
            | EffectRecovery::AtMostOnce
            | EffectRecovery::Repeatable => TIMEOUT,
        };
        declared + u32::from(self.limits.later_than_declared)
    }

    /// How long a key may matter, in microseconds.
    pub(super) fn keys_kept(&self) -> i64 {
        match self.keeps_keys {
            None | Some(Keeps::Always) => 0,
            Some(Keeps::Ticks(kept)) => i64::from(kept + LEASE) * 1_000_000,
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        ticks(TIMEOUT)
    }

    pub(super) fn lease(&self) -> Duration {
        ticks(LEASE)
    }

    /// From the start of a call to the latest time at which it may leave: its whole time-out ends before the lease does.
    pub(super) fn may_wait(&self) -> Duration {
        ticks(LEASE - TIMEOUT - 1)
    }

    pub(super) fn policy(&self) -> JobPolicy {
        JobPolicy {
            timeout: ticks(LEASE - 1),
            lease: self.lease(),
            attempts_max: self.attempts_max,
            crashes_max: self.crashes_max,
            backoff: every_tick(),
            ..JobPolicy::default()
        }
    }

    pub(super) fn plan(&self) -> VerifyPlan {
        VerifyPlan {
            backoff: every_tick(),
            asks_max: 3,
            // How long it is in doubt must not tell states apart: the questions are bounded by their number.
            give_up_after: Duration::MAX,
        }
    }
}

fn every_tick() -> Backoff {
    Backoff::List {
        delays: vec![TICK],
        jitter: Jitter::None,
    }
}

/// The checked values that every step needs, made once.
#[derive(Clone, Debug)]
pub(super) struct Names {
    pub(super) kind: Kind,
    pub(super) claim: Claim,
    pub(super) declared: Declared,
    /// Who brings webhooks and orders.
    pub(super) webhook: Actor,
}

impl Names {
    pub(super) fn of(setup: &Setup) -> Result<Self, NameError> {
        let kind = Kind::new("refund")?;
        let terms = KindTerms {
            kind: kind.clone(),
            lease: setup.lease(),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        };
        Ok(Self {
            claim: Claim {
                worker: Worker::new("w")?,
                kinds: vec![terms],
                queues: Queues::Only(vec![Queue::standard()]),
                queue_limits: std::collections::BTreeMap::new(),
                max: 1,
            },
            declared: Declared {
                place: 0,
                name: EffectName::new("psp.refund")?,
                dependency: None,
                terms: EffectTerms {
                    recovery: setup.recovery,
                    timeout: setup.timeout(),
                },
                cost: 0,
            },
            webhook: Actor::new("webhook")?,
            kind,
        })
    }
}

//! Which fallback a dependency has, and its own limits: a fallback must not fall over next. Plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The kind of fallback. The code brings what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FallbackKind {
    /// Always the same value.
    Value,
    /// Something that is computed or asked elsewhere.
    Function,
    /// What the dependency said last.
    Stale,
}

impl FallbackKind {
    /// The word, as in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Function => "function",
            Self::Stale => "stale",
        }
    }
}

/// The options of a fallback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FallbackOptions {
    /// Which one.
    pub kind: FallbackKind,
    /// How many may run at once; more are turned away. 1 to 2^20. Default 64.
    #[serde(default = "sixty_four")]
    pub concurrency_max: u32,
    /// How long one may take. Default 1 s.
    #[serde(default = "second", with = "crate::duration_text")]
    pub timeout: Duration,
    /// The ages of a stale answer, for that kind.
    #[serde(default)]
    pub stale: StaleOptions,
}

/// How old an answer may be, and for what. The three times are counted from when it was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StaleOptions {
    /// So long it is served without asking. Default 10 s.
    #[serde(with = "crate::duration_text")]
    pub fresh: Duration,
    /// So long it is served while one caller asks again. At least `fresh`. Default 60 s.
    #[serde(with = "crate::duration_text")]
    pub while_revalidating: Duration,
    /// So long it is served when asking fails. At least `while_revalidating`. Default 1 h.
    #[serde(with = "crate::duration_text")]
    pub if_error: Duration,
    /// After a failure nobody asks again for this long. Default 1 s.
    #[serde(with = "crate::duration_text")]
    pub retry_every: Duration,
    /// How many answers are kept. 1 to 10^6. Default 10000.
    pub entries_max: usize,
}

const fn sixty_four() -> u32 {
    64
}

const fn second() -> Duration {
    Duration::from_secs(1)
}

impl Default for StaleOptions {
    fn default() -> Self {
        Self {
            fresh: Duration::from_secs(10),
            while_revalidating: Duration::from_secs(60),
            if_error: Duration::from_secs(3600),
            retry_every: Duration::from_secs(1),
            entries_max: 10_000,
        }
    }
}

impl FallbackOptions {
    /// A fallback of this kind with default limits.
    #[must_use]
    pub fn of(kind: FallbackKind) -> Self {
        Self {
            kind,
            concurrency_max: sixty_four(),
            timeout: second(),
            stale: StaleOptions::default(),
        }
    }

    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(1..=crate::bulkhead::LIMIT_MAX).contains(&self.concurrency_max) {
            faults.push(format!(
                "fallback.concurrency_max {} is not within 1 and 2^20: give 64",
                self.concurrency_max
            ));
        }
        if self.timeout.is_zero() {
            faults.push("fallback.timeout is 0, so it could never answer: give 1s".to_owned());
        }
        let stale = &self.stale;
        if !(stale.fresh <= stale.while_revalidating && stale.while_revalidating <= stale.if_error)
        {
            faults.push(format!(
                "fallback.stale has fresh {:?}, while_revalidating {:?}, if_error {:?}: let none be below the one before",
                stale.fresh, stale.while_revalidating, stale.if_error
            ));
        }
        if !(1..=1_000_000).contains(&stale.entries_max) {
            faults.push(format!(
                "fallback.stale.entries_max {} is not within 1 and 10^6: give 10000",
                stale.entries_max
            ));
        }
        faults
    }
}

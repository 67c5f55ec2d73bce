//! Which faults are injected, and how often. Plain data; chance is an argument.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot_core::classify::Certainty;
use surefoot_core::time::Roll;

use crate::meaning::Meaning;

/// The options of fault injection: of all attempts, these shares. Together at most 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultOptions {
    /// The share that fails as if refused. Default 0.
    pub errors: f64,
    /// The share that fails as if the connection was reset after the call had left. Default 0.
    pub resets: f64,
    /// The share that never answers. Default 0.
    pub hangs: f64,
    /// The share that is late by `latency`. Default 0.
    pub delays: f64,
    /// How late. Default 0.
    #[serde(with = "crate::duration_text")]
    pub latency: Duration,
}

/// What happens to one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Injected {
    /// The dependency refuses it; the call is not sent.
    Error,
    /// The connection breaks; whether the call was applied looks unknown. The call is not sent.
    Reset,
    /// No answer comes; the call is not sent.
    Hang,
    /// The call is sent after this time.
    Delay(Duration),
}

impl Injected {
    /// What the failure means; `None` for those that only take time.
    #[must_use]
    pub const fn meaning(self) -> Option<Meaning> {
        match self {
            Self::Error => Some(Meaning {
                certainty: Certainty::Rejected,
                ..Meaning::TRANSIENT
            }),
            Self::Reset => Some(Meaning::TRANSIENT),
            Self::Hang | Self::Delay(_) => None,
        }
    }

    /// The word, as in metrics and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Reset => "reset",
            Self::Hang => "hang",
            Self::Delay(_) => "delay",
        }
    }
}

impl FaultOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let shares = [
            ("errors", self.errors),
            ("resets", self.resets),
            ("hangs", self.hangs),
            ("delays", self.delays),
        ];
        for (name, share) in shares {
            if !(0.0..=1.0).contains(&share) {
                faults.push(format!(
                    "fault.{name} {share} is not within 0 and 1: give 0.1 for a tenth"
                ));
            }
        }
        if shares.iter().map(|(_, share)| share).sum::<f64>() > 1.0 + f64::EPSILON * 4.0 {
            faults.push("the shares of fault add up to more than 1: lower one of them".to_owned());
        }
        if self.delays > 0.0 && self.latency.is_zero() {
            faults.push("fault.delays has no latency: give fault.latency above zero".to_owned());
        }
        faults
    }

    /// What happens to the attempt that drew `roll`.
    #[must_use]
    pub fn injected(&self, roll: Roll) -> Option<Injected> {
        let mut draw = roll.fraction();
        let shares = [
            (self.errors, Injected::Error),
            (self.resets, Injected::Reset),
            (self.hangs, Injected::Hang),
            (self.delays, Injected::Delay(self.latency)),
        ];
        for (share, injected) in shares {
            if draw < share {
                return Some(injected);
            }
            draw -= share;
        }
        None
    }
}

//! From which fill on calls are shed, by criticality. Plain data.

use serde::{Deserialize, Serialize};

use crate::meta::Criticality;

/// The options of load shedding. Critical calls are never shed; only a full queue turns them away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShedOptions {
    /// Optional calls are shed when this share of the bulkhead's limit is taken. 0 to 1. Default 0.8.
    pub optional_at: f64,
    /// Degradable calls are shed when this share is taken. `optional_at` to 1. Default 0.95.
    pub degradable_at: f64,
}

impl Default for ShedOptions {
    fn default() -> Self {
        Self {
            optional_at: 0.8,
            degradable_at: 0.95,
        }
    }
}

impl ShedOptions {
    /// Every fault at once, each with its remedy.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, share) in [
            ("optional_at", self.optional_at),
            ("degradable_at", self.degradable_at),
        ] {
            if !(0.0..=1.0).contains(&share) {
                faults.push(format!(
                    "shed.{name} {share} is not within 0 and 1: give 0.8 for four fifths"
                ));
            }
        }
        if self.optional_at > self.degradable_at {
            faults.push(format!(
                "shed.optional_at {} is above degradable_at {}, so the more important calls would go first: swap them",
                self.optional_at, self.degradable_at
            ));
        }
        faults
    }

    /// Whether a call of this criticality is shed while `taken` of `limit` seats are taken.
    #[must_use]
    pub fn sheds(&self, criticality: Criticality, taken: u32, limit: u32) -> bool {
        let fill = f64::from(taken) / f64::from(limit.max(1));
        match criticality {
            Criticality::Critical => false,
            Criticality::Degradable => fill >= self.degradable_at,
            Criticality::Optional => fill >= self.optional_at,
        }
    }
}

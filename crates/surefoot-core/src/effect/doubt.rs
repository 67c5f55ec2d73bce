//! What an attempt that ended leaves in doubt.

use super::{Effect, EffectRecovery, EffectState};
use crate::text::ErrorText;
use crate::time::Timestamp;

/// What the open effects of a job demand of its next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// Every effect of the job is known.
    None,
    /// The attempt may be run again at any time: the provider deduplicates, or twice does no harm.
    SendAgain,
    /// The provider must be asked, at this time at the earliest.
    AskAt(Timestamp, ErrorText),
    /// A person decides.
    Person(ErrorText),
}

/// What the effects of a job demand. The strictest demand of all of them counts.
#[must_use]
pub fn doubt(effects: &[Effect], now: Timestamp) -> Doubt {
    let mut strictest = Doubt::None;
    for effect in effects.iter().filter(|effect| effect.is_open()) {
        let demand = demand(effect, now);
        if rank(&demand) > rank(&strictest) {
            strictest = demand;
        }
    }
    strictest
}

fn demand(effect: &Effect, now: Timestamp) -> Doubt {
    match (&effect.state, effect.terms.recovery) {
        (EffectState::NeedsHuman { error, .. }, _) => Doubt::Person(error.clone()),
        // A person ordered to send it once more.
        (EffectState::Absent { .. }, _) => Doubt::SendAgain,
        (_, EffectRecovery::Step) => Doubt::None,
        (_, EffectRecovery::Repeatable | EffectRecovery::SameKey { .. }) => Doubt::SendAgain,
        (_, EffectRecovery::AtMostOnce) => Doubt::Person(effect.why_unknown()),
        (_, EffectRecovery::Verify { .. }) => {
            Doubt::AskAt(effect.ask_from().max(now), effect.why_unknown())
        }
    }
}

const fn rank(doubt: &Doubt) -> u8 {
    match doubt {
        Doubt::None => 0,
        Doubt::SendAgain => 1,
        Doubt::AskAt(..) => 2,
        Doubt::Person(_) => 3,
    }
}

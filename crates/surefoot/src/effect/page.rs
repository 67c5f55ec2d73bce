//! What one attempt knows of its job's effects and what it came to, as plain data. It decides what the attempt reports,
//! whatever the handler says.

use std::collections::BTreeMap;

use surefoot_core::effect::{Doubt, Effect, doubt};
use surefoot_core::failure::Failure;
use surefoot_core::settle::{Report, Settlement};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use surefoot_core::timeouts::TimeoutKind;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) known: BTreeMap<u32, Effect>,
    places: u32,
    /// A call of this attempt may have left.
    pub(super) sent: bool,
    /// What this attempt came to and could not settle.
    pub(super) doubted: Option<ErrorText>,
    /// Nothing more is done in this attempt, and this is what it reports.
    pub(super) parked: Option<Failure>,
    /// The lease was found lost, and what there was to say then.
    pub(super) lost: Option<ErrorText>,
    /// Something was not sent because the job's deadline had passed.
    pub(super) too_late: bool,
    /// What the handler was given for its own transaction.
    pub(super) handed: Option<Settlement>,
}

impl Page {
    pub(super) fn load(&mut self, effects: Vec<Effect>) {
        let by_place = effects.into_iter().map(|effect| (effect.place, effect));
        self.known.extend(by_place);
    }

    /// The place of the effect that the handler comes to.
    pub(super) fn next_place(&mut self) -> u32 {
        let place = self.places;
        self.places = place.saturating_add(1);
        place
    }

    /// What somebody else wrote.
    pub(super) fn learn(&mut self, place: u32, on_record: Option<Effect>) {
        match on_record {
            Some(effect) => drop(self.known.insert(place, effect)),
            None => drop(self.known.remove(&place)),
        }
    }

    /// The effects of a job of this generation, as far as they are known.
    pub(super) fn effects(&self, generation: u32) -> Vec<Effect> {
        present(self.known.values().cloned().collect(), generation)
    }

    /// What the attempt reports: what the handler said, unless an effect says otherwise.
    pub(super) fn report(&self, said: Report, generation: u32, now: Timestamp) -> Report {
        if let Some(failure) = &self.parked {
            return Report::Failed(failure.clone());
        }
        let in_doubt = match doubt(&self.effects(generation), now) {
            Doubt::None | Doubt::SendAgain => false,
            Doubt::AskAt(..) | Doubt::Person(_) => true,
        };
        match (said, &self.doubted) {
            (Report::Succeeded(_) | Report::Failed(_) | Report::TimedOut(_), Some(error))
                if in_doubt && !self.sent =>
            {
                Report::StillUnknown(error.clone())
            }
            (Report::Failed(_), _) if self.too_late && !in_doubt => {
                Report::TimedOut(TimeoutKind::Deadline)
            }
            (said, _) => said,
        }
    }
}

/// Without those effects that may have happened and that a person replaced by new ones.
pub(crate) fn present(mut effects: Vec<Effect>, generation: u32) -> Vec<Effect> {
    effects.retain(|effect| effect.generation >= generation || !effect.is_open());
    effects
}

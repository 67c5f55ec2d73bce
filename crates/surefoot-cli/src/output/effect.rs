//! Effects for people.

use surefoot_core::effect::{Effect, EffectState};

use super::request::times;
use super::table::{Table, plain};
use super::time::utc;

/// A line for each effect.
pub(crate) fn effects_text(effects: &[Effect]) -> String {
    effects_table(effects).map_or_else(|| "no effects".to_owned(), |table| table.text())
}

/// A line for each effect; `None` where there is none.
pub(super) fn effects_table(effects: &[Effect]) -> Option<Table> {
    let mut table = Table::new([
        "place", "effect", "calls", "key", "recovery", "sends", "state", "since", "what",
    ]);
    for effect in effects {
        let (since, what) = state_in_words(effect);
        table.row([
            effect.place.to_string(),
            effect.name.to_string(),
            effect
                .dependency
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            effect.key().to_string(),
            effect.terms.recovery.as_str().to_owned(),
            effect.sends.to_string(),
            effect.state_name().as_str().to_owned(),
            since,
            what,
        ]);
    }
    (!effects.is_empty()).then_some(table)
}

/// Since when an effect is what it is, and what there is to say about it.
fn state_in_words(effect: &Effect) -> (String, String) {
    let (since, what) = match &effect.state {
        EffectState::Intended { at, .. } => (at, "on its way".to_owned()),
        EffectState::Confirmed { at, result, .. } => (at, plain(result.as_str())),
        EffectState::Rejected { at, error } => (at, error.to_string()),
        EffectState::Unknown {
            since,
            ask_at,
            error,
        } => (
            since,
            format!(
                "{error}; asked {}, next at {}",
                times(effect.asked),
                utc(*ask_at)
            ),
        ),
        EffectState::Absent { at, .. } => (at, "did not happen".to_owned()),
        EffectState::NeedsHuman { since, error } => (since, error.to_string()),
    };
    let disputes = match effect.disputes.len() {
        0 => String::new(),
        count => format!(" ({count} witnesses said something else)"),
    };
    (utc(*since), format!("{what}{disputes}"))
}

//! Tells the observer what people should know of an effect.

use surefoot_core::effect::{Effect, EffectRecovery, EffectState, Verdict};
use surefoot_core::id::Kind;
use surefoot_core::settle::Next;

use crate::client::Client;
use crate::observe::Event;

/// Whether only a person can go on.
fn needs_person(effect: &Effect) -> bool {
    match effect.state {
        EffectState::NeedsHuman { .. } => true,
        EffectState::Unknown { .. } => effect.terms.recovery == EffectRecovery::AtMostOnce,
        EffectState::Intended { .. }
        | EffectState::Confirmed { .. }
        | EffectState::Rejected { .. }
        | EffectState::Absent { .. } => false,
    }
}

/// Tells of an effect that was written, if it came to need a person.
pub(crate) fn tell_changed(client: &Client, kind: &Kind, before: Option<&Effect>, effect: &Effect) {
    if !needs_person(effect) || before.is_some_and(needs_person) {
        return;
    }
    alert(client, kind, effect);
}

/// Tells of the effects that an attempt left on their way when it made its job a dead letter: nothing was written of them, and
/// all the same only a person can go on.
pub(crate) fn tell_left_open(client: &Client, kind: &Kind, next: &Next, effects: &[Effect]) {
    if !matches!(next, Next::Dead(_)) {
        return;
    }
    let on_its_way = |effect: &&Effect| {
        matches!(effect.state, EffectState::Intended { .. })
            && effect.terms.recovery == EffectRecovery::AtMostOnce
    };
    for effect in effects.iter().filter(on_its_way) {
        alert(client, kind, effect);
    }
}

fn alert(client: &Client, kind: &Kind, effect: &Effect) {
    let (job, name) = (effect.job, &effect.name);
    tracing::warn!(%job, effect = %name, "an effect needs a person");
    client
        .observer()
        .on(&Event::EffectNeedsHuman { kind, effect });
}

/// Tells of a witness that said something else than an earlier one.
pub(crate) fn tell_disputed(client: &Client, kind: &Kind, effect: &Effect) {
    let (job, name) = (effect.job, &effect.name);
    tracing::error!(%job, effect = %name, "two witnesses disagree about an effect");
    client
        .observer()
        .on(&Event::EffectDisputed { kind, effect });
}

/// Tells of a verification that was asked.
pub(crate) fn tell_verified(client: &Client, kind: &Kind, effect: &Effect, verdict: &Verdict) {
    let (job, name, said) = (effect.job, &effect.name, verdict.as_str());
    tracing::info!(%job, effect = %name, verdict = said, "a verification was asked");
    client.observer().on(&Event::EffectVerified {
        kind,
        effect,
        verdict,
    });
}

//! What the author of a kind answers. There are no defaults for what only the author can know: what is left out is a fault.

use surefoot_core::checklist::{CallFacts, KindFacts, VerifyFacts, Waiver};
use surefoot_core::effect::EffectRecovery;
use surefoot_core::id::{EffectName, Kind};
use surefoot_core::policy::JobPolicy;

/// What the author of a kind answers; the engine answers the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// What it does outside, in words; `None` when nobody said, which is a fault.
    pub side_effect: Option<String>,
    /// Every effect that its handler or pull worker may come to. One without any does nothing outside: what it writes, it writes in
    /// a transaction of its own.
    pub effects: Vec<EffectAnswers>,
    /// Who is told of its dead letters, in words; `None` when nobody is, which is a fault.
    pub alert: Option<String>,
    /// Faults that its author knows and accepts.
    pub waivers: Vec<Waiver>,
}

/// What the author of an effect answers.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectAnswers {
    /// Its name where it is carried out, such as `psp.refund`.
    pub name: String,
    /// What an unknown outcome means: what the handler hands to [`recover`](crate::EffectDraft::recover), or the pull worker
    /// declares.
    pub recovery: EffectRecovery,
    /// How the provider is asked, where it is.
    pub verify: Option<VerifyFacts>,
    /// What one call of it may take: `Policy::call_facts` of `surefoot-policy` where it goes through a policy, or
    /// [`CallFacts::once`]. `None`: as long as the attempt.
    pub call: Option<CallFacts>,
}

impl Answers {
    /// What core is told of a kind: for each effect, since each is done twice or asked about for itself.
    pub(super) fn facts(&self, kind: &Kind, policy: &JobPolicy) -> Vec<KindFacts> {
        let facts = |recovery, verify, call| KindFacts {
            kind: kind.to_string(),
            side_effect: self.side_effect.clone(),
            recovery: Some(recovery),
            verify,
            policy: policy.clone(),
            call,
            alert: self.alert.clone(),
            waivers: self.waivers.clone(),
        };
        if self.effects.is_empty() {
            return vec![facts(EffectRecovery::Step, None, None)];
        }
        let effects = self.effects.iter();
        effects
            .map(|effect| facts(effect.recovery, effect.verify.clone(), effect.call.clone()))
            .collect()
    }
}

/// Whether an effect was answered for as it is carried out: what was not reviewed is not sent.
pub(crate) fn as_answered(
    effects: &[EffectAnswers],
    name: &EffectName,
    recovery: EffectRecovery,
) -> Result<(), String> {
    match effects.iter().find(|effect| effect.name == name.as_str()) {
        None => Err(format!("{name} is not on the checklist of its kind")),
        Some(effect) if effect.recovery != recovery => Err(format!(
            "{name} is {recovery:?} where it is carried out and {:?} on the checklist of its kind",
            effect.recovery
        )),
        Some(_) => Ok(()),
    }
}

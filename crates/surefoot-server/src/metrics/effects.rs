//! What becomes of effects: verifications, disputes, and those that a person must look at. Every verdict has its series
//! from the beginning, so that an alert sees the first one.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use surefoot_core::effect::Verdict;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabel {
    verdict: &'static str,
}

#[derive(Clone)]
pub(super) struct EffectMetrics {
    verified: Family<VerdictLabel, Counter>,
    disputed: Counter,
    need_human: Counter,
}

impl Default for EffectMetrics {
    fn default() -> Self {
        let verified = Family::default();
        for verdict in Verdict::WORDS {
            drop(verified.get_or_create_owned(&VerdictLabel { verdict }));
        }
        Self {
            verified,
            disputed: Counter::default(),
            need_human: Counter::default(),
        }
    }
}

impl EffectMetrics {
    /// `registry` is the one of this project's own names.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register(
            "effects_verified",
            "Verifications of unknown outcomes, by verdict",
            self.verified.clone(),
        );
        registry.register(
            "effects_disputed",
            "Effects of which two witnesses said different things",
            self.disputed.clone(),
        );
        registry.register(
            "effects_need_human",
            "Effects that wait for a person",
            self.need_human.clone(),
        );
    }

    pub(super) fn verified(&self, verdict: &Verdict) {
        let label = VerdictLabel {
            verdict: verdict.as_str(),
        };
        self.verified.get_or_create(&label).inc();
    }

    pub(super) fn disputed(&self) {
        self.disputed.inc();
    }

    pub(super) fn needs_human(&self) {
        self.need_human.inc();
    }
}

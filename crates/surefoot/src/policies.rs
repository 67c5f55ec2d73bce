//! How each kind is run, for everybody who decides about a job: the claim, the settlement, the node that finds a
//! lease lost. It is fixed before the first job runs.

use std::collections::BTreeMap;

use surefoot_core::id::Kind;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::KindTerms;

use crate::checklist::EffectAnswers;

/// The policy of each kind; one that nobody declared has [`JobPolicy::default`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    by_kind: BTreeMap<Kind, JobPolicy>,
    undeclared: JobPolicy,
    effects: BTreeMap<Kind, Vec<EffectAnswers>>,
}

impl Policies {
    /// No kinds declared.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Declares a kind; answers the policy that it replaces.
    pub fn insert(&mut self, kind: Kind, policy: JobPolicy) -> Option<JobPolicy> {
        self.by_kind.insert(kind, policy)
    }

    /// Holds a kind to the effects that were answered for on a checklist.
    pub(crate) fn bind(&mut self, kind: Kind, effects: Vec<EffectAnswers>) {
        self.effects.insert(kind, effects);
    }

    /// The effects that a kind is held to; `None` when no checklist names it.
    pub(crate) fn effects(&self, kind: &Kind) -> Option<&[EffectAnswers]> {
        self.effects.get(kind).map(Vec::as_slice)
    }

    /// How a kind is run: as declared, or by [`JobPolicy::default`].
    #[must_use]
    pub fn policy(&self, kind: &Kind) -> &JobPolicy {
        self.by_kind.get(kind).unwrap_or(&self.undeclared)
    }

    /// The declared kinds, by name.
    pub fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.by_kind.keys()
    }

    /// Whether somebody declared the kind.
    #[must_use]
    pub fn declares(&self, kind: &Kind) -> bool {
        self.by_kind.contains_key(kind)
    }

    /// The terms under which a kind is claimed.
    #[must_use]
    pub fn terms(&self, kind: &Kind) -> KindTerms {
        let policy = self.policy(kind);
        KindTerms {
            kind: kind.clone(),
            lease: policy.lease,
            recovery: policy.recovery,
            concurrency_max: policy.concurrency_max,
            concurrency_per_key_max: policy.concurrency_per_key_max,
        }
    }

    /// Every contradiction in every policy, each with the kind it belongs to; empty when all are sound.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let faults = |(kind, policy): (&Kind, &JobPolicy)| {
            let faults = policy.validate().into_iter();
            faults
                .map(|fault| format!("kind {kind}: {fault}"))
                .collect::<Vec<_>>()
        };
        self.by_kind.iter().flat_map(faults).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_nobody_declared_has_the_default_policy() {
        let mut policies = Policies::new();
        let refund = Kind::new("refund").unwrap();
        policies.insert(
            refund.clone(),
            JobPolicy {
                attempts_max: 2,
                ..JobPolicy::default()
            },
        );
        assert_eq!(policies.policy(&refund).attempts_max, 2);
        let other = Kind::new("other").unwrap();
        assert_eq!(policies.policy(&other), &JobPolicy::default());
        assert_eq!(policies.kinds().collect::<Vec<_>>(), [&refund]);
    }

    #[test]
    fn faults_name_their_kind() {
        let mut policies = Policies::new();
        policies.insert(
            Kind::new("a").unwrap(),
            JobPolicy {
                attempts_max: 0,
                ..JobPolicy::default()
            },
        );
        let faults = policies.validate();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].starts_with("kind a: attempts_max is 0"),
            "{faults:?}"
        );
    }
}

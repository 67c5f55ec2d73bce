//! The answers for every kind and dependency of a program. It judges nothing itself, and starts nothing.

use std::collections::BTreeMap;

use surefoot_core::checklist::{DependencyFacts, review, review_dependency};
use surefoot_core::id::{Kind, NameError};
use surefoot_core::policy::JobPolicy;

use super::answers::Answers;
use super::reviewed::{Reviewed, ReviewedDependency, ReviewedKind};
use crate::job::Job;
use crate::policies::Policies;

/// What a program answers about its kinds and dependencies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checklist {
    kinds: BTreeMap<Kind, (JobPolicy, Answers)>,
    dependencies: Vec<DependencyFacts>,
}

impl Checklist {
    /// No kinds and no dependencies.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a kind of job as a type.
    ///
    /// # Errors
    /// The kind's name does not fit its bounds.
    pub fn job<J: Job>(self, policy: JobPolicy, answers: Answers) -> Result<Self, NameError> {
        Ok(self.kind(Kind::new(J::KIND)?, policy, answers))
    }

    /// The same with a kind, how it is run and what its author answers; in place of what was said of it before.
    #[must_use]
    pub fn kind(mut self, kind: Kind, policy: JobPolicy, answers: Answers) -> Self {
        self.kinds.insert(kind, (policy, answers));
        self
    }

    /// The same with a dependency; `Policy::facts` of `surefoot-policy` says what is to be said.
    #[must_use]
    pub fn dependency(mut self, facts: DependencyFacts) -> Self {
        self.dependencies.push(facts);
        self
    }

    /// Asks every question of every kind and dependency.
    #[must_use]
    pub fn review(&self) -> Reviewed {
        let mut kinds = Vec::new();
        for (kind, (policy, answers)) in &self.kinds {
            let names = answers.effects.iter().map(|effect| Some(&effect.name));
            let names = names.chain(answers.effects.is_empty().then_some(None));
            for (name, facts) in names.zip(answers.facts(kind, policy)) {
                kinds.push(ReviewedKind {
                    kind: kind.to_string(),
                    effect: name.cloned(),
                    review: review(&facts),
                });
            }
        }
        let dependencies = self.dependencies.iter().map(|facts| ReviewedDependency {
            name: facts.name.clone(),
            faults: review_dependency(facts),
        });
        Reviewed {
            kinds,
            dependencies: dependencies.collect(),
        }
    }

    /// How the kinds that are run differ from what was answered, each with its remedy.
    pub(crate) fn contradicts(&self, policies: &Policies) -> Vec<String> {
        let differs = |kind: &Kind| match self.kinds.get(kind) {
            None => Some(format!(
                "kind {kind} is not on the checklist; answer for it, or leave the checklist out"
            )),
            Some((policy, _)) if policy != policies.policy(kind) => Some(format!(
                "kind {kind} is run by another policy than the one on the checklist; give both the same"
            )),
            Some(_) => None,
        };
        policies.kinds().filter_map(differs).collect()
    }

    /// Every kind with its answers.
    pub(crate) fn into_answers(self) -> impl Iterator<Item = (Kind, Answers)> {
        let kinds = self.kinds.into_iter();
        kinds.map(|(kind, (_, answers))| (kind, answers))
    }
}

//! What core's checklist found, for people and for tests.

use std::fmt;

use surefoot_core::checklist::{Answer, Fault, Review};

/// How wide the column of questions is.
const QUESTION_WIDTH: usize = 37;

/// What a review of a whole program found. Printed, it is every question with its answer, and what is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Reviewed {
    /// Every effect of every kind.
    pub kinds: Vec<ReviewedKind>,
    /// Every dependency.
    pub dependencies: Vec<ReviewedDependency>,
}

/// What a review of one effect of a kind found.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewedKind {
    /// The kind.
    pub kind: String,
    /// The effect; `None` for a kind that does nothing outside.
    pub effect: Option<String>,
    /// The answers, the faults and the worst case.
    pub review: Review,
}

/// What a review of a dependency found.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewedDependency {
    /// Its name.
    pub name: String,
    /// What is contradictory.
    pub faults: Vec<Fault>,
}

impl Reviewed {
    /// Every fault, each beside what has it.
    pub fn faults(&self) -> impl Iterator<Item = (String, &Fault)> {
        let of_kind = |kind: &ReviewedKind| match &kind.effect {
            Some(effect) => format!("kind {}, {effect}", kind.kind),
            None => format!("kind {}", kind.kind),
        };
        let kinds = self.kinds.iter().flat_map(move |kind| {
            let faults = kind.review.faults.iter();
            faults.map(move |fault| (of_kind(kind), fault))
        });
        let dependencies = self.dependencies.iter().flat_map(|dependency| {
            let faults = dependency.faults.iter();
            faults.map(|fault| (format!("dependency {}", dependency.name), fault))
        });
        kinds.chain(dependencies)
    }

    /// Whether every question is answered without contradiction, or its author accepts that it is not. A list without a kind
    /// is not green: it answers nothing.
    #[must_use]
    pub fn is_green(&self) -> bool {
        // A question without an answer is a fault too.
        !self.kinds.is_empty() && self.faults().all(|(_, fault)| fault.waived.is_some())
    }
}

impl fmt::Display for Reviewed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in &self.kinds {
            kind.fmt(f)?;
        }
        for dependency in &self.dependencies {
            writeln!(f, "dependency {}\n", dependency.name)?;
        }
        for (whose, fault) in self.faults() {
            writeln!(f, "{whose}: {}: {}", fault.name.as_str(), fault.what)?;
            match &fault.waived {
                Some(reason) => writeln!(f, "  accepted: {reason}")?,
                None => writeln!(f, "  remedy: {}", fault.remedy)?,
            }
        }
        let faults = self.faults().filter(|(_, fault)| fault.waived.is_none());
        match (self.is_green(), faults.count()) {
            (true, _) => f.write_str("ok"),
            (false, 0) => f.write_str("nothing is answered"),
            (false, faults) => write!(f, "not accepted: {faults}"),
        }
    }
}

impl fmt::Display for ReviewedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.effect {
            Some(effect) => writeln!(f, "kind {}, effect {effect}", self.kind)?,
            None => writeln!(f, "kind {}, which does nothing outside", self.kind)?,
        }
        for (question, answer) in &self.review.answers {
            let text = match answer {
                Answer::Engine(text) | Answer::Declared(text) => text,
                Answer::Missing => "NO ANSWER",
            };
            writeln!(f, "  {:<QUESTION_WIDTH$} {text}", question.text())?;
        }
        let worst = &self.review.worst;
        writeln!(
            f,
            "  at worst {} calls, {} questions and {:?}\n",
            worst.calls_max, worst.questions_max, worst.time_max
        )
    }
}

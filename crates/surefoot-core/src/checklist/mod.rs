//! The questions that a job must have answers to before its first attempt, and the contradictions that an answer may
//! hold. Pure: it looks at facts that a configuration or a program states, and asks nobody.
//!
//! [`review`] answers every [`Question`] for one kind and names every [`Fault`] with its remedy; [`review_dependency`]
//! names those of a dependency. A fault can be waived by its name, with a reason that is printed with it.

mod dependency;
mod duration;
mod facts;
mod fault;
mod question;
mod worst;

pub use dependency::review_dependency;
pub use duration::written;
pub use facts::{
    BreakerFacts, CallFacts, DependencyFacts, KindFacts, RetryFacts, VerifyFacts, Waiver,
};
pub use fault::{Fault, FaultName};
pub use question::{Answer, Question, answers};
pub use worst::{Worst, time_max, worst};

/// What a review of one kind found.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// An answer to every question, in the order of [`Question::ALL`].
    pub answers: Vec<(Question, Answer)>,
    /// What is unanswered or contradictory.
    pub faults: Vec<Fault>,
    /// What one job may cost at worst.
    pub worst: Worst,
}

/// Reviews a kind.
#[must_use]
pub fn review(kind: &KindFacts) -> Review {
    Review {
        answers: answers(kind),
        faults: fault::of_kind(kind),
        worst: worst(kind),
    }
}

#[cfg(test)]
mod tests;

//! What core's checklist says of every kind and dependency of the configuration, for people and as JSON. It judges nothing
//! by itself.

use serde::Serialize;
use surefoot_core::checklist::{
    Answer, Fault, KindFacts, Question, Review, Waiver, review, review_dependency,
};
use surefoot_core::settle::DEFERRALS_MAX;

use super::database::Place;
use super::explain::{Explained, explained};
use super::review_proxy::{Contradiction, ReviewedProxy, reviewed_proxy};

/// The review of a configuration.
#[derive(Debug, Serialize)]
pub(super) struct Reviewed {
    pub(super) kinds: Vec<ReviewedKind>,
    pub(super) dependencies: Vec<ReviewedDependency>,
    pub(super) proxy: Option<ReviewedProxy>,
}

/// The review of one kind.
#[derive(Debug, Serialize)]
pub(super) struct ReviewedKind {
    pub(super) kind: String,
    /// The service that is called; `None` for pull workers.
    pub(super) dependency: Option<String>,
    pub(super) recovery: Option<&'static str>,
    pub(super) answers: Vec<Answered>,
    pub(super) worst: Worst,
    #[serde(flatten)]
    pub(super) found: Found,
}

/// The review of one dependency.
#[derive(Debug, Serialize)]
pub(super) struct ReviewedDependency {
    #[serde(flatten)]
    pub(super) explained: Explained,
    #[serde(flatten)]
    pub(super) found: Found,
}

/// One question with its answer.
#[derive(Debug, Serialize)]
pub(super) struct Answered {
    pub(super) question: &'static str,
    /// `None` when nobody answers it.
    pub(super) answer: Option<String>,
    pub(super) by: Option<By>,
}

/// Who answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// The engine, for every kind the same.
    Engine,
    /// The configuration.
    Configuration,
}

/// The most that one job of a kind may cost, as long as nobody replays it.
#[derive(Debug, Serialize)]
pub(super) struct Worst {
    /// As configured: failures that make a dead letter.
    pub(super) attempts_max: u32,
    /// As configured: lost leases that make a dead letter.
    pub(super) crashes_max: u32,
    /// Calls of all attempts together, those that the dependency's policy repeats included.
    pub(super) calls_max: u32,
    /// Questions about what became of a call, besides.
    pub(super) questions_max: u32,
    /// Calls that the service may turn away on top, such as by 429.
    pub(super) deferrals_max: u32,
    /// From the first start to the end, without waiting in the queue, without what a service asks for by Retry-After and
    /// without questions.
    pub(super) time_max_ms: u64,
}

/// What is unanswered or contradictory, and what of it is accepted.
#[derive(Debug, Serialize)]
pub(super) struct Found {
    pub(super) faults: Vec<Named>,
    /// Waivers that accept nothing, for there is no such fault.
    pub(super) idle_waivers: Vec<&'static str>,
}

/// A fault in the words of core.
#[derive(Debug, Serialize)]
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) what: String,
    pub(super) remedy: String,
    /// Why it is accepted; `None` when it is not.
    pub(super) waived: Option<String>,
}

/// Reviews the whole configuration.
pub(super) fn reviewed(place: &Place) -> Reviewed {
    let config = &place.config;
    let kinds = config.kinds.iter();
    let dependencies = config.dependencies.iter().zip(explained(place));
    Reviewed {
        kinds: kinds
            .map(|(kind, declared)| of_kind(&declared.facts(kind, config.alert.as_deref())))
            .collect(),
        dependencies: dependencies
            .map(|(dependency, explained)| {
                let facts = dependency.facts();
                ReviewedDependency {
                    explained,
                    found: Found::new(review_dependency(&facts), &facts.waivers),
                }
            })
            .collect(),
        proxy: reviewed_proxy(place),
    }
}

fn of_kind(facts: &KindFacts) -> ReviewedKind {
    let Review {
        answers,
        faults,
        worst,
    } = review(facts);
    ReviewedKind {
        kind: facts.kind.clone(),
        dependency: facts.call.as_ref().map(|call| call.dependency.clone()),
        recovery: facts
            .recovery
            .map(surefoot_core::effect::EffectRecovery::as_str),
        answers: answers.into_iter().map(Answered::from).collect(),
        worst: Worst {
            attempts_max: facts.policy.attempts_max,
            crashes_max: facts.policy.crashes_max,
            calls_max: worst.calls_max,
            questions_max: worst.questions_max,
            deferrals_max: DEFERRALS_MAX,
            time_max_ms: u64::try_from(worst.time_max.as_millis()).unwrap_or(u64::MAX),
        },
        found: Found::new(faults, &facts.waivers),
    }
}

impl From<(Question, Answer)> for Answered {
    fn from((question, answer): (Question, Answer)) -> Self {
        let (answer, by) = match answer {
            Answer::Engine(text) => (Some(text), Some(By::Engine)),
            Answer::Declared(text) => (Some(text), Some(By::Configuration)),
            Answer::Missing => (None, None),
        };
        Self {
            question: question.text(),
            answer,
            by,
        }
    }
}

impl Found {
    fn new(faults: Vec<Fault>, waivers: &[Waiver]) -> Self {
        let idle = waivers
            .iter()
            .filter(|waiver| !faults.iter().any(|fault| fault.name == waiver.fault));
        Self {
            idle_waivers: idle.map(|waiver| waiver.fault.as_str()).collect(),
            faults: faults.into_iter().map(Named::from).collect(),
        }
    }
}

impl From<Fault> for Named {
    fn from(fault: Fault) -> Self {
        Self {
            name: fault.name.as_str(),
            what: fault.what,
            remedy: fault.remedy,
            waived: fault.waived,
        }
    }
}

impl Reviewed {
    /// What was found, each beside the name of its section.
    pub(super) fn found(&self) -> impl Iterator<Item = (String, &Found)> {
        let kinds = self.kinds.iter();
        let dependencies = self.dependencies.iter();
        kinds
            .map(|kind| (format!("job.{}", kind.kind), &kind.found))
            .chain(dependencies.map(|dependency| {
                let name = &dependency.explained.dependency;
                (format!("dependency.{name}"), &dependency.found)
            }))
    }

    /// What only the whole file shows to be wrong with the front door.
    pub(super) fn contradictions(&self) -> &[Contradiction] {
        self.proxy
            .as_ref()
            .map_or(&[], |proxy| &proxy.contradictions)
    }

    /// How many faults nobody accepts.
    pub(super) fn standing(&self) -> usize {
        self.unwaived().count() + self.contradictions().len()
    }

    /// Every fault of a kind or dependency that nobody accepts, beside the name of its section.
    pub(super) fn unwaived(&self) -> impl Iterator<Item = (String, &Named)> {
        self.found().flat_map(|(section, found)| {
            let standing = found.faults.iter().filter(|fault| fault.waived.is_none());
            standing.map(move |fault| (section.clone(), fault))
        })
    }
}

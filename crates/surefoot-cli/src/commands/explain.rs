//! What the policy of a dependency amounts to, for people and as JSON: the most sends, the longest time, the guards in
//! their order, and what is odd about it. It adds up nothing by itself.

use std::time::Duration;

use serde::Serialize;
use surefoot_policy::policy::Explanation;

use super::database::Place;
use crate::config::{Dependency, duration};

/// What one call of a dependency may cost at worst, and what guards it.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Explained {
    pub(super) dependency: String,
    /// The kinds that call it.
    kinds: Vec<String>,
    /// Sends of one call, that is of one attempt of a job.
    sends_max: u32,
    /// The longest that one call takes.
    time_max_ms: u64,
    /// What one hundred calls become in the long run, at most.
    sends_per_hundred: f64,
    /// The guards, outermost first.
    order: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Every dependency of the configuration, by name.
pub(super) fn explained(place: &Place) -> Vec<Explained> {
    let kinds = &place.config.kinds;
    let callers = |dependency: &Dependency| {
        kinds
            .iter()
            .filter(|(_, job)| {
                job.request
                    .as_ref()
                    .is_some_and(|request| request.dependency.name == dependency.name)
            })
            .map(|(kind, _)| kind.to_string())
            .collect()
    };
    let dependencies = place.config.dependencies.iter();
    dependencies
        .map(|dependency| explain(dependency, callers(dependency)))
        .collect()
}

fn explain(dependency: &Dependency, kinds: Vec<String>) -> Explained {
    let Explanation {
        sends_max,
        time_max,
        sends_per_hundred,
        mut warnings,
        order,
        ..
    } = dependency.policy.explain();
    if kinds.is_empty() {
        warnings.push("no job kind calls it; remove it, or name it in a [job.KIND]".to_owned());
    } else if dependency.policy.fallback.is_some() {
        warnings.push(
            "its fallback is not served to jobs: a job that cannot call it waits and calls later"
                .to_owned(),
        );
    }
    Explained {
        dependency: dependency.name.to_string(),
        kinds,
        sends_max,
        time_max_ms: u64::try_from(time_max.as_millis()).unwrap_or(u64::MAX),
        sends_per_hundred,
        order,
        warnings,
    }
}

impl Explained {
    /// One paragraph.
    pub(super) fn text(&self) -> String {
        let times = if self.sends_max == 1 { "time" } else { "times" };
        let mut lines = vec![format!(
            "dependency {}: one call is sent at most {} {times} and takes at most {}; one hundred calls become at most {:.0}",
            self.dependency,
            self.sends_max,
            duration::written(Duration::from_millis(self.time_max_ms)),
            self.sends_per_hundred
        )];
        lines.extend(self.order.iter().map(|guard| format!("  {guard}")));
        lines.extend(
            self.warnings
                .iter()
                .map(|warning| format!("  warning: {warning}")),
        );
        lines.join("\n")
    }
}

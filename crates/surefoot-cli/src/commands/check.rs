//! `check`: every fault of the configuration, or what a job of each kind and a call of each dependency may cost at worst.

use std::time::Duration;

use serde::Serialize;
use surefoot_core::id::Kind;
use surefoot_core::settle::DEFERRALS_MAX;

use super::database::Place;
use super::explain::{Explained, explained};
use super::serve;
use crate::args::Shared;
use crate::config::horizon::time_max;
use crate::config::{JobKind, duration};
use crate::exit::Failed;
use crate::output::{Output, Table};

/// What the columns leave open.
const NOTE: &str = "\
Calls that a rate limit turned away (429 with Retry-After) come on top of the attempts, and what a service asks for by
Retry-After on top of the time, unless the kind has a deadline.";

/// The most that one job of a kind may cost, as long as nobody replays it.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Worst {
    kind: String,
    /// The service that is called; `None` for pull workers.
    dependency: Option<String>,
    recovery: Option<&'static str>,
    /// Attempts that may reach the service: failed ones and lost ones.
    attempts_max: u32,
    /// Calls of all attempts together, those that the dependency's policy repeats included.
    calls_max: u32,
    /// Calls that the service may turn away on top, such as by 429.
    deferrals_max: u32,
    /// From the first start to the end, without waiting in the queue and without what a service asks for by
    /// Retry-After.
    time_max_ms: u64,
}

pub(super) fn run(shared: &Shared, output: Output) -> Result<(), Failed> {
    let place = Place::new(shared)?;
    serve::may_listen(place.config.server.listen.unwrap_or(serve::LISTEN), &place)?;
    let worst: Vec<Worst> = place
        .config
        .kinds
        .iter()
        .map(|(kind, declared)| worst(kind, declared))
        .collect();
    let file = place
        .config_file
        .as_ref()
        .map(|path| path.display().to_string());
    let dependencies = explained(&place);
    let document = serde_json::json!({
        "ok": true,
        "file": file,
        "kinds": worst,
        "dependencies": dependencies,
    });
    output.answer(&document, || {
        let file = file.unwrap_or_else(|| "no configuration".to_owned());
        format!("{}{}{file}: ok", text(&worst), paragraphs(&dependencies))
    })?;
    Ok(())
}

fn paragraphs(dependencies: &[Explained]) -> String {
    dependencies
        .iter()
        .map(|dependency| format!("{}\n\n", dependency.text()))
        .collect()
}

fn text(worst: &[Worst]) -> String {
    if worst.is_empty() {
        return String::new();
    }
    let mut table = Table::new([
        "kind",
        "calls",
        "recovery",
        "attempts at most",
        "calls at most",
        "turned away at most",
        "time at most",
    ]);
    for worst in worst {
        table.row([
            worst.kind.clone(),
            worst
                .dependency
                .clone()
                .unwrap_or_else(|| "(pull workers)".to_owned()),
            worst.recovery.unwrap_or("(none)").to_owned(),
            worst.attempts_max.to_string(),
            worst.calls_max.to_string(),
            worst.deferrals_max.to_string(),
            duration::written(Duration::from_millis(worst.time_max_ms)),
        ]);
    }
    format!("{}\n\n{NOTE}\n\n", table.text())
}

fn worst(kind: &Kind, declared: &JobKind) -> Worst {
    let policy = &declared.policy;
    let time_max = time_max(policy);
    let attempts_max = policy
        .attempts_max
        .saturating_add(policy.crashes_max)
        .saturating_sub(1);
    let sends_max = declared
        .request
        .as_ref()
        .map_or(1, |request| request.dependency.policy.explain().sends_max);
    Worst {
        kind: kind.to_string(),
        dependency: declared
            .request
            .as_ref()
            .map(|request| request.dependency.name.to_string()),
        recovery: match &declared.request {
            Some(request) => Some(request.recovery.unknown().as_str()),
            None => policy.recovery.map(surefoot_core::policy::Recovery::as_str),
        },
        attempts_max,
        calls_max: attempts_max.saturating_mul(sends_max),
        deferrals_max: DEFERRALS_MAX,
        time_max_ms: u64::try_from(time_max.as_millis()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use surefoot_core::backoff::{Backoff, Jitter};
    use surefoot_core::policy::JobPolicy;

    #[test]
    fn the_worst_case_adds_up() {
        let s = Duration::from_secs;
        let policy = JobPolicy {
            attempts_max: 3,
            crashes_max: 2,
            backoff: Backoff::List {
                delays: vec![s(10), s(20)],
                jitter: Jitter::None,
            },
            ..JobPolicy::with_timeout(s(30))
        };
        let worst = worst(
            &Kind::new("k").unwrap(),
            &JobKind {
                policy,
                request: None,
            },
        );
        assert_eq!((worst.attempts_max, worst.time_max_ms), (4, 240_000));
    }
}

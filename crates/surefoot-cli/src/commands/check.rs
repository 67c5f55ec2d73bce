//! `check`: every fault of the file; and when it loads, every question of the checklist with its answer, what a job of each
//! kind and a call of each dependency may cost at worst, what is accepted and what is wrong. It starts nothing.

use std::time::Duration;

use super::database::Place;
use super::front_door;
use super::review::{Answered, By, Reviewed, ReviewedKind, reviewed};
use super::review_proxy::ReviewedProxy;
use super::serve;
use crate::args::Shared;
use crate::config::duration;
use crate::exit::{Code, Failed};
use crate::output::{Output, Table, plain};

/// What the columns leave open.
const NOTE: &str = "\
Calls that a rate limit turned away (429 with Retry-After) come on top of the attempts, and what a service asks for by
Retry-After on top of the time, unless the kind has a deadline. Questions ask what became of a call; they
take no attempt, and their waits come on top of the time as well.";
/// How wide the column of questions is.
const QUESTION_WIDTH: usize = 37;

pub(super) fn run(shared: &Shared, output: Output) -> Result<(), Failed> {
    let place = Place::new(shared)?;
    serve::may_listen(place.config.server.listen.unwrap_or(serve::LISTEN), &place)?;
    if let Some(section) = &place.config.proxy {
        front_door::may_listen(section, Code::Configuration)?;
    }
    let file = place
        .config_file
        .as_ref()
        .map(|path| path.display().to_string());
    let reviewed = reviewed(&place);
    let standing = reviewed.standing();
    let document = serde_json::json!({
        "ok": standing == 0,
        "file": file,
        "faults": standing,
        "kinds": reviewed.kinds,
        "dependencies": reviewed.dependencies,
        "proxy": reviewed.proxy,
    });
    let file = file.unwrap_or_else(|| "no configuration".to_owned());
    output.answer(&document, || plain(&text(&reviewed, &file)))?;
    if standing == 0 {
        return Ok(());
    }
    Err(Failed::new(
        Code::Failed,
        format!("{file} has {} that nobody accepted", faults(standing)),
        "do what the remedies say, or accept one in its section: waive = { NAME = \"why\" }",
    ))
}

/// A count of faults in words.
pub(super) fn faults(count: usize) -> String {
    let faults = if count == 1 { "fault" } else { "faults" };
    format!("{count} {faults}")
}

fn text(reviewed: &Reviewed, file: &str) -> String {
    let mut parts = Vec::new();
    if let Some(first) = reviewed.kinds.first() {
        parts.push(format!(
            "every kind, by the engine\n{}",
            answers(first, true)
        ));
    }
    parts.extend(reviewed.kinds.iter().map(kind));
    if !reviewed.kinds.is_empty() {
        parts.push(format!("{}\n\n{NOTE}", worst(&reviewed.kinds)));
    }
    let dependencies = reviewed.dependencies.iter();
    parts.extend(dependencies.map(|dependency| dependency.explained.text()));
    parts.extend(reviewed.proxy.as_ref().map(ReviewedProxy::text));
    parts.extend(accepted(reviewed));
    parts.push(verdict(reviewed, file));
    parts.join("\n\n")
}

/// The answers of one kind that are its own, and those that are missing.
fn kind(kind: &ReviewedKind) -> String {
    let whose = match &kind.dependency {
        Some(dependency) => format!("calls {dependency}"),
        None => "for pull workers".to_owned(),
    };
    format!("kind {}, {whose}\n{}", kind.kind, answers(kind, false))
}

/// The answers by the engine, or the others, among them those that nobody gave.
fn answers(kind: &ReviewedKind, by_engine: bool) -> String {
    let shown = |answered: &&Answered| (answered.by == Some(By::Engine)) == by_engine;
    let line = |answered: &Answered| {
        let answer = answered.answer.as_deref().unwrap_or("NO ANSWER");
        format!("  {:<QUESTION_WIDTH$} {answer}", answered.question)
    };
    let lines: Vec<String> = kind.answers.iter().filter(shown).map(line).collect();
    lines.join("\n")
}

fn worst(kinds: &[ReviewedKind]) -> String {
    let mut table = Table::new([
        "kind",
        "recovery",
        "calls at most",
        "questions at most",
        "turned away at most",
        "time at most",
    ]);
    for kind in kinds {
        let worst = &kind.worst;
        table.row([
            kind.kind.clone(),
            kind.recovery.unwrap_or("(none)").to_owned(),
            worst.calls_max.to_string(),
            worst.questions_max.to_string(),
            worst.deferrals_max.to_string(),
            duration::written(Duration::from_millis(worst.time_max_ms)),
        ]);
    }
    table.text()
}

/// What is accepted, each by its name and with its reason, and the waivers that are not needed.
fn accepted(reviewed: &Reviewed) -> Option<String> {
    let mut lines = Vec::new();
    for (section, found) in reviewed.found() {
        for fault in &found.faults {
            if let Some(reason) = &fault.waived {
                let (name, what) = (fault.name, &fault.what);
                lines.push(format!(
                    "  [{section}] {name}: {what}\n    because: {reason}"
                ));
            }
        }
        for name in &found.idle_waivers {
            lines.push(format!(
                "  [{section}] {name}: there is no such fault; remove the waiver"
            ));
        }
    }
    (!lines.is_empty()).then(|| format!("accepted\n{}", lines.join("\n")))
}

fn verdict(reviewed: &Reviewed, file: &str) -> String {
    let mut lines: Vec<String> = reviewed
        .unwaived()
        .map(|(section, fault)| {
            let (name, what, remedy) = (fault.name, &fault.what, &fault.remedy);
            format!("  [{section}] {name}: {what}\n    remedy: {remedy}")
        })
        .collect();
    let contradictions = reviewed.contradictions().iter();
    lines.extend(
        contradictions
            .map(|found| format!("  [proxy] {}\n    remedy: {}", found.what, found.remedy)),
    );
    if lines.is_empty() {
        format!("{file}: ok")
    } else {
        format!("{file}: {}\n{}", faults(lines.len()), lines.join("\n"))
    }
}

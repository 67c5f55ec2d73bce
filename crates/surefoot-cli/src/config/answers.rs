//! What an author answers in words: what a kind does outside, who is told of its dead letters, and which faults of the
//! checklist are accepted and why. It reads words; whether something is a fault is core's decision.

use surefoot_core::checklist::{FaultName, Waiver};

use super::section::{Entry, Section, nearest};

/// The longest answer, in characters.
pub(super) const WORDS_CHARS_MAX: usize = 300;

/// The faults of a kind that can be accepted. A file with any other does not load.
pub(super) const OF_A_KIND: [FaultName; 7] = [
    FaultName::NoSideEffect,
    FaultName::NoRecovery,
    FaultName::NoJitter,
    FaultName::NoAlert,
    FaultName::RetryLayers,
    FaultName::AtMostOnceRetries,
    FaultName::BackoffDeadline,
];
/// The faults of a dependency that can be accepted. A file with any other does not load.
pub(super) const OF_A_DEPENDENCY: [FaultName; 4] = [
    FaultName::NoJitter,
    FaultName::RetryBudget,
    FaultName::BreakerNever,
    FaultName::BreakerEager,
];

/// What `[job.KIND]` answers in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Answers {
    /// What it does outside.
    pub(crate) effect: Option<String>,
    /// Who is told of its dead letters, if others than of all kinds.
    pub(crate) alert: Option<String>,
    /// What is accepted.
    pub(crate) waivers: Vec<Waiver>,
}

/// Reads the answers of a kind; `None` when one is wrong.
pub(super) fn of_kind(section: &Section<'_>) -> Option<Answers> {
    let effect = text(section, "effect");
    let alert = text(section, "alert");
    let waivers = waivers(section, &OF_A_KIND, "a kind");
    Some(Answers {
        effect: effect?,
        alert: alert?,
        waivers: waivers?,
    })
}

/// Reads what is accepted about a dependency; `None` when it is wrong.
pub(super) fn of_dependency(section: &Section<'_>) -> Option<Vec<Waiver>> {
    waivers(section, &OF_A_DEPENDENCY, "a dependency")
}

/// Reads `[alerts]`: who is told of the dead letters of all kinds; the outer `None` when it is wrong.
pub(super) fn of_all(section: &Section<'_>) -> Option<Option<String>> {
    let dead_letters = text(section, "dead_letters");
    section.finish();
    dead_letters
}

fn text(section: &Section<'_>, key: &'static str) -> Option<Option<String>> {
    section
        .text(key)
        .check(section.faults, |text| words(key, text))
        .optional()
}

fn words(key: &str, text: &str) -> Result<String, String> {
    let words = text.trim();
    if words.is_empty() {
        Err(format!(
            "{key} says nothing; write it in words, or remove it"
        ))
    } else if words.chars().count() > WORDS_CHARS_MAX {
        Err(format!(
            "{key} has more than {WORDS_CHARS_MAX} characters; say it in fewer"
        ))
    } else if words.contains(char::is_control) {
        Err(format!(
            "{key} holds a line break or another control character; write it on one line"
        ))
    } else {
        Ok(words.to_owned())
    }
}

/// `waive = { NAME = "why" }`.
fn waivers(section: &Section<'_>, known: &[FaultName], whose: &str) -> Option<Vec<Waiver>> {
    if section.value("waive").is_none() {
        return Some(Vec::new());
    }
    let (entries, mut sound) = section.section("waive")?.entries();
    let mut waivers = Vec::new();
    for entry in entries {
        match waiver(&entry, known, whose) {
            Ok(waiver) => waivers.push(waiver),
            Err((span, refusal)) => {
                sound = false;
                section.faults.note_text(span, &refusal);
            }
        }
    }
    sound.then_some(waivers)
}

fn waiver(
    entry: &Entry<'_>,
    known: &[FaultName],
    whose: &str,
) -> Result<Waiver, (super::fault::Span, String)> {
    let named = FaultName::parse(entry.name).filter(|name| known.contains(name));
    let Some(fault) = named else {
        let refusal = unknown(entry.name, known, whose);
        return Err((entry.name_span.clone(), refusal));
    };
    match words(entry.name, entry.text) {
        Ok(reason) => Ok(Waiver { fault, reason }),
        Err(_) if entry.text.trim().is_empty() => Err((
            entry.text_span.clone(),
            format!(
                "the waiver {} has no reason; say why it is accepted",
                entry.name
            ),
        )),
        Err(refusal) => Err((entry.text_span.clone(), refusal)),
    }
}

fn unknown(name: &str, known: &[FaultName], whose: &str) -> String {
    let words: Vec<&str> = known.iter().map(|fault| fault.as_str()).collect();
    let remedy = match nearest(name, &words) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("give one of: {}", words.join(", ")),
    };
    let what = match FaultName::parse(name) {
        Some(_) => format!("{name} is no fault that {whose} can be run with"),
        None => format!("there is no fault {name:?}"),
    };
    format!("{what}; {remedy}")
}

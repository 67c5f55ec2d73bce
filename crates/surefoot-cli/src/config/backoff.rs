//! `backoff` and `jitter` of a kind: a list of durations, or base, factor and cap. Whether they make sense is
//! core's decision.

use std::time::Duration;

use surefoot_core::backoff::{Backoff, Jitter};
use toml::de::{DeArray, DeValue};

use super::section::{Field, Section};
use super::value::{as_number, duration_above_zero};

/// How far a delay of a list is spread when no jitter is given: a quarter to each side.
const SPREAD: f64 = 0.25;
/// What a delay grows by when no factor is given.
pub(super) const FACTOR: f64 = 2.0;
/// The longest delay when no cap is given.
pub(super) const CAP: Duration = Duration::from_secs(600);

/// The words of a jitter.
pub(super) const WORDS: [&str; 4] = ["none", "full", "equal", "decorrelated"];

/// Delays without their jitter.
enum Delays {
    List(Vec<Duration>),
    Exponential {
        base: Duration,
        factor: f64,
        cap: Duration,
    },
}

/// Reads both fields; `None` when one is wrong. Without `backoff` the delays are core's default ones.
pub(super) fn read(section: &Section<'_>) -> Option<Backoff> {
    let delays = delays(section);
    let jitter = jitter(section);
    let span = delays
        .span()
        .or(jitter.span())
        .unwrap_or(section.header.clone());
    let backoff = match (delays.optional()?, jitter.optional()?) {
        (None, None) => Backoff::default(),
        (None, Some(jitter)) => with_jitter(Backoff::default(), jitter),
        (Some(Delays::List(delays)), jitter) => Backoff::List {
            delays,
            jitter: jitter.unwrap_or(Jitter::Fraction(SPREAD)),
        },
        (Some(Delays::Exponential { base, factor, cap }), jitter) => Backoff::Exponential {
            base,
            factor,
            cap,
            jitter: jitter.unwrap_or(Jitter::Full),
        },
    };
    let faults = backoff.validate();
    faults.iter().for_each(|fault| {
        section
            .faults
            .note_text(span.clone(), &format!("backoff: {fault}"))
    });
    faults.is_empty().then_some(backoff)
}

fn with_jitter(backoff: Backoff, jitter: Jitter) -> Backoff {
    match backoff {
        Backoff::List { delays, .. } => Backoff::List { delays, jitter },
        Backoff::Exponential {
            base, factor, cap, ..
        } => Backoff::Exponential {
            base,
            factor,
            cap,
            jitter,
        },
    }
}

fn delays(section: &Section<'_>) -> Field<Delays> {
    let Some(value) = section.value("backoff") else {
        return Field::Absent;
    };
    match value.get_ref() {
        DeValue::Array(items) => list(section, items).map_or(Field::Faulty, |list| {
            Field::Given(Delays::List(list), value.span())
        }),
        DeValue::Table(_) => {
            exponential(section).map_or(Field::Faulty, |delays| Field::Given(delays, value.span()))
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {
            section.faults.note(
                value.span(),
                "backoff is neither a list nor a table",
                "give a list such as [\"10s\", \"30s\"], or { base = \"1s\", factor = 2, cap = \"10m\" }",
            );
            Field::Faulty
        }
    }
}

fn list(section: &Section<'_>, items: &DeArray<'_>) -> Option<Vec<Duration>> {
    let mut delays = Vec::new();
    for item in items.iter() {
        let read = match item.get_ref().as_str() {
            Some(text) => duration_above_zero("backoff", text),
            None => Err(
                "backoff holds something else than durations; give a list such as [\"10s\"]"
                    .to_owned(),
            ),
        };
        match read {
            Ok(delay) => delays.push(delay),
            Err(fault) => section.faults.note_text(item.span(), &fault),
        }
    }
    (delays.len() == items.len()).then_some(delays)
}

fn exponential(section: &Section<'_>) -> Option<Delays> {
    let table = section.section("backoff")?;
    let (base, factor, cap) = (
        table.duration("base"),
        table.number("factor"),
        table.duration("cap"),
    );
    if base == Field::Absent {
        table.missing("base", "add the first delay, such as base = \"1s\"");
    }
    table.finish();
    Some(Delays::Exponential {
        base: base.optional()??,
        factor: factor.or(FACTOR)?,
        cap: cap.or(CAP)?,
    })
}

fn jitter(section: &Section<'_>) -> Field<Jitter> {
    let Some(value) = section.value("jitter") else {
        return Field::Absent;
    };
    let read = match value.get_ref() {
        DeValue::String(word) => word_of_jitter(word),
        number => as_number(number).map(Jitter::Fraction),
    };
    match read {
        Some(jitter) => Field::Given(jitter, value.span()),
        None => {
            section.faults.note(
                value.span(),
                "jitter is none that is known",
                "give \"full\", \"equal\", \"decorrelated\", \"none\", or a fraction such as 0.25",
            );
            Field::Faulty
        }
    }
}

fn word_of_jitter(word: &str) -> Option<Jitter> {
    match word {
        "none" => Some(Jitter::None),
        "full" => Some(Jitter::Full),
        "equal" => Some(Jitter::Equal),
        "decorrelated" => Some(Jitter::Decorrelated),
        _ => None,
    }
}

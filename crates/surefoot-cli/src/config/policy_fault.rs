//! What is wrong with the parts of a policy: puts the words of its text form into those of the other faults, and finds the
//! place. It never decides whether something is wrong.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::Span;
use super::keys::Table;
use super::section::{Section, nearest};

/// The key that the text form sees where a date stands in the place of a table.
const DATE: &str = "$__toml_private_datetime";

/// What was taken out of a table: the tables above it, and its key.
pub(super) struct Removed {
    above: Vec<String>,
    key: String,
}

/// Takes out every list that stands where a table is declared, and takes note of it; whether there was one.
pub(super) fn remove_lists(
    section: &Section<'_>,
    declared: &[&'static Table],
    table: &mut DeTable<'_>,
) -> bool {
    let mut lists = Vec::new();
    let mut found = false;
    for (name, value) in table.iter_mut() {
        let text: &str = name.get_ref();
        let keys = declared.iter().flat_map(|table| &table.keys);
        let tables: Vec<&'static Table> = keys
            .filter(|key| key.name == text)
            .flat_map(|key| key.shape.tables())
            .collect();
        if tables.is_empty() {
            continue;
        }
        if value.get_ref().is_array() {
            section.wrong_type(text, value, "a table");
            lists.push(text.to_owned());
        } else if let DeValue::Table(inner) = value.get_mut() {
            found |= remove_lists(section, &tables, inner);
        }
    }
    for list in &lists {
        table.remove(list.as_str());
    }
    found || !lists.is_empty()
}

/// Takes the innermost entry that `span` points to out of the table.
pub(super) fn remove(table: &mut DeTable<'_>, span: &Span) -> Option<Removed> {
    let mut found = None;
    for (key, value) in table.iter_mut() {
        let name: &str = key.get_ref();
        let (key_span, value_span) = (key.span(), value.span());
        if let DeValue::Table(inner) = value.get_mut()
            && let Some(mut removed) = remove(inner, span)
        {
            removed.above.insert(0, name.to_owned());
            return Some(removed);
        }
        if key_span == *span || (value_span.start <= span.start && span.end <= value_span.end) {
            found = Some(name.to_owned());
        }
    }
    let key = found?;
    table.remove(key.as_str())?;
    Some(Removed {
        above: Vec::new(),
        key,
    })
}

/// Whether the table has an entry at this path.
pub(super) fn has(table: &DeTable<'_>, path: &[&str]) -> bool {
    at(table, path).is_some()
}

/// Where the entry stands that a fault of the whole begins with, such as `breaker.window`.
pub(super) fn place(fault: &str, table: &DeTable<'_>) -> Option<Span> {
    let word = fault.split([' ', ':']).next()?;
    let path: Vec<&str> = word.split('.').collect();
    (1..=path.len()).rev().find_map(|length| {
        let value = at(table, path.get(..length)?)?;
        Some(value.span())
    })
}

fn at<'t, 'd>(table: &'t DeTable<'d>, path: &[&str]) -> Option<&'t Spanned<DeValue<'d>>> {
    let (last, above) = path.split_last()?;
    let mut table = table;
    for key in above {
        table = table.get(*key)?.get_ref().as_table()?;
    }
    table.get(*last)
}

/// Takes note of one fault, in the words of the other faults of the file.
pub(super) fn note(section: &Section<'_>, span: &Span, removed: Option<&Removed>, message: &str) {
    let (path, key) = match removed {
        Some(Removed { above, key }) => (
            std::iter::once(section.name.as_str())
                .chain(above.iter().map(String::as_str))
                .collect::<Vec<_>>()
                .join("."),
            key.as_str(),
        ),
        None => (section.name.clone(), ""),
    };
    let (what, remedy) = in_words(&path, key, message);
    section.faults.note(span.clone(), what, remedy);
}

fn in_words(path: &str, key: &str, message: &str) -> (String, String) {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field ") {
        let Some((unknown, known)) = names.split_first() else {
            return (message.to_owned(), String::new());
        };
        if *unknown == DATE {
            return (format!("{key} is a date"), "give a table".to_owned());
        }
        let remedy = match nearest(unknown, known) {
            Some(name) => format!("did you mean {name:?}?"),
            None => format!("remove it; known here: {}", known.join(", ")),
        };
        return (format!("unknown key {unknown:?} in [{path}]"), remedy);
    }
    if message.starts_with("unknown variant ") {
        let quoted: Vec<String> = names
            .iter()
            .skip(1)
            .map(|name| format!("{name:?}"))
            .collect();
        let unknown = names.first().copied().unwrap_or_default();
        return (
            format!("{key} {unknown:?} is unknown"),
            format!("give one of: {}", quoted.join(", ")),
        );
    }
    if message.starts_with("missing field ") {
        let missing = names.first().copied().unwrap_or_default();
        return (
            format!("[{path}.{key}] has no {missing}"),
            format!("add {missing} = ..., or remove [{path}.{key}]"),
        );
    }
    if let Some((found, expected)) = message
        .strip_prefix("invalid type: ")
        .or_else(|| message.strip_prefix("invalid value: "))
        .and_then(|rest| rest.split_once(", expected "))
    {
        return (
            format!("{key} is {}", found_in_words(found)),
            format!("give {}", expected_in_words(expected)),
        );
    }
    let (what, remedy) = message
        .split_once("; ")
        .unwrap_or((message, "see docs/configuration.md"));
    let what = if what.starts_with(key) {
        what.to_owned()
    } else {
        format!("{key}: {what}")
    };
    (what, remedy.to_owned())
}

fn found_in_words(found: &str) -> String {
    let named = [
        ("integer `", "the whole number "),
        ("floating point `", "the number "),
        ("boolean `", ""),
    ];
    for (prefix, words) in named {
        if let Some(value) = found.strip_prefix(prefix) {
            return format!("{words}{}", value.trim_end_matches('`'));
        }
    }
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        other => other.replacen("string ", "the text ", 1),
    }
}

fn expected_in_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

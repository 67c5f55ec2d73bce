//! Which key of the file stands at a place, for faults that are pointed at a place. It reads the syntax only.

use toml::de::{DeTable, DeValue};

use super::fault::{Key, Span};

/// The innermost key that `span` lies in: in its name or in its value. The default one where there is none.
pub(super) fn key_at(table: &DeTable<'_>, span: &Span) -> Key {
    let mut parts = Vec::new();
    collect(table, span, &mut parts);
    let quoted: Vec<String> = parts.iter().map(|part| quoted(part)).collect();
    Key {
        path: quoted.join("."),
        name: parts.pop().unwrap_or_default().to_owned(),
    }
}

/// Adds the parts of the key below `table`; whether there is one.
fn collect<'t>(table: &'t DeTable<'_>, span: &Span, parts: &mut Vec<&'t str>) -> bool {
    for (name, value) in table.iter() {
        parts.push(AsRef::<str>::as_ref(name.get_ref()));
        // The span of a table of a `[header]` need not hold its keys, so they are looked at in any case.
        let found = below(value.get_ref(), span, parts);
        if found || within(name.span(), span) || within(value.span(), span) {
            return true;
        }
        parts.pop();
    }
    false
}

fn below<'t>(value: &'t DeValue<'_>, span: &Span, parts: &mut Vec<&'t str>) -> bool {
    match value {
        DeValue::Table(table) => collect(table, span, parts),
        DeValue::Array(items) => items
            .iter()
            .any(|item| below(item.get_ref(), span, parts) || within(item.span(), span)),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => false,
    }
}

fn within(outer: Span, span: &Span) -> bool {
    outer.start <= span.start && span.end <= outer.end
}

/// As it stands in a file.
fn quoted(part: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !part.is_empty() && part.chars().all(bare) {
        part.to_owned()
    } else {
        format!("{part:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_key_of_a_place_is_found() {
        let text =
            "[a]\nb = { c = [\"x\", { d = 1 }] }\n[[r]]\ne = 2\n[[r]]\nf = 3\n[q.\"m n\"]\ng = 4\n";
        let table = DeTable::parse(text).unwrap();
        for (sought, path, name) in [
            ("a]", "a", "a"),
            ("b =", "a.b", "b"),
            ("c =", "a.b.c", "c"),
            ("\"x\"", "a.b.c", "c"),
            ("d =", "a.b.c.d", "d"),
            ("1 }", "a.b.c.d", "d"),
            ("2", "r.e", "e"),
            ("3", "r.f", "f"),
            ("[[r]]\nf", "r", "r"),
            ("\"m n\"", "q.\"m n\"", "m n"),
            ("4", "q.\"m n\".g", "g"),
        ] {
            let at = text.find(sought).unwrap();
            let found = key_at(table.get_ref(), &(at..at + 1));
            assert_eq!((found.path.as_str(), found.name.as_str()), (path, name));
        }
        assert_eq!(key_at(table.get_ref(), &(500..501)), Key::default());
    }
}

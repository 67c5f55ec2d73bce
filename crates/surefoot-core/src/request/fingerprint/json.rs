//! The members of a JSON object as fields, so that a mismatch can name them. It reads canonical text only.

/// How deep fields are told apart; what lies deeper is part of the field above it.
const DEPTH_MAX: usize = 3;

/// The fields of a canonical JSON text, named by their path under `body`.
pub(super) fn fields(canonical: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    collect("body", canonical, 0, &mut found);
    found
}

fn collect(name: &str, value: &str, depth: usize, found: &mut Vec<(String, Vec<u8>)>) {
    let members = if depth < DEPTH_MAX {
        members(value)
    } else {
        Vec::new()
    };
    if members.is_empty() {
        found.push((name.to_owned(), value.as_bytes().to_vec()));
    }
    for (key, value) in members {
        collect(&format!("{name}.{key}"), value, depth + 1, found);
    }
}

/// The members of an object, each key as it is written between its quotes; none for any other value.
fn members(object: &str) -> Vec<(&str, &str)> {
    let Some(inner) = object
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
    else {
        return Vec::new();
    };
    let mut members = Vec::new();
    let mut rest = inner;
    while !rest.is_empty() {
        let end = end_of_value(rest);
        let (member, tail) = rest.split_at(end);
        let key_end = end_of_string(member);
        members.push((&member[1..key_end - 1], &member[key_end + 1..]));
        rest = tail.strip_prefix(',').unwrap_or(tail);
    }
    members
}

/// Where the text ends that stands before the next comma of its own level.
fn end_of_value(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += end_of_string(&text[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// The length of the string that the text begins with, its quotes with it.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

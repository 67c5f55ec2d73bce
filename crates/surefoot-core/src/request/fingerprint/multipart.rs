//! The parts of a `multipart/form-data` body (RFC 7578). The boundary differs with every send and means nothing; what is
//! no such body is `None` and counts by its bytes.

use super::push;

/// The most parts that are told apart; a body with more counts by its bytes.
const PARTS_MAX: usize = 1000;

/// The most bytes of a boundary (RFC 2046, section 5.1.1).
const BOUNDARY_BYTES_MAX: usize = 70;

/// One part.
pub(super) struct Part {
    /// The name of its field.
    pub(super) name: Vec<u8>,
    /// Its headers and its content, as bytes that no other part has.
    pub(super) bytes: Vec<u8>,
}

/// The parts of a body, in the order of their names; parts of one name keep their order.
pub(super) fn parts(content_type: &[u8], body: &[u8]) -> Option<Vec<Part>> {
    let boundary = parameter(content_type, b"boundary")?;
    if boundary.len() > BOUNDARY_BYTES_MAX {
        return None;
    }
    let delimiter = [b"--", &boundary[..]].concat();
    let mut rest = after_delimiter(body, &delimiter, true)?.1;
    let mut parts = Vec::new();
    while !rest.starts_with(b"--") {
        if parts.len() == PARTS_MAX {
            return None;
        }
        let content = after_line_end(rest)?;
        let (found, tail) = after_delimiter(content, &delimiter, false)?;
        parts.push(part(found)?);
        rest = tail;
    }
    parts.sort_by(|a, b| a.name.cmp(&b.name));
    Some(parts)
}

/// What stands before the next delimiter at the beginning of a line, and what follows it.
fn after_delimiter<'a>(
    text: &'a [u8],
    delimiter: &[u8],
    at_start: bool,
) -> Option<(&'a [u8], &'a [u8])> {
    if at_start && text.starts_with(delimiter) {
        return Some((&[], &text[delimiter.len()..]));
    }
    let line = [b"\r\n", delimiter].concat();
    let at = find(text, &line)?;
    Some((&text[..at], &text[at + line.len()..]))
}

/// What follows the end of a line that holds nothing but spaces.
fn after_line_end(text: &[u8]) -> Option<&[u8]> {
    let at = find(text, b"\r\n")?;
    text[..at]
        .iter()
        .all(|byte| matches!(byte, b' ' | b'\t'))
        .then(|| &text[at + 2..])
}

fn part(text: &[u8]) -> Option<Part> {
    let (head, content) = match text.strip_prefix(b"\r\n") {
        Some(content) => (&text[..0], content),
        None => {
            let at = find(text, b"\r\n\r\n")?;
            (&text[..at], &text[at + 4..])
        }
    };
    let mut headers: Vec<(Vec<u8>, &[u8])> = Vec::new();
    for line in head.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        headers.push((
            line[..colon].to_ascii_lowercase(),
            line[colon + 1..].trim_ascii(),
        ));
    }
    headers.sort();
    let disposition = headers
        .iter()
        .find(|(name, _)| name == b"content-disposition");
    let name = disposition
        .and_then(|(_, value)| parameter(value, b"name"))
        .unwrap_or_default();
    let mut bytes = Vec::with_capacity(text.len());
    for (header, value) in &headers {
        push(&mut bytes, header);
        push(&mut bytes, value);
    }
    push(&mut bytes, content);
    Some(Part { name, bytes })
}

/// The value of a parameter of a header, such as `boundary`, without its quotes.
fn parameter(header: &[u8], wanted: &[u8]) -> Option<Vec<u8>> {
    let mut rest = &header[header.iter().position(|byte| *byte == b';')? + 1..];
    loop {
        let equals = rest.iter().position(|byte| *byte == b'=')?;
        let name = rest[..equals].trim_ascii();
        let (value, tail) = value(rest[equals + 1..].trim_ascii_start());
        if name.eq_ignore_ascii_case(wanted) {
            return (!value.is_empty()).then_some(value);
        }
        rest = &tail[tail.iter().position(|byte| *byte == b';')? + 1..];
    }
}

/// A token or a string in quotes, and what follows it.
fn value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        let end = text
            .iter()
            .position(|byte| *byte == b';')
            .unwrap_or(text.len());
        return (text[..end].trim_ascii_end().to_vec(), &text[end..]);
    };
    let (mut value, mut escaped) = (Vec::new(), false);
    for (at, byte) in quoted.iter().enumerate() {
        match byte {
            _ if escaped => {
                value.push(*byte);
                escaped = false;
            }
            b'\\' => escaped = true,
            b'"' => return (value, &quoted[at + 1..]),
            byte => value.push(*byte),
        }
    }
    (value, &[])
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = text[from..].iter().position(|byte| *byte == first) {
        if text[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

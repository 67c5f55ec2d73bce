//! Pairs of names and values, as a query and a form have them (WHATWG URL, section 5.1). Spellings of one pair are one:
//! `+`, `%20`; the order of different names means nothing, that of pairs of one name does.

use super::push;

/// A name and a value, decoded.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// The pairs, in the order of their names.
pub(super) fn pairs(text: &[u8]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = text
        .split(|byte| *byte == b'&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| match pair.iter().position(|byte| *byte == b'=') {
            Some(at) => (decoded(&pair[..at]), decoded(&pair[at + 1..])),
            None => (decoded(pair), Vec::new()),
        })
        .collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs
}

/// The pairs as bytes that no other pairs have.
pub(super) fn canonical(pairs: &[Pair]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in pairs {
        push(&mut bytes, name);
        push(&mut bytes, value);
    }
    bytes
}

/// One field for each name, its value all that the name has.
pub(super) fn groups(prefix: &str, pairs: &[Pair]) -> Vec<(String, Vec<u8>)> {
    pairs
        .chunk_by(|a, b| a.0 == b.0)
        .map(|group| {
            let name = String::from_utf8_lossy(&group[0].0);
            (format!("{prefix}.{name}"), canonical(group))
        })
        .collect()
}

fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        let escaped = match (byte, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match (escaped, byte) {
            (Some(escaped), _) => {
                bytes.push(escaped);
                rest = &tail[2..];
            }
            (None, b'+') => {
                bytes.push(b' ');
                rest = tail;
            }
            (None, byte) => {
                bytes.push(*byte);
                rest = tail;
            }
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

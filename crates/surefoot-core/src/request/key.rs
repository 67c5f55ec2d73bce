//! The key of a request, read from its header. What is no key is refused with a reason; nothing is repaired, because a
//! key that is guessed differently twice is two keys.

use std::fmt;

/// The most bytes of a key.
pub const KEY_BYTES_MAX: usize = 255;

/// What a client sent as `Idempotency-Key`: 1 to [`KEY_BYTES_MAX`] visible ASCII characters (`!` to `~`), without the
/// quotes that it came in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(String);

/// Why a header holds no key. The text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefused {
    /// More than one header.
    #[error("Idempotency-Key was sent {0} times; send it once")]
    Several(usize),
    /// No character.
    #[error("Idempotency-Key is empty; send 1 to {KEY_BYTES_MAX} visible ASCII characters")]
    Empty,
    /// More than [`KEY_BYTES_MAX`].
    #[error("Idempotency-Key has {0} characters, at most {KEY_BYTES_MAX} are taken")]
    TooLong(usize),
    /// A character that is no visible ASCII, at this byte of the key.
    #[error("Idempotency-Key holds a character that is not visible ASCII at byte {0}")]
    Character(usize),
    /// An opening quote without a closing one.
    #[error("Idempotency-Key begins with a quote and does not end with one")]
    Unclosed,
    /// Something after the closing quote: a parameter, or a second key.
    #[error(
        "Idempotency-Key goes on after its closing quote; send one quoted string and nothing else"
    )]
    Trailing,
    /// A backslash before something else than a quote or a backslash.
    #[error("Idempotency-Key holds a backslash that escapes neither a quote nor a backslash")]
    Escape,
}

impl RequestKey {
    /// Checks a key that is not in quotes.
    ///
    /// # Errors
    /// A [`KeyRefused`] that says what is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self, KeyRefused> {
        let text = text.into();
        if text.is_empty() {
            return Err(KeyRefused::Empty);
        }
        if let Some(at) = text.bytes().position(|byte| !byte.is_ascii_graphic()) {
            return Err(KeyRefused::Character(at));
        }
        if text.len() > KEY_BYTES_MAX {
            return Err(KeyRefused::TooLong(text.len()));
        }
        Ok(Self(text))
    }

    /// The key in the values of all `Idempotency-Key` headers of a request; `None` when there is no such header.
    ///
    /// A value is an RFC 8941 string in quotes, or the bare key: both forms of one key are one key. A bare key does not
    /// begin with a quote. Spaces around the value are no part of it. Parameters are refused.
    ///
    /// # Errors
    /// A [`KeyRefused`] that says what is wrong.
    pub fn from_headers<'a>(
        values: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<Self>, KeyRefused> {
        let mut values = values.into_iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        let others = values.count();
        if others > 0 {
            return Err(KeyRefused::Several(others + 1));
        }
        let value = trimmed(value);
        let bytes = match value.strip_prefix(b"\"") {
            Some(rest) => unquoted(rest)?,
            None => value.to_vec(),
        };
        match String::from_utf8(bytes) {
            Ok(text) => Self::new(text).map(Some),
            Err(fault) => Err(KeyRefused::Character(first_not_visible(fault.as_bytes()))),
        }
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn trimmed(value: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = value.iter().position(|byte| !is_space(byte));
    let end = value.iter().rposition(|byte| !is_space(byte));
    match (start, end) {
        (Some(start), Some(end)) => &value[start..=end],
        _ => &[],
    }
}

/// The string whose opening quote was read (RFC 8941, section 4.2.5).
fn unquoted(rest: &[u8]) -> Result<Vec<u8>, KeyRefused> {
    let mut key = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter();
    loop {
        match bytes.next() {
            None => return Err(KeyRefused::Unclosed),
            Some(b'"') => break,
            Some(b'\\') => match bytes.next() {
                Some(byte @ (b'"' | b'\\')) => key.push(*byte),
                Some(_) => return Err(KeyRefused::Escape),
                None => return Err(KeyRefused::Unclosed),
            },
            Some(byte) => key.push(*byte),
        }
    }
    match bytes.next() {
        None => Ok(key),
        Some(_) => Err(KeyRefused::Trailing),
    }
}

fn first_not_visible(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| !byte.is_ascii_graphic())
        .unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Option<String>, KeyRefused> {
        RequestKey::from_headers(values.iter().map(|value| value.as_bytes()))
            .map(|key| key.map(|key| key.as_str().to_owned()))
    }

    #[test]
    fn the_quoted_and_the_bare_form_are_one_key() {
        let table = [
            (
                r#""8e03978e-40d5-43e8-bc93-6894a57f9324""#,
                "8e03978e-40d5-43e8-bc93-6894a57f9324",
            ),
            (
                "8e03978e-40d5-43e8-bc93-6894a57f9324",
                "8e03978e-40d5-43e8-bc93-6894a57f9324",
            ),
            (
                r#""clkyoesmbgybucifusbbtdsbohtyuuwz""#,
                "clkyoesmbgybucifusbbtdsbohtyuuwz",
            ),
            (" \t abc \t", "abc"),
            (r#" "abc" "#, "abc"),
            (r#""a\"b\\c""#, r#"a"b\c"#),
            (r#"a"b\c"#, r#"a"b\c"#),
            ("!~", "!~"),
        ];
        for (value, expected) in table {
            assert_eq!(read(&[value]), Ok(Some(expected.to_owned())), "{value}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused_with_its_reason() {
        let long = "k".repeat(256);
        let quoted = format!("\"{long}\"");
        let table: [(&[&str], KeyRefused); 16] = [
            (&["a", "a"], KeyRefused::Several(2)),
            (&["a", "", "c"], KeyRefused::Several(3)),
            (&[""], KeyRefused::Empty),
            (&["  "], KeyRefused::Empty),
            (&[r#""""#], KeyRefused::Empty),
            (&[&long], KeyRefused::TooLong(256)),
            (&[&quoted], KeyRefused::TooLong(256)),
            (&["a b"], KeyRefused::Character(1)),
            (&[r#""a b""#], KeyRefused::Character(1)),
            (&["kh\u{f3}a"], KeyRefused::Character(2)),
            (&["a\u{7f}"], KeyRefused::Character(1)),
            (&[r#""abc"#], KeyRefused::Unclosed),
            (&[r#""abc\"#], KeyRefused::Unclosed),
            (&[r#""abc";v=1"#], KeyRefused::Trailing),
            (&[r#""a", "b""#], KeyRefused::Trailing),
            (&[r#""a\n""#], KeyRefused::Escape),
        ];
        for (values, expected) in table {
            assert_eq!(read(values), Err(expected), "{values:?}");
        }
        let not_text = RequestKey::from_headers([&b"ab\xff"[..]]);
        assert_eq!(not_text, Err(KeyRefused::Character(2)));
    }

    #[test]
    fn no_header_is_no_key_and_the_longest_key_is_taken() {
        assert_eq!(read(&[]), Ok(None));
        let longest = "k".repeat(255);
        assert_eq!(read(&[&longest]), Ok(Some(longest.clone())));
    }
}

//! The text of a fault, made safe to store. A provider may answer with NUL bytes, half characters
//! or megabytes of HTML; none of that may keep an attempt from being recorded.

use std::fmt;

/// The most bytes of UTF-8 that one error text holds, its marker of omission with it: 8 KiB.
pub const ERROR_TEXT_BYTES_MAX: usize = 8 * 1024;

/// Room for the marker at its longest: 28 characters and 20 digits.
const MARKER_BYTES_MAX: usize = 48;

/// The text of a fault: UTF-8, without control characters but line feed and tab, at most
/// [`ERROR_TEXT_BYTES_MAX`] bytes.
///
/// Control characters (C0, DEL and C1) and bytes that are not UTF-8 become U+FFFD. A longer text is
/// cut between two characters and ends with how many bytes of the cleaned text were left out.
/// Making one never fails, and making one from its own text changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ErrorText(String);

impl ErrorText {
    /// A text from bytes that may or may not be UTF-8.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::clean(bytes.utf8_chunks().flat_map(|chunk| {
            let broken = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
            chunk.valid().chars().chain(broken)
        }))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn clean(chars: impl Iterator<Item = char>) -> Self {
        let mut text = String::new();
        let mut bytes_total = 0_usize;
        for character in chars.map(storable) {
            bytes_total = bytes_total.saturating_add(character.len_utf8());
            if bytes_total <= ERROR_TEXT_BYTES_MAX {
                text.push(character);
            }
        }
        if bytes_total > ERROR_TEXT_BYTES_MAX {
            text.truncate(text.floor_char_boundary(ERROR_TEXT_BYTES_MAX - MARKER_BYTES_MAX));
            let left_out = bytes_total - text.len();
            text.push_str(&format!("\n[{left_out} more bytes were left out]"));
        }
        Self(text)
    }
}

fn storable(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        _ if character.is_control() => char::REPLACEMENT_CHARACTER,
        _ => character,
    }
}

impl From<&str> for ErrorText {
    fn from(text: &str) -> Self {
        Self::clean(text.chars())
    }
}

impl From<String> for ErrorText {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_cannot_hold_is_replaced() {
        let table: [(&[u8], &str); 9] = [
            (b"", ""),
            (b"plain \xe1\xba\xa1", "plain ạ"),
            (b"a\0b", "a\u{fffd}b"),
            (b"line\n\ttab", "line\n\ttab"),
            (b"cr\r\n", "cr\u{fffd}\n"),
            (b"\x1b[31mred\x7f", "\u{fffd}[31mred\u{fffd}"),
            (b"c1 \xc2\x9b2J", "c1 \u{fffd}2J"),
            // A lone surrogate as CESU-8, and a character that breaks off: what follows is kept.
            (b"a\xed\xa0\x80b", "a\u{fffd}\u{fffd}\u{fffd}b"),
            (b"x\xf0\x9f\x98", "x\u{fffd}"),
        ];
        for (bytes, expected) in table {
            let text = ErrorText::from_bytes(bytes);
            assert_eq!(text.as_str(), expected);
            assert_eq!(text.to_string(), expected);
            assert_eq!(
                ErrorText::from(String::from_utf8_lossy(bytes).into_owned()),
                text
            );
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters_and_says_how_much_is_missing() {
        let table = [
            ("x".repeat(8_192), 8_192, ""),
            ("x".repeat(8_193), 8_144, "\n[49 more bytes were left out]"),
            (
                "x".repeat(1_000_000),
                8_144,
                "\n[991856 more bytes were left out]",
            ),
            // 3 bytes each: the limit falls inside a character.
            ("ạ".repeat(2_731), 8_142, "\n[51 more bytes were left out]"),
            ("\0".repeat(2_731), 8_142, "\n[51 more bytes were left out]"),
        ];
        for (long, bytes_kept, marker) in table {
            let text = ErrorText::from(long);
            assert_eq!(&text.as_str()[bytes_kept..], marker);
            assert!(text.as_str().len() <= 8_192);
            assert_eq!(ErrorText::from(text.as_str()), text);
        }
    }

    #[test]
    fn the_longest_marker_fits() {
        assert_eq!(
            format!("\n[{} more bytes were left out]", usize::MAX).len(),
            MARKER_BYTES_MAX
        );
    }
}

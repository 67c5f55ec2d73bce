//! One number for "the same fault", so that a thousand dead letters read as three. It groups for
//! people; nothing that decides about work may depend on it.

use std::fmt;
use std::str::FromStr;

use super::{ErrorText, normal};

/// What faults that look alike have in common; 64 bits, written as 16 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorFingerprint(u64);

impl ErrorFingerprint {
    /// A fingerprint from its 64 bits.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its 64 bits.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for ErrorFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an error fingerprint is 16 lower-case hex digits")]
pub struct NotAFingerprint;

impl FromStr for ErrorFingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 16 || !text.bytes().all(lower_hex) {
            return Err(NotAFingerprint);
        }
        u64::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| NotAFingerprint)
    }
}

/// How much of the normalised text counts: 1 KiB. The rest is mostly stack or page.
const NORMALISED_BYTES_MAX: usize = 1024;

/// The fingerprint of a fault: FNV-1a (64 bits, `draft-eastlake-fnv`) over `kind` as it is and the
/// first KiB of the normalised `text`.
///
/// `kind` is what faults must share beside their text to be the same, such as the kind of job.
/// What differs from job to job is left out of the text: numbers, UUIDs, hexadecimal runs of 8 or
/// more, ids that mix letters and digits, dates and times, addresses with their port, quoted strings
/// and the width of white space. What names the fault stays: numbers of up to five digits after `HTTP`,
/// `status`, `code`, `error`, `errno`, `SQLSTATE` or `signal`, and quoted names such as
/// `"card_declined"` or a key of JSON.
#[must_use]
pub fn fingerprint(kind: &str, text: &ErrorText) -> ErrorFingerprint {
    let normalised = normal::normalised(text.as_str().as_bytes(), NORMALISED_BYTES_MAX);
    let separator = [0xff]; // In no UTF-8: ("ab", "c") and ("a", "bc") differ.
    let bytes = kind.bytes().chain(separator).chain(normalised);
    ErrorFingerprint(bytes.fold(FNV_OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
    }))
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, text: &str) -> ErrorFingerprint {
        fingerprint(kind, &ErrorText::from(text))
    }

    #[test]
    fn faults_that_differ_in_ids_only_share_a_fingerprint() {
        let groups = [
            &[
                "job 17: connection to 10.0.0.1:5432 refused",
                "job 4:  connection to 10.20.0.7:6432 refused",
            ][..],
            &[
                "no such charge: ch_3MmlLrLkdIwHu7ix0snN0B15",
                "no such charge: ch_1NirD82eZvKYlo2CIvbtLWuY",
            ],
            &["HTTP 503 after 1.5s", "HTTP 503 after 12s"],
            &["HTTP 500 after 1.5s"],
            &["row \"a\" is missing", "row \"b c\" is missing"],
            &["os error 104"],
            &["os error 111"],
            &["die Verbindung ist weg", "die  Verbindung\nist weg"],
            &[""],
        ];
        let mut seen = Vec::new();
        for group in groups {
            let first = of("refund", group[0]);
            for text in group {
                assert_eq!(of("refund", text), first, "{text}");
            }
            assert!(!seen.contains(&first), "{group:?}");
            seen.push(first);
        }
    }

    #[test]
    fn the_kind_is_part_of_it() {
        assert_ne!(of("refund", "x"), of("charge", "x"));
        assert_ne!(of("job-1", "x"), of("job-2", "x"));
        assert_ne!(of("ab", "c"), of("a", "bc"));
    }

    #[test]
    fn only_the_first_kib_of_what_is_left_counts() {
        let ids = "0123456789abcdef".repeat(100);
        let page = "x ".repeat(512);
        assert_eq!(of("k", &format!("{page}a")), of("k", &format!("{page}b")));
        assert_ne!(of("k", &format!("{ids} a")), of("k", &format!("{ids} b")));
    }

    #[test]
    fn it_is_stored_so_it_never_changes() {
        assert_eq!(of("", "").to_string(), "af64724c8602eb6e");
        assert_eq!(
            of("refund", "HTTP 503 after 12s").to_string(),
            "430fc9b41982e62a"
        );
    }

    #[test]
    fn it_is_written_as_16_hex_digits_and_read_back() {
        let table = [
            (0, "0000000000000000"),
            (0xab, "00000000000000ab"),
            (u64::MAX, "ffffffffffffffff"),
        ];
        for (bits, text) in table {
            assert_eq!(ErrorFingerprint::from_bits(bits).to_string(), text);
            assert_eq!(text.parse(), Ok(ErrorFingerprint::from_bits(bits)));
        }
        for text in [
            "",
            "ab",
            "00000000000000AB",
            "+0000000000000ab",
            "00000000000000abc",
            "é00000000000000",
        ] {
            assert_eq!(
                text.parse::<ErrorFingerprint>(),
                Err(NotAFingerprint),
                "{text}"
            );
        }
    }
}

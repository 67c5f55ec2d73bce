//! What a job or message carries: JSON text, kept byte for byte as it came. Nothing on the way
//! through the engine reads numbers into floating point or reorders keys.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::canonical::{NotJson, canonical};

/// The most bytes of one payload: 1 MiB.
pub const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

/// One JSON value as text, at most [`PAYLOAD_BYTES_MAX`] bytes, byte for byte as it came.
///
/// `==` compares the bytes; [`same_as`](Self::same_as) compares the values. The text may hold the
/// escape `\u0000` and lone surrogates, so a store keeps it in a text column, never as `jsonb`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Payload(String);

/// Why something is no payload, or a payload not the type that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// Larger than [`PAYLOAD_BYTES_MAX`].
    #[error("payload has {bytes} bytes, at most {PAYLOAD_BYTES_MAX} are accepted")]
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
    },
    /// Not one JSON value without duplicate keys.
    #[error("payload is {0}")]
    NotJson(NotJson),
    /// The value has no JSON form.
    #[error("payload does not serialize")]
    Unserializable(#[source] serde_json::Error),
    /// The JSON is not of the type that the handler takes: repeating the work does not help.
    #[error("payload does not decode as {expected}")]
    Undecodable {
        /// The Rust name of the type that was asked for.
        expected: &'static str,
        /// Where it differs.
        source: serde_json::Error,
    },
}

impl From<NotJson> for PayloadError {
    /// Says the whole fault itself, so that it does not appear twice in a chain of sources.
    fn from(fault: NotJson) -> Self {
        Self::NotJson(fault)
    }
}

impl Payload {
    /// Accepts `text` when it is one JSON value of at most [`PAYLOAD_BYTES_MAX`] bytes, by the rules
    /// of [`canonical`]: no duplicate keys, bounded nesting.
    pub fn parse(text: impl Into<String>) -> Result<Self, PayloadError> {
        let text = text.into();
        if text.len() > PAYLOAD_BYTES_MAX {
            return Err(PayloadError::TooLarge { bytes: text.len() });
        }
        canonical(&text)?;
        Ok(Self(text))
    }

    /// The payload of a Rust value, under the same rules as [`parse`](Self::parse).
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        Self::parse(serde_json::to_string(value).map_err(PayloadError::Unserializable)?)
    }

    /// A payload from text that [`parse`](Self::parse) accepted before it was stored; it is not
    /// read again.
    #[must_use]
    pub const fn from_store(text: String) -> Self {
        Self(text)
    }

    /// The payload `null`, for work that needs none.
    #[must_use]
    pub fn null() -> Self {
        Self("null".to_owned())
    }

    /// The JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The JSON text, by value.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether both say the same: equal but for white space, key order and how strings are escaped.
    /// Numbers are the same only when written the same.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self == other
            || matches!((canonical(&self.0), canonical(&other.0)), (Ok(a), Ok(b)) if a == b)
    }

    /// Reads the payload into a Rust type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        serde_json::from_str(&self.0).map_err(|source| PayloadError::Undecodable {
            expected: std::any::type_name::<T>(),
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Refund {
        id: String,
        amount: u64,
    }

    #[test]
    fn a_payload_is_kept_byte_for_byte() {
        for text in [
            "null",
            "[]",
            "\"\\u0000\"",
            r#" { "b" : 9007199254740993, "a" : 1.0 } "#,
            r#""\ud800""#,
            "9223372036854775807",
        ] {
            let payload = Payload::parse(text).unwrap();
            assert_eq!(payload.as_str(), text);
            assert_eq!(payload.into_string(), text);
        }
        assert_eq!(Payload::null().as_str(), "null");
    }

    #[test]
    fn values_are_the_same_when_only_their_spelling_differs() {
        let table = [
            (r#"{"a":1,"b":2}"#, r#"{ "b": 2, "a": 1 }"#, true),
            (r#""\u0041""#, r#""A""#, true),
            (r#""\u0000""#, r#""\u0000""#, true),
            (r#""\uD800""#, r#""\ud800""#, true),
            ("9007199254740993", "9007199254740992", false),
            ("1.0", "1", false),
            ("1e2", "100", false),
            (r#""\u0000""#, r#""""#, false),
            (r#""\ud800""#, r#""\ufffd""#, false),
            ("[1,2]", "[2,1]", false),
            ("null", "{}", false),
        ];
        for (left, right, same) in table {
            let (left, right) = (
                Payload::parse(left).unwrap(),
                Payload::parse(right).unwrap(),
            );
            assert_eq!(left.same_as(&right), same, "{left:?} {right:?}");
            assert_eq!(right.same_as(&left), same, "{right:?} {left:?}");
        }
    }

    #[test]
    fn text_that_is_no_longer_json_is_the_same_only_as_itself() {
        let broken = Payload::from_store("{".to_owned());
        assert!(broken.same_as(&broken.clone()));
        assert!(!broken.same_as(&Payload::from_store("[".to_owned())));
    }

    #[test]
    fn a_refused_text_is_told_why() {
        let table = [
            (
                "",
                "payload is not JSON at byte 0: the text ends where a value must begin",
            ),
            (
                r#"{"a":1,"a":1}"#,
                "payload is not JSON at byte 7: this key is in the object already",
            ),
            (
                "{}{}",
                "payload is not JSON at byte 2: more text after the value",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(Payload::parse(text).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn size_is_bounded_in_bytes() {
        let of_size = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
        assert!(Payload::parse(of_size(1_048_576)).is_ok());
        assert_eq!(
            Payload::parse(of_size(1_048_577)).unwrap_err().to_string(),
            "payload has 1048577 bytes, at most 1048576 are accepted"
        );
    }

    #[test]
    fn rust_values_go_in_and_out() {
        let refund = Refund {
            id: "r\0".to_owned(),
            amount: u64::MAX,
        };
        let payload = Payload::from_serialize(&refund).unwrap();
        assert_eq!(
            payload.as_str(),
            r#"{"id":"r\u0000","amount":18446744073709551615}"#
        );
        assert_eq!(payload.decode::<Refund>().unwrap(), refund);
        assert_eq!(
            Payload::null().decode::<u8>().unwrap_err().to_string(),
            "payload does not decode as u8"
        );
        let not_string_keys = std::collections::HashMap::from([((1, 2), 3)]);
        assert_eq!(
            Payload::from_serialize(&not_string_keys)
                .unwrap_err()
                .to_string(),
            "payload does not serialize"
        );
    }
}

//! Texts that programs report and people read later. A worker must be able to report a fault whatever bytes the fault
//! is made of, so half a surrogate pair in a JSON string does not refuse the request.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use surefoot_core::text::ErrorText;
use utoipa::ToSchema;

/// Any JSON string; what cannot be stored of it is replaced, what is over 8 KiB is left out.
#[derive(Clone, Debug, PartialEq, Eq, ToSchema)]
#[schema(value_type = String)]
pub(crate) struct Text(pub(crate) ErrorText);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Asked for bytes, serde_json gives lone surrogates as they are and does not refuse them.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Text, E> {
        Ok(Text(ErrorText::from_bytes(bytes)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(ErrorText::from(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_json_string_is_a_text() {
        let table = [
            (r#""plain""#, "plain"),
            (r#""a\u0000b""#, "a\u{fffd}b"),
            (r#""a\ud800""#, "a\u{fffd}\u{fffd}\u{fffd}"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""lỗi""#, "lỗi"),
            (r#""""#, ""),
        ];
        for (json, expected) in table {
            let text: Text = serde_json::from_str(json).unwrap();
            assert_eq!(text.0.as_str(), expected, "{json}");
        }
        for json in ["1", "null", "[1]", "{}", "true"] {
            assert!(serde_json::from_str::<Text>(json).is_err(), "{json}");
        }
    }
}

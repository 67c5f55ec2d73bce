//! Durations in a policy's text: `250ms`, `42m30s`. Read exactly: nothing is rounded, cut off or guessed.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The units, largest first, each in nanoseconds.
const UNITS: [(&str, u128); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// The longest duration that is taken: ten years.
const NANOS_MAX: u128 = 3650 * UNITS[0].1;

/// Reads a duration such as `42m30s`: whole numbers with units, the larger unit first, each once.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    const EXAMPLES: &str = "write for example \"250ms\", \"10s\", \"42m30s\" or \"1h\"";
    let mut rest = text;
    let mut nanos = 0_u128;
    let mut units_left = &UNITS[..];
    if text.is_empty() {
        return Err(format!("a duration is empty; {EXAMPLES}"));
    }
    while !rest.is_empty() {
        let (digits, after) = split_where(rest, |c| !c.is_ascii_digit());
        let (unit, after) = split_where(after, |c| c.is_ascii_digit());
        let at = units_left.iter().position(|(name, _)| *name == unit);
        let (Some(at), Ok(number)) = (at, digits.parse::<u64>()) else {
            return Err(format!("{text:?} is no duration; {EXAMPLES}"));
        };
        nanos += u128::from(number) * units_left[at].1;
        units_left = &units_left[at + 1..];
        rest = after;
    }
    if nanos > NANOS_MAX {
        return Err(format!(
            "{text:?} is longer than 3650d, the longest that is taken"
        ));
    }
    Ok(from_nanos(nanos))
}

/// Writes a duration the way [`parse`] reads it; what is longer than ten years becomes ten years.
pub(crate) fn written(duration: Duration) -> String {
    let mut nanos = duration.as_nanos().min(NANOS_MAX);
    let mut text = String::new();
    for (unit, size) in UNITS {
        if nanos >= size {
            text.push_str(&format!("{}{unit}", nanos / size));
            nanos %= size;
        }
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = UNITS[3].1;
    let seconds = u64::try_from(nanos / SECOND).unwrap_or(u64::MAX);
    Duration::new(seconds, u32::try_from(nanos % SECOND).unwrap_or(0))
}

fn split_where(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

pub(crate) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&written(*duration))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    from.deserialize_str(AsText)
}

/// Reads one duration, and says what was expected where something else stands.
struct AsText;

impl de::Visitor<'_> for AsText {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration in quotes, such as \"10s\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        parse(text).map_err(E::custom)
    }
}

/// One duration as a value of its own, for lists and options of them.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Text(#[serde(with = "crate::duration_text")] pub(crate) Duration);

/// A duration that may be absent.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, Duration, Serializer, Text, written};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => to.serialize_some(&written(*duration)),
            None => to.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Text>::deserialize(from)?.map(|text| text.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_exactly_and_written_back() {
        let table = [
            ("250ms", 250_000_000),
            ("42m30s", 2_550_000_000_000),
            ("1d2h3m4s5ms6us7ns", 93_784_005_006_007),
            ("0s", 0),
        ];
        for (text, nanos) in table {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
            assert_eq!(written(Duration::from_nanos(nanos)), text);
        }
        assert_eq!(written(Duration::MAX), "3650d");
    }

    #[test]
    fn anything_else_is_refused() {
        let table = [
            "",
            "10",
            "10sec",
            "10 s",
            "s",
            "-5s",
            "1.5s",
            "30s42m",
            "5s5s",
            "3650d1ms",
            "99999999999999999999s",
        ];
        for text in table {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

//! Durations as people write them, read exactly: nothing is rounded, cut off or guessed.

use std::time::Duration;

pub(crate) use surefoot_core::checklist::written;

/// The units, largest first, each in milliseconds.
pub(crate) const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// The longest duration that is taken: ten years.
const MILLIS_MAX: u64 = 3650 * 86_400_000;

const EXAMPLES: &str = r#""250ms", "10s", "2m", "42m30s", "1h", "7d""#;

/// Why a text is no duration; each says what to write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotADuration {
    /// Nothing there.
    #[error("is empty; write for example {EXAMPLES}")]
    Empty,
    /// A unit without a number before it, or another character.
    #[error("has {0:?} where a number must stand; write for example {EXAMPLES}")]
    NumberMissing(String),
    /// A number at the end.
    #[error("has no unit after {0}; write {0}ms, {0}s, {0}m, {0}h or {0}d")]
    UnitMissing(String),
    /// A unit that does not exist, such as `sec`.
    #[error("has the unknown unit {0:?}; the units are d, h, m, s and ms")]
    UnitUnknown(String),
    /// A decimal fraction.
    #[error(
        "has a decimal fraction; use a smaller unit, such as 1500ms for one and a half seconds"
    )]
    Fraction,
    /// `30s42m`, or `5s5s`.
    #[error(
        "has its units out of order or twice; write the larger unit first and each once, such as 42m30s"
    )]
    Order,
    /// More than ten years.
    #[error("is longer than 3650d; give at most 3650d")]
    TooLong,
}

/// Reads a duration such as `42m30s`.
///
/// # Errors
/// A [`NotADuration`] that says what is wrong and what to write.
pub(crate) fn parse(text: &str) -> Result<Duration, NotADuration> {
    if text.is_empty() {
        return Err(NotADuration::Empty);
    }
    let mut rest = text;
    let mut millis = 0_u64;
    let mut units_left = &UNITS[..];
    while !rest.is_empty() {
        let (digits, after) = split_where(rest, |c| !c.is_ascii_digit());
        if digits.is_empty() {
            return Err(NotADuration::NumberMissing(rest.to_owned()));
        }
        if after.starts_with(['.', ',']) {
            return Err(NotADuration::Fraction);
        }
        let (unit, after) = split_where(after, |c| c.is_ascii_digit());
        if unit.is_empty() {
            return Err(NotADuration::UnitMissing(digits.to_owned()));
        }
        if !UNITS.iter().any(|(name, _)| *name == unit) {
            return Err(NotADuration::UnitUnknown(unit.to_owned()));
        }
        let at = units_left
            .iter()
            .position(|(name, _)| *name == unit)
            .ok_or(NotADuration::Order)?;
        let part = digits
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(units_left[at].1));
        millis = part
            .and_then(|part| millis.checked_add(part))
            .ok_or(NotADuration::TooLong)?;
        units_left = &units_left[at + 1..];
        rest = after;
    }
    if millis > MILLIS_MAX {
        return Err(NotADuration::TooLong);
    }
    Ok(Duration::from_millis(millis))
}

fn split_where(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_exactly_and_written_back() {
        let table = [
            ("250ms", 250),
            ("10s", 10_000),
            ("2m", 120_000),
            ("42m30s", 2_550_000),
            ("1h", 3_600_000),
            ("1d2h3m4s5ms", 93_784_005),
            ("3650d", 315_360_000_000),
            ("0s", 0),
        ];
        for (text, millis) in table {
            let duration = parse(text).unwrap();
            assert_eq!(duration, Duration::from_millis(millis), "{text}");
            assert_eq!(written(duration), text);
        }
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(written(Duration::from_micros(1)), "1ms");
    }

    #[test]
    fn anything_else_is_refused_and_never_cut_short() {
        let table = [
            ("", NotADuration::Empty),
            ("10", NotADuration::UnitMissing("10".to_owned())),
            ("42m30", NotADuration::UnitMissing("30".to_owned())),
            ("10sec", NotADuration::UnitUnknown("sec".to_owned())),
            ("10 s", NotADuration::UnitUnknown(" s".to_owned())),
            ("5us", NotADuration::UnitUnknown("us".to_owned())),
            ("10S", NotADuration::UnitUnknown("S".to_owned())),
            ("s", NotADuration::NumberMissing("s".to_owned())),
            ("-5s", NotADuration::NumberMissing("-5s".to_owned())),
            ("1.5s", NotADuration::Fraction),
            ("30s42m", NotADuration::Order),
            ("5s5s", NotADuration::Order),
            ("3650d1ms", NotADuration::TooLong),
            ("99999999999999999999s", NotADuration::TooLong),
            ("18446744073709551615d", NotADuration::TooLong),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Err(expected), "{text}");
        }
    }
}

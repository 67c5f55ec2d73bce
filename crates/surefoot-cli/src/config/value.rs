//! What one value of the file is: a duration, a number, and what else in words. It reads values only, never tables.

use std::time::Duration;

use toml::de::DeValue;

use super::duration;

/// A duration above zero, in the words of the field `key`.
pub(super) fn duration_above_zero(key: &str, text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err(format!("{key} is zero; give a time above zero")),
        Ok(duration) => Ok(duration),
        Err(refusal) => Err(format!("{key} {text:?} {refusal}")),
    }
}

/// A number that may be written without a decimal point.
pub(super) fn as_number(value: &DeValue<'_>) -> Option<f64> {
    let digits = match value {
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::String(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return None,
    };
    digits
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())
}

/// What it is, for people who were to give something else.
pub(super) fn in_words(value: &DeValue<'_>, expected: &str) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) if expected.contains("list") => "a list of something else",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

//! Values that several commands take.

use std::fmt::Display;
use std::io::Read;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use surefoot_core::job::StateName;
use surefoot_core::payload::{PAYLOAD_BYTES_MAX, Payload, PayloadError};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use crate::config::duration;

/// Where a payload comes from.
#[derive(Clone, Debug, clap::Args)]
#[group(multiple = false)]
pub(crate) struct PayloadArgs {
    /// The payload, one JSON value; a new job or message without one is given null
    #[arg(long, value_name = "JSON", value_parser = payload)]
    payload: Option<Payload>,
    /// A file with the payload; - is standard input
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    payload_file: Option<PathBuf>,
}

/// A payload could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayloadArgError {
    /// The file cannot be read.
    #[error("failed to read {path}: {source}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It was read and is no payload.
    #[error(transparent)]
    Refused(#[from] PayloadError),
}

impl PayloadArgs {
    /// The payload, if one was given.
    ///
    /// # Errors
    /// A file that cannot be read or is no JSON.
    pub(crate) fn read(&self) -> Result<Option<Payload>, PayloadArgError> {
        match (&self.payload, &self.payload_file) {
            (Some(payload), _) => Ok(Some(payload.clone())),
            (None, None) => Ok(None),
            (None, Some(path)) => {
                let text = read(path).map_err(|source| PayloadArgError::Unreadable {
                    path: path.clone(),
                    source,
                })?;
                Ok(Some(Payload::parse(text)?))
            }
        }
    }
}

/// Reads a little more than a payload may have, so that one that is too large is told as that.
fn read(path: &PathBuf) -> std::io::Result<String> {
    let limit = PAYLOAD_BYTES_MAX as u64 + 1;
    let mut text = String::new();
    if path.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(limit)
            .read_to_string(&mut text)?;
    } else {
        std::fs::File::open(path)?
            .take(limit)
            .read_to_string(&mut text)?;
    }
    Ok(text)
}

/// One JSON value.
pub(super) fn payload(text: &str) -> Result<Payload, String> {
    Payload::parse(text).map_err(|refusal| refusal.to_string())
}

/// A duration such as `42m30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|refusal| refusal.to_string())
}

/// A point in time of RFC 3339, with any offset. A civil time and no `jiff::Timestamp`, which ends before the engine's
/// last time does.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    let no_time = || format!("{text:?} is no time; write for example 2026-11-30T10:32:00Z");
    let pieces = Pieces::parse(text).map_err(|_| no_time())?;
    let time = pieces.time().ok_or_else(no_time)?;
    let offset = pieces.to_numeric_offset().ok_or_else(no_time)?;
    let local = pieces.date().to_datetime(time).duration_since(EPOCH);
    let micros = (local - SignedDuration::from_secs(offset.seconds().into())).as_micros();
    let kept = Timestamp::from_micros(i64::try_from(micros).map_err(|_| no_time())?);
    if i128::from(kept.as_micros()) == micros {
        Ok(kept)
    } else {
        Err(format!("{text:?} lies outside the years 1970 to 9999"))
    }
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// A state's name; help and refusals list them all.
pub(super) fn state() -> impl TypedValueParser<Value = StateName> {
    PossibleValuesParser::new(StateName::ALL.map(StateName::as_str))
        .try_map(|name| StateName::parse(&name).ok_or("no state"))
}

/// A whole number within `range`.
pub(super) fn whole<T>(text: &str, range: RangeInclusive<T>) -> Result<T, String>
where
    T: FromStr + PartialOrd + Display,
{
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        format!(
            "give a whole number from {} to {}",
            range.start(),
            range.end()
        )
    })
}

/// An IP address and a port.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "write an IP address and a port, such as 127.0.0.1:7070".to_owned())
}

/// A text for people that is not empty.
pub(super) fn reason(text: &str) -> Result<ErrorText, String> {
    if text.trim().is_empty() {
        return Err("say why; whoever reads the record later needs it".to_owned());
    }
    Ok(ErrorText::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_that_can_be_kept_is_taken() {
        let outside = |text: &str| Err(format!("{text:?} lies outside the years 1970 to 9999"));
        let no_time = |text: &str| {
            Err(format!(
                "{text:?} is no time; write for example 2026-11-30T10:32:00Z"
            ))
        };
        let table = [
            ("9999-12-31T23:59:59Z", Ok(Timestamp::MAX)),
            ("9999-12-31T22:59:59-01:00", Ok(Timestamp::MAX)),
            ("1970-01-01T00:00:00Z", Ok(Timestamp::MIN)),
            (
                "1994-11-06T15:49:37.5+07:00",
                Ok(Timestamp::from_micros(784_111_777_500_000)),
            ),
            (
                "9999-12-31T23:59:59-01:00",
                outside("9999-12-31T23:59:59-01:00"),
            ),
            ("1969-12-31T23:59:59Z", outside("1969-12-31T23:59:59Z")),
            ("2026-11-30", no_time("2026-11-30")),
            ("2026-11-30T10:32:00", no_time("2026-11-30T10:32:00")),
            ("tomorrow", no_time("tomorrow")),
        ];
        for (text, expected) in table {
            assert_eq!(time(text), expected, "{text}");
        }
    }
}

//! Times on the wire: RFC 3339 in UTC with six digits of a second. It reads no clock.

use std::borrow::Cow;

use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use surefoot_core::time::Timestamp;
use utoipa::ToSchema;

/// A point in time as `2026-11-30T10:32:00.000000Z`.
///
/// On the way in any offset of RFC 3339 is taken; what is finer than a microsecond is cut off. Years before 1970
/// and after 9999 are refused, for no store keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ToSchema)]
#[schema(as = Time, value_type = String, format = DateTime, example = "2026-11-30T10:32:00.000000Z")]
pub(crate) struct WireTime(pub(crate) Timestamp);

impl From<Timestamp> for WireTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl Serialize for WireTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&civil(self.0).strftime("%Y-%m-%dT%H:%M:%S.%6fZ"))
    }
}

impl<'de> Deserialize<'de> for WireTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        parse(&text).map(Self).map_err(D::Error::custom)
    }
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The date and time of day in UTC. `jiff::Timestamp` would not do: it ends two days before [`Timestamp::MAX`].
pub(crate) fn civil(at: Timestamp) -> DateTime {
    EPOCH.saturating_add(SignedDuration::from_micros(at.as_micros()))
}

fn parse(text: &str) -> Result<Timestamp, String> {
    let no_time = || format!("{text:?} is not a time; write 2026-11-30T10:32:00Z");
    let pieces = Pieces::parse(text).map_err(|_| no_time())?;
    let time = pieces.time().ok_or_else(no_time)?;
    let offset = pieces.to_numeric_offset().ok_or_else(no_time)?;
    let local = pieces.date().to_datetime(time).duration_since(EPOCH);
    let micros = (local - SignedDuration::from_secs(offset.seconds().into())).as_micros();
    let kept = Timestamp::from_micros(i64::try_from(micros).map_err(|_| no_time())?);
    if i128::from(kept.as_micros()) != micros {
        return Err(format!("{text:?} lies outside the years 1970 to 9999"));
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_any_offset_and_written_in_utc() {
        let table = [
            ("2026-11-30T10:32:00Z", "2026-11-30T10:32:00.000000Z"),
            ("2026-11-30T17:32:00+07:00", "2026-11-30T10:32:00.000000Z"),
            (
                "2026-11-30T10:32:00.1234567Z",
                "2026-11-30T10:32:00.123456Z",
            ),
            ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000000Z"),
        ];
        for (text, written) in table {
            let time: WireTime = serde_json::from_value(text.into()).unwrap();
            assert_eq!(serde_json::to_value(time).unwrap(), written, "{text}");
        }
    }

    #[test]
    fn every_time_that_a_store_keeps_can_be_written_and_read_back() {
        for at in [Timestamp::MIN, Timestamp::from_micros(1), Timestamp::MAX] {
            let text = serde_json::to_value(WireTime(at)).unwrap();
            assert_eq!(
                serde_json::from_value::<WireTime>(text).unwrap(),
                WireTime(at)
            );
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_form_to_use() {
        let table = [
            (
                "tomorrow",
                "\"tomorrow\" is not a time; write 2026-11-30T10:32:00Z",
            ),
            (
                "2026-11-30",
                "\"2026-11-30\" is not a time; write 2026-11-30T10:32:00Z",
            ),
            (
                "2026-11-30T10:32:00",
                "\"2026-11-30T10:32:00\" is not a time; write 2026-11-30T10:32:00Z",
            ),
            (
                "2026-11-30T10:32:00[Asia/Bangkok]",
                "\"2026-11-30T10:32:00[Asia/Bangkok]\" is not a time; write 2026-11-30T10:32:00Z",
            ),
            (
                "9999-12-31T23:59:59-01:00",
                "\"9999-12-31T23:59:59-01:00\" lies outside the years 1970 to 9999",
            ),
            (
                "1969-12-31T23:59:59Z",
                "\"1969-12-31T23:59:59Z\" lies outside the years 1970 to 9999",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).unwrap_err(), expected);
        }
    }
}

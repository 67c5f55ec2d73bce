//! The `Retry-After` header: how long a dependency asks us to stay away. It only reads the value;
//! whether the wait still fits a deadline is decided where the deadline is known.

use std::time::{Duration, UNIX_EPOCH};

use crate::backoff::{duration, share};
use crate::time::{Roll, Timestamp};

/// How far in the future a date with a two-digit year may lie before it means the century before.
const TWO_DIGIT_YEAR_MAX: Duration = Duration::from_secs(50 * 365 * 86_400 + 12 * 86_400);

/// The wait that the value of a `Retry-After` header asks for (RFC 9110 section 10.2.3).
///
/// Takes a number of seconds, where more than fit become [`Duration::MAX`], and a date in the three
/// forms of RFC 9110 section 5.6.7, from which `now` is subtracted without rounding. A date in the
/// past is a wait of zero. `None` for anything else, such as `-5`, `1.5` or a date that is none.
///
/// Never shorten your own backoff by it: a zero means that the dependency asks for no more than that.
/// Best pass the response's `Date` header as `now`: then a difference between clocks does not count.
#[must_use]
pub fn parse(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if value.is_empty() {
        return None;
    }
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().map_or(Duration::MAX, Duration::from_secs));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let date = Timestamp::MIN.after(date.duration_since(UNIX_EPOCH).ok()?);
    let wait = date.since(now);
    // Only RFC 850 dates have hyphens. A two-digit year that seems more than 50 years ahead is past.
    if value.contains('-') && wait > TWO_DIGIT_YEAR_MAX {
        return Some(Duration::ZERO);
    }
    Some(wait)
}

/// The wait spread over `after` to a quarter more: never earlier than asked for, and callers who
/// were all told the same do not all return at the same moment.
#[must_use]
pub fn spread(after: Duration, roll: Roll) -> Duration {
    let after = after.as_nanos();
    duration(after + share(after / 4, roll))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1994-11-06T08:49:37Z.
    const NOW: Timestamp = Timestamp::from_micros(784_111_777_000_000);

    #[test]
    fn seconds_and_all_three_dates_are_read() {
        let table = [
            ("0", Some(Duration::ZERO)),
            ("120", Some(Duration::from_secs(120))),
            (" 37\t", Some(Duration::from_secs(37))),
            ("007", Some(Duration::from_secs(7))),
            ("18446744073709551615", Some(Duration::from_secs(u64::MAX))),
            ("99999999999999999999", Some(Duration::MAX)),
            (
                "Sun, 06 Nov 1994 08:50:07 GMT",
                Some(Duration::from_secs(30)),
            ),
            (
                "Sunday, 06-Nov-94 08:50:07 GMT",
                Some(Duration::from_secs(30)),
            ),
            ("Sun Nov  6 08:50:07 1994", Some(Duration::from_secs(30))),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(Duration::ZERO)),
            ("Sun, 06 Nov 1994 08:49:36 GMT", Some(Duration::ZERO)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(Duration::ZERO)),
            (
                "Saturday, 06-Nov-32 08:49:37 GMT",
                Some(Duration::from_secs(1_199_232_000)),
            ),
            ("Wednesday, 06-Nov-69 08:49:37 GMT", Some(Duration::ZERO)),
            (
                "Wed, 06 Nov 2069 08:49:37 GMT",
                Some(Duration::from_secs(2_366_841_600)),
            ),
            ("", None),
            (" ", None),
            ("-5", None),
            ("+5", None),
            ("1.5", None),
            ("1e3", None),
            ("5s", None),
            ("٣", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:37", None),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("1994-11-06T08:50:07Z", None),
        ];
        for (value, expected) in table {
            assert_eq!(parse(value, NOW), expected, "{value:?}");
        }
    }

    #[test]
    fn part_of_a_second_is_not_lost() {
        let now = NOW.after(Duration::from_micros(999_999));
        assert_eq!(
            parse("Sun, 06 Nov 1994 08:49:38 GMT", now),
            Some(Duration::from_micros(1))
        );
    }

    #[test]
    fn a_wait_is_spread_to_later_only() {
        let table = [
            (Duration::from_secs(37), 0, Duration::from_secs(37)),
            (
                Duration::from_secs(37),
                u64::MAX / 2,
                Duration::from_micros(41_625_000),
            ),
            (
                Duration::from_secs(37),
                u64::MAX,
                Duration::from_micros(46_250_000),
            ),
            (Duration::ZERO, u64::MAX, Duration::ZERO),
            (Duration::MAX, 0, Duration::MAX),
            (Duration::MAX, u64::MAX, Duration::MAX),
        ];
        for (after, roll, expected) in table {
            assert_eq!(spread(after, Roll(roll)), expected, "{after:?} {roll}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_value_panics(value in ".{0,40}", date in "[A-Z][a-z]{2,8},? [0-9 A-Za-z:-]{10,28}", now: i64) {
            let _ = parse(&value, Timestamp::from_micros(now));
            let _ = parse(&date, Timestamp::from_micros(now));
        }
    }
}

//! The context on the wire. Times are relative, because two hosts' clocks need not agree; they are rounded down,
//! because a deadline must not grow on its way. A header that is malformed is told, never guessed at.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::{Ambient, Outer};
use crate::clock::Moment;

/// How many milliseconds the call may still take.
pub const REQUEST_TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout-ms");
/// Who repeats the call: a name for people.
pub const RETRY_OWNER: HeaderName = HeaderName::from_static("x-retry-owner");
/// Which attempt this is, from 1.
pub const RETRY_ATTEMPT: HeaderName = HeaderName::from_static("x-retry-attempt");

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
const ENVOY_TIMEOUT: HeaderName = HeaderName::from_static("x-envoy-expected-rq-timeout-ms");
const ENVOY_ATTEMPT: HeaderName = HeaderName::from_static("x-envoy-attempt-count");
const GRPC_ATTEMPTS: HeaderName = HeaderName::from_static("grpc-previous-rpc-attempts");

/// How many digits a number of milliseconds or attempts may have: 31 years.
const DIGITS_MAX: usize = 12;

/// A header that says something which cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header {0} is malformed")]
pub struct Malformed(pub &'static str);

/// What the caller of this service asks of it, at `now`.
///
/// The narrowest of the time-outs counts. A retry owner counts as soon as it is named; a mesh that only numbers
/// its attempts (`x-envoy-attempt-count`) counts from its second attempt on, and gRPC's count of previous
/// attempts from its first: before that nothing says that they repeat at all.
///
/// # Errors
/// The first malformed header. Whoever cannot refuse the request is to use a default deadline, not none.
pub fn read(headers: &HeaderMap, now: Moment) -> Result<Ambient, Malformed> {
    let millis = |name: &HeaderName| Ok(number(headers, name)?.map(Duration::from_millis));
    let times = [
        millis(&REQUEST_TIMEOUT)?,
        millis(&ENVOY_TIMEOUT)?,
        grpc_timeout(headers)?,
    ];
    let deadline = times
        .into_iter()
        .flatten()
        .min()
        .map(|within| now.after(within));
    let own = number(headers, &RETRY_ATTEMPT)?.map(clamped);
    let envoy = number(headers, &ENVOY_ATTEMPT)?
        .map(clamped)
        .filter(|attempt| *attempt > 1);
    let grpc = number(headers, &GRPC_ATTEMPTS)?.map(|before| clamped(before).saturating_add(1));
    let named = headers.contains_key(&RETRY_OWNER).then(|| own.unwrap_or(1));
    let attempt = [named, own, envoy, grpc.filter(|attempt| *attempt > 1)]
        .into_iter()
        .flatten()
        .max();
    let outer = attempt.map(|attempt| Outer {
        attempt: attempt.max(1),
    });
    Ok(Ambient::new(deadline, outer))
}

/// Writes the context for the next service, over whatever stood there. False when no time is left: then the
/// request must not be sent, because a zero could be read as no limit.
#[must_use]
pub fn write(headers: &mut HeaderMap, ambient: &Ambient, owner: &HeaderValue, now: Moment) -> bool {
    match ambient
        .deadline
        .map(|deadline| deadline.since(now).as_millis())
    {
        Some(0) => return false,
        Some(millis) => {
            headers.insert(REQUEST_TIMEOUT, value(millis));
        }
        None => {
            headers.remove(REQUEST_TIMEOUT);
        }
    }
    match ambient.outer {
        Some(outer) => {
            headers.insert(RETRY_OWNER, owner.clone());
            headers.insert(RETRY_ATTEMPT, value(u128::from(outer.attempt)));
        }
        None => {
            headers.remove(RETRY_OWNER);
            headers.remove(RETRY_ATTEMPT);
        }
    }
    true
}

/// The value of a `grpc-timeout` header: at most eight digits and a unit, rounded down. `None` when nothing is
/// left.
#[must_use]
pub fn grpc_timeout_text(left: Duration) -> Option<String> {
    /// More than eight digits of hours can say: eleven thousand years.
    const LONGEST: Duration = Duration::from_secs(99_999_999 * 3600);
    let left = left.min(LONGEST);
    GRPC_UNITS.iter().rev().find_map(|(unit, nanos)| {
        let number = left.as_nanos() / nanos;
        (number > 0 && number < 100_000_000).then(|| format!("{number}{unit}"))
    })
}

/// The units of `grpc-timeout` in nanoseconds, largest first.
const GRPC_UNITS: [(char, u128); 6] = [
    ('H', 3_600_000_000_000),
    ('M', 60_000_000_000),
    ('S', 1_000_000_000),
    ('m', 1_000_000),
    ('u', 1_000),
    ('n', 1),
];

/// One to eight digits and a unit, as the gRPC protocol has it; no sign, no space.
fn grpc_timeout(headers: &HeaderMap) -> Result<Option<Duration>, Malformed> {
    let Some(value) = headers.get(GRPC_TIMEOUT) else {
        return Ok(None);
    };
    let malformed = Malformed("grpc-timeout");
    let text = value.to_str().map_err(|_| malformed)?;
    let unit = text.chars().next_back().ok_or(malformed)?;
    let (_, nanos) = GRPC_UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or(malformed)?;
    let digits = &text[..text.len() - unit.len_utf8()];
    let number = digits_of(digits, 8).ok_or(malformed)?;
    let total = u128::from(number) * nanos;
    Ok(Some(Duration::from_nanos(
        u64::try_from(total).unwrap_or(u64::MAX),
    )))
}

fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, Malformed> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let number = value
        .to_str()
        .ok()
        .and_then(|text| digits_of(text, DIGITS_MAX));
    number.map(Some).ok_or_else(|| Malformed(static_name(name)))
}

fn static_name(name: &HeaderName) -> &'static str {
    let known = [
        "x-request-timeout-ms",
        "x-retry-attempt",
        "x-envoy-expected-rq-timeout-ms",
        "x-envoy-attempt-count",
    ];
    known
        .into_iter()
        .find(|known| *known == name.as_str())
        .unwrap_or("grpc-previous-rpc-attempts")
}

fn digits_of(text: &str, digits_max: usize) -> Option<u64> {
    let sound = !text.is_empty()
        && text.len() <= digits_max
        && text.bytes().all(|byte| byte.is_ascii_digit());
    sound.then(|| text.parse().ok()).flatten()
}

fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn value(number: u128) -> HeaderValue {
    HeaderValue::from(
        u64::try_from(number)
            .unwrap_or(u64::MAX)
            .min(10_u64.pow(11)),
    )
}

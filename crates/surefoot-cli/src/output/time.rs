//! Times for people: UTC, to the second.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use surefoot_core::time::Timestamp;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// `2026-11-30 10:32:00Z`. A civil time and no `jiff::Timestamp`, which ends before the engine's last time does.
pub(crate) fn utc(at: Timestamp) -> String {
    let at = EPOCH.saturating_add(SignedDuration::from_micros(at.as_micros()));
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_that_can_be_kept_is_written() {
        assert_eq!(utc(Timestamp::MIN), "1970-01-01 00:00:00Z");
        assert_eq!(utc(Timestamp::MAX), "9999-12-31 23:59:59Z");
        assert_eq!(
            utc(Timestamp::from_micros(784_111_777_999_999)),
            "1994-11-06 08:49:37Z"
        );
    }
}

//! How long something takes, in the words of a configuration: `17m40s`. It rounds up and never writes less than is meant.

use std::time::Duration;

/// The units, largest first, each in milliseconds.
const UNITS: [(&str, u128); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Writes a duration as a configuration has it, such as `42m30s`, in whole milliseconds, rounded up; `0s` where there is none.
#[must_use]
pub fn written(duration: Duration) -> String {
    let mut millis = duration.as_nanos().div_ceil(1_000_000);
    let mut text = String::new();
    for (unit, size) in UNITS {
        if millis >= size {
            text.push_str(&format!("{}{unit}", millis / size));
            millis %= size;
        }
    }
    if text.is_empty() {
        "0s".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_stands_once_and_the_largest_first() {
        for (millis, expected) in [
            (0, "0s"),
            (250, "250ms"),
            (120_000, "2m"),
            (86_400_000, "1d"),
            (93_784_005, "1d2h3m4s5ms"),
        ] {
            assert_eq!(written(Duration::from_millis(millis)), expected);
        }
        assert_eq!(written(Duration::from_micros(1)), "1ms");
    }
}

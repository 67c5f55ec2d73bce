//! The times of a request, and whether they can work together. It compares durations; it never reads a clock.

use std::time::Duration;

/// The longest that any clock may run: 400 days.
pub const CLOCK_MAX: Duration = Duration::from_secs(400 * 24 * 60 * 60);

/// The clocks of a route. They are kept on the record of each request: whoever finds its lease over goes by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    /// How long a handler may run. When it is over the outcome is unknown; the request never runs again by itself.
    /// Default 60 s.
    pub lease: Duration,
    /// How long after its end the answer is kept and replayed. Default 24 h.
    pub retention: Duration,
    /// How long after its end the key stays taken. From the end of the retention on, a repetition is told that the
    /// result is gone. Default 7 days.
    pub tombstone: Duration,
    /// How long after the end of the lease a call of the handler can still take effect: an earlier "did not happen"
    /// proves nothing. Default 60 s.
    pub settles_within: Duration,
}

impl Default for Clocks {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(60),
            retention: Duration::from_secs(24 * 60 * 60),
            tombstone: Duration::from_secs(7 * 24 * 60 * 60),
            settles_within: Duration::from_secs(60),
        }
    }
}

/// How long somebody goes on repeating a request, such as the retries of a client or of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Who.
    pub who: String,
    /// How long after the first try the last one may come.
    pub lasts: Duration,
}

impl Clocks {
    /// Every contradiction of the clocks with one another, with the handler's time-out and with those who repeat, each
    /// with its remedy; empty when they are sound.
    #[must_use]
    pub fn validate(&self, timeout: Option<Duration>, horizons: &[Horizon]) -> Vec<String> {
        let mut faults = self.among_themselves();
        if let Some(timeout) = timeout.filter(|timeout| *timeout >= self.lease) {
            faults.push(format!(
                "the handler may take {timeout:?} and the lease holds {:?}, so a handler that is still running would be \
                 taken for lost; raise the lease or lower the time-out",
                self.lease
            ));
        }
        for Horizon { who, lasts } in horizons {
            if *lasts >= self.tombstone {
                faults.push(format!(
                    "{who} repeats for {lasts:?} and a key stays taken for {:?}, so the last repetition could run a second \
                     time; raise the tombstone or end the repetitions earlier",
                    self.tombstone
                ));
            } else if *lasts >= self.retention {
                faults.push(format!(
                    "{who} repeats for {lasts:?} and answers are kept for {:?}, so the last repetition could get no answer; \
                     raise the retention or end the repetitions earlier",
                    self.retention
                ));
            }
        }
        faults
    }

    fn among_themselves(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.lease.is_zero() {
            faults.push(
                "the lease is 0, so every request would be unknown at once; set 1 s or more"
                    .to_owned(),
            );
        }
        if self.retention <= self.lease {
            faults.push(format!(
                "answers are kept for {:?} and the lease holds {:?}, so a client that repeats after its time-out could find \
                 no answer; raise the retention above the lease",
                self.retention, self.lease
            ));
        }
        if self.tombstone < self.retention {
            faults.push(format!(
                "a key stays taken for {:?} and its answer is kept for {:?}, so the answer would go with its key; raise the \
                 tombstone to the retention or above",
                self.tombstone, self.retention
            ));
        }
        let clocks = [
            ("lease", self.lease),
            ("retention", self.retention),
            ("tombstone", self.tombstone),
            ("settles_within", self.settles_within),
        ];
        for (name, clock) in clocks.into_iter().filter(|(_, clock)| *clock > CLOCK_MAX) {
            faults.push(format!(
                "{name} is {clock:?}, longer than {CLOCK_MAX:?}; shorten it"
            ));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_default_clocks_are_sound() {
        let client = Horizon {
            who: "the client".to_owned(),
            lasts: seconds(3600),
        };
        assert_eq!(
            Clocks::default().validate(Some(seconds(59)), &[client]),
            [""; 0]
        );
    }

    #[test]
    fn every_contradiction_is_told_with_its_remedy() {
        let clocks = Clocks {
            lease: seconds(0),
            retention: seconds(0),
            tombstone: CLOCK_MAX + seconds(1),
            settles_within: seconds(0),
        };
        let told = clocks.validate(Some(seconds(0)), &[]);
        let begins = [
            "the lease is 0",
            "answers are kept for 0ns and the lease holds 0ns",
            "tombstone is 34560001s, longer than",
            "the handler may take 0ns and the lease holds 0ns",
        ];
        assert_eq!(told.len(), begins.len(), "{told:?}");
        for (told, begins) in told.iter().zip(begins) {
            assert!(told.starts_with(begins) && told.contains("; "), "{told}");
        }
    }

    #[test]
    fn who_repeats_longer_than_the_clocks_is_named() {
        let horizon = |lasts| Horizon {
            who: "job refund".to_owned(),
            lasts,
        };
        let clocks = Clocks {
            retention: seconds(100),
            tombstone: seconds(200),
            ..Clocks::default()
        };
        let table = [
            (seconds(99), None),
            (
                seconds(100),
                Some("so the last repetition could get no answer"),
            ),
            (
                seconds(199),
                Some("so the last repetition could get no answer"),
            ),
            (
                seconds(200),
                Some("so the last repetition could run a second time"),
            ),
        ];
        for (lasts, expected) in table {
            let told = clocks.validate(None, &[horizon(lasts)]);
            assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
            for (told, expected) in told.iter().zip(expected) {
                assert!(
                    told.contains("job refund") && told.contains(expected),
                    "{told}"
                );
            }
        }
    }
}

//! What an outage did.

use std::time::Duration;

/// What counts as recovered: nine of ten calls that began within a second succeeded.
const RECOVERED: (usize, usize) = (9, 10);
const SECOND: Duration = Duration::from_secs(1);
/// How finely the begin of that second is looked for, and how long.
const STEP: Duration = Duration::from_millis(100);
const STEPS: u32 = 100;

/// What an outage did; the same for the same seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutageReport {
    /// Calls that were made.
    pub calls: usize,
    /// Calls that succeeded.
    pub succeeded: usize,
    /// What reached the dependency.
    pub sends: usize,
    /// From the end of the script until nine of ten calls within a second succeed; `None` when they did not within ten.
    pub recovery: Option<Duration>,
}

impl OutageReport {
    /// `ended` holds for each call when it began and whether it succeeded; `ends` is the end of the script.
    pub(super) fn new(ended: &[(Duration, bool)], sends: usize, ends: Duration) -> Self {
        Self {
            calls: ended.len(),
            succeeded: ended.iter().filter(|(_, succeeded)| *succeeded).count(),
            sends,
            recovery: recovery(ended, ends),
        }
    }

    /// Sends per call.
    #[must_use]
    pub fn amplification(&self) -> f64 {
        ratio(self.sends, self.calls)
    }

    /// Calls that succeeded, of all.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        ratio(self.succeeded, self.calls)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of calls are far below 2^52"
)]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn recovery(ended: &[(Duration, bool)], ends: Duration) -> Option<Duration> {
    (0..STEPS).map(|step| STEP * step).find(|after| {
        let from = ends + *after;
        let within = ended
            .iter()
            .filter(|(began, _)| (from..from + SECOND).contains(began));
        let (mut all, mut good) = (0, 0);
        for (_, succeeded) in within {
            all += 1;
            good += usize::from(*succeeded);
        }
        all > 0 && good * RECOVERED.1 >= all * RECOVERED.0
    })
}

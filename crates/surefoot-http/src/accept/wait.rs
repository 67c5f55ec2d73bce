//! Waiting a moment for the job of a request, so that what is done soon is answered at once. It must never wait longer than
//! was granted, and never answer with what may still change: that answer is the one that every repetition gets.

use std::sync::atomic::Ordering;
use std::time::Duration;

use http::{HeaderMap, HeaderName};
use surefoot::{Changed, Seen};
use surefoot_core::id::JobId;
use surefoot_core::job::JobState;
use surefoot_core::port::JobRecord;

use super::{Accept, AcceptRefused};
use crate::context::RequestContext;

/// The longest that an [`Accept`] waits for a job.
pub const ACCEPT_WAIT_MAX: Duration = Duration::from_secs(60);

/// What is left of a run's time for its answer after it waited.
const ANSWER_MARGIN: Duration = Duration::from_secs(1);

/// How many requests of one [`Accept`] wait for their jobs at once; further ones are answered with 202 at once.
pub const WAITS_MAX: usize = 256;

/// The preferences of RFC 7240.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// How long a request is kept waiting for its job before it is answered with 202. The default is not at all.
///
/// A client asks by `Prefer: wait=SECONDS` (RFC 7240, section 4.3), or not to be kept by `Prefer: respond-async` (section
/// 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wait {
    /// For a client that prefers nothing.
    pub unasked: Duration,
    /// The longest, whatever a client prefers; at most [`ACCEPT_WAIT_MAX`], and below the `run_max` of the route. Where a route
    /// allows less, its requests are answered with 202 a second before their run is over, and the log says so once.
    pub max: Duration,
}

impl Wait {
    /// Every contradiction in it.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.max > ACCEPT_WAIT_MAX {
            faults.push(format!(
                "wait.max is {:?}, give at most {ACCEPT_WAIT_MAX:?}",
                self.max
            ));
        }
        if self.unasked > self.max {
            faults.push(format!(
                "wait.unasked is {:?} and wait.max only {:?}; raise max",
                self.unasked, self.max
            ));
        }
        faults
    }

    fn granted(&self, preferred: Option<Duration>) -> Duration {
        preferred.unwrap_or(self.unasked).min(self.max)
    }
}

impl Accept {
    /// The same, but that a request is kept waiting for its job: [`accept`](Self::accept) answers 200 with the job's document
    /// and its result where it succeeded by then, else 202.
    ///
    /// # Errors
    /// [`AcceptRefused::Wait`], also where no route of the guard lets a run go on for that long.
    pub fn waiting(self, wait: Wait) -> Result<Self, AcceptRefused> {
        let mut faults = wait.validate();
        let runs = self.inner.guard.options().routes.policies();
        let longest = runs.map(|policy| policy.run_max).max().unwrap_or_default();
        if !wait.max.is_zero() && wait.max.saturating_add(ANSWER_MARGIN) > longest {
            faults.push(format!(
                "wait.max is {:?} and no route lets a run take more than {longest:?}, of which {ANSWER_MARGIN:?} is left for \
                 the answer; lower wait.max or raise run_max",
                wait.max
            ));
        }
        if faults.is_empty() {
            Ok(Self { wait, ..self })
        } else {
            Err(AcceptRefused::Wait(faults.join("; ")))
        }
    }

    /// The job, where it succeeded within what is granted. One that failed may be replayed by a person and is looked at.
    pub(super) async fn done(
        &self,
        job: JobId,
        request: &RequestContext,
    ) -> Option<Box<JobRecord>> {
        let granted = self.wait.granted(request.preferred_wait());
        let granted = granted.min(self.left(request));
        if granted.is_zero() {
            return None;
        }
        let _seat = self.inner.waits.try_acquire().ok()?;
        tokio::time::timeout(granted, self.succeeded(job, granted))
            .await
            .ok()?
    }

    /// How long the request's run may still wait, so that it ends within the `run_max` of its route.
    fn left(&self, request: &RequestContext) -> Duration {
        let routes = &self.inner.guard.options().routes;
        let run_max = routes.of_operation(request.operation()).run_max;
        let is_short = self.wait.max.saturating_add(ANSWER_MARGIN) > run_max;
        if is_short && !self.inner.told_short.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                operation = %request.operation(),
                wait_max = ?self.wait.max,
                ?run_max,
                "clients are kept waiting for less than wait.max, for their run would be over; lower wait.max or raise the \
                 run_max of the route"
            );
        }
        let until = request.since().after(run_max);
        let left = until.since(self.inner.client.now());
        left.saturating_sub(ANSWER_MARGIN)
    }

    async fn succeeded(&self, job: JobId, at_most: Duration) -> Option<Box<JobRecord>> {
        let mut seen: Option<Seen> = None;
        loop {
            let changed = self.inner.client.changed(job, seen.as_ref(), at_most);
            // A store that fails here is of no concern: the job is on record, and can be looked at.
            let record = match changed.await.ok()? {
                Changed::To(record) => record,
                Changed::Same | Changed::NotFound => return None,
            };
            match record.job.state {
                JobState::Succeeded { .. } => return Some(record),
                JobState::Dead(_) | JobState::Cancelled { .. } | JobState::Ignored { .. } => {
                    return None;
                }
                JobState::Pending { .. }
                | JobState::Running(_)
                | JobState::Retrying { .. }
                | JobState::Verifying { .. } => seen = Some(Seen::from(&*record)),
            }
        }
    }
}

/// How long a client prefers to be kept waiting: as its first `wait` says, not at all for one that only prefers
/// `respond-async`, and `None` for one that says neither in a way that can be read.
pub(crate) fn preferred(headers: &HeaderMap) -> Option<Duration> {
    let lines = headers.get_all(PREFER).iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    let mut asynchronous = None;
    for preference in lines.flat_map(|line| line.split(',')) {
        // What follows a semicolon qualifies the preference.
        let preference = preference.split(';').next().unwrap_or_default();
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name.eq_ignore_ascii_case("wait") {
            return value.parse().ok().map(Duration::from_secs);
        }
        if name.eq_ignore_ascii_case("respond-async") {
            asynchronous = Some(Duration::ZERO);
        }
    }
    asynchronous
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_is_read() {
        let table: [(&[&str], Option<u64>); 10] = [
            (&[], None),
            (&["return=minimal"], None),
            (&["wait=10"], Some(10)),
            (&["respond-async, WAIT = 10"], Some(10)),
            (&["respond-async", "wait=\"3\"; why=not"], Some(3)),
            (&["wait=1, wait=9"], Some(1)),
            (&["respond-async"], Some(0)),
            (&["wait"], None),
            (&["wait=-1"], None),
            (&["wait=99999999999999999999"], None),
        ];
        for (lines, seconds) in table {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(PREFER, line.parse().unwrap());
            }
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(preferred(&headers), expected, "{lines:?}");
        }
    }

    #[test]
    fn what_is_granted_is_bounded() {
        let seconds = Duration::from_secs;
        let wait = Wait {
            unasked: seconds(1),
            max: seconds(5),
        };
        assert_eq!(wait.granted(None), seconds(1));
        assert_eq!(wait.granted(Some(seconds(3))), seconds(3));
        assert_eq!(wait.granted(Some(Duration::MAX)), seconds(5));
        assert_eq!(wait.validate(), Vec::<String>::new());
        let unsound = Wait {
            unasked: seconds(62),
            max: seconds(61),
        };
        assert_eq!(unsound.validate().len(), 2);
    }
}

//! Which time limit comes first, and whether a set of limits can work at all. It compares
//! durations; it never waits and never reads a clock.

use std::fmt;
use std::time::Duration;

/// Which limit ended an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeoutKind {
    /// No connection within its time: nothing was sent.
    Connect,
    /// One call of a dependency.
    Attempt,
    /// One attempt of a job.
    Job,
    /// The total deadline over all attempts.
    Deadline,
}

impl fmt::Display for TimeoutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect time-out",
            Self::Attempt => "attempt time-out",
            Self::Job => "job time-out",
            Self::Deadline => "total deadline",
        })
    }
}

/// What it is called when the time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fired {
    /// A limit that somebody chose: it is recorded as the end of the attempt.
    Timeout(TimeoutKind),
    /// The right to run: the attempt is lost, and its holder can record nothing any more.
    Lease,
}

impl From<TimeoutKind> for Fired {
    fn from(kind: TimeoutKind) -> Self {
        Self::Timeout(kind)
    }
}

impl fmt::Display for Fired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(kind) => kind.fmt(f),
            Self::Lease => f.write_str("end of the lease"),
        }
    }
}

/// How long something may still take, and what it is called when that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The time left; zero when it is over already.
    pub within: Duration,
    /// What fires then.
    pub fired: Fired,
}

impl Limit {
    fn new(within: Duration, fired: impl Into<Fired>) -> Self {
        Self {
            within,
            fired: fired.into(),
        }
    }

    /// The narrower of both; of equal ones `wider`, the one that reaches over the other.
    fn inside(self, wider: Self) -> Self {
        if self.within < wider.within {
            self
        } else {
            wider
        }
    }
}

/// The limit of one attempt of a job: its own time-out, the rest of its lease or the rest of its
/// deadline, whichever is narrowest. Of equal limits the one that reaches further is named (deadline
/// before lease before job), because it also says that another attempt does not help.
#[must_use]
pub fn effective_timeout(
    job_timeout: Duration,
    lease_left: Duration,
    deadline_left: Option<Duration>,
) -> Limit {
    let limit =
        Limit::new(job_timeout, TimeoutKind::Job).inside(Limit::new(lease_left, Fired::Lease));
    match deadline_left {
        Some(left) => limit.inside(Limit::new(left, TimeoutKind::Deadline)),
        None => limit,
    }
}

/// Whether a call may leave: its whole time-out ends before the lease does. Otherwise it could take
/// effect while another holder already runs.
#[must_use]
pub fn lease_has_room(attempt_timeout: Duration, lease_left: Duration) -> bool {
    attempt_timeout < lease_left
}

/// The time limits that lie around one another: connect < attempt <= job < lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutLadder {
    /// To connect to the dependency; `None` where nothing connects.
    pub connect: Option<Duration>,
    /// One call of the dependency; `None` where no single call is limited.
    pub attempt: Option<Duration>,
    /// One attempt of the job.
    pub job: Duration,
    /// How long a claim holds without a heartbeat.
    pub lease: Duration,
}

impl TimeoutLadder {
    /// Every contradiction at once, each with its values and a remedy; empty when there is none.
    ///
    /// Limits that are `None` are left out and their neighbours compared. A limit of zero is reported
    /// once and not compared: there is no value to make sense of.
    #[must_use]
    pub fn validate(&self) -> Vec<String> {
        let rungs = [
            ("connect time-out", self.connect),
            ("attempt time-out", self.attempt),
            ("job time-out", Some(self.job)),
            ("lease", Some(self.lease)),
        ];
        let mut faults = Vec::new();
        let mut below: Option<(&str, Duration)> = None;
        for (name, value) in rungs {
            match value {
                None => {}
                Some(Duration::ZERO) => {
                    faults.push(format!(
                        "the {name} is zero, so nothing could run: give a time above zero"
                    ));
                }
                Some(value) => {
                    faults.extend(below.and_then(|below| contradiction(below, (name, value))));
                    below = Some((name, value));
                }
            }
        }
        faults
    }
}

/// What is wrong with two neighbours. Only a call may take as long as the job around it.
fn contradiction(inner: (&str, Duration), outer: (&str, Duration)) -> Option<String> {
    let ((inner_name, inner), (outer_name, outer)) = (inner, outer);
    let may_be_equal = inner_name == "attempt time-out";
    if inner < outer || may_be_equal && inner == outer {
        return None;
    }
    let (relation, needed) = if may_be_equal {
        ("is longer than", "at most")
    } else {
        ("is not shorter than", "below")
    };
    Some(format!(
        "the {inner_name} of {inner:?} {relation} the {outer_name} of {outer:?}, so the {outer_name} always ends first: \
         lower the {inner_name} to {needed} {outer:?}, or raise the {outer_name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_narrowest_limit_fires_under_its_own_name() {
        let table = [
            (30, 40, None, 30, "job time-out"),
            (30, 40, Some(50), 30, "job time-out"),
            (30, 20, None, 20, "end of the lease"),
            (30, 20, Some(10), 10, "total deadline"),
            (30, 40, Some(0), 0, "total deadline"),
            (30, 30, None, 30, "end of the lease"),
            (30, 40, Some(30), 30, "total deadline"),
            (30, 20, Some(20), 20, "total deadline"),
        ];
        for (job, lease, deadline, within, fired) in table {
            let limit = effective_timeout(s(job), s(lease), deadline.map(s));
            assert_eq!(
                (limit.within, limit.fired.to_string()),
                (s(within), fired.to_owned())
            );
        }
    }

    #[test]
    fn a_call_leaves_only_when_it_ends_within_the_lease() {
        assert!(lease_has_room(s(4), s(5)));
        assert!(!lease_has_room(s(5), s(5)));
        assert!(!lease_has_room(s(6), s(5)));
    }

    #[test]
    fn each_limit_has_a_name() {
        let names = [
            (TimeoutKind::Connect, "connect time-out"),
            (TimeoutKind::Attempt, "attempt time-out"),
            (TimeoutKind::Job, "job time-out"),
            (TimeoutKind::Deadline, "total deadline"),
        ];
        for (kind, name) in names {
            assert_eq!(kind.to_string(), name);
        }
    }

    #[test]
    fn every_contradiction_of_a_ladder_is_told() {
        type Case = ([Option<u64>; 2], [u64; 2], &'static [&'static str]);
        let table: [Case; 10] = [
            ([Some(1), Some(5)], [30, 40], &[]),
            ([Some(1), Some(30)], [30, 40], &[]),
            ([None, None], [30, 40], &[]),
            (
                [Some(5), Some(5)],
                [30, 40],
                &[
                    "the connect time-out of 5s is not shorter than the attempt time-out of 5s, so the attempt \
                   time-out always ends first: lower the connect time-out to below 5s, or raise the attempt time-out",
                ],
            ),
            (
                [None, Some(31)],
                [30, 40],
                &[
                    "the attempt time-out of 31s is longer than the job time-out of 30s, so the job time-out always \
                   ends first: lower the attempt time-out to at most 30s, or raise the job time-out",
                ],
            ),
            (
                [None, None],
                [40, 40],
                &[
                    "the job time-out of 40s is not shorter than the lease of 40s, so the lease always ends first: \
                   lower the job time-out to below 40s, or raise the lease",
                ],
            ),
            (
                [Some(30), None],
                [30, 40],
                &[
                    "the connect time-out of 30s is not shorter than the job time-out of 30s, so the job time-out \
                   always ends first: lower the connect time-out to below 30s, or raise the job time-out",
                ],
            ),
            (
                [Some(0), Some(0)],
                [0, 0],
                &[
                    "the connect time-out is zero, so nothing could run: give a time above zero",
                    "the attempt time-out is zero, so nothing could run: give a time above zero",
                    "the job time-out is zero, so nothing could run: give a time above zero",
                    "the lease is zero, so nothing could run: give a time above zero",
                ],
            ),
            (
                [Some(50), Some(0)],
                [30, 40],
                &[
                    "the attempt time-out is zero, so nothing could run: give a time above zero",
                    "the connect time-out of 50s is not shorter than the job time-out of 30s, so the job time-out \
                     always ends first: lower the connect time-out to below 30s, or raise the job time-out",
                ],
            ),
            (
                [Some(9), Some(8)],
                [7, 6],
                &[
                    "the connect time-out of 9s is not shorter than the attempt time-out of 8s, so the attempt \
                     time-out always ends first: lower the connect time-out to below 8s, or raise the attempt time-out",
                    "the attempt time-out of 8s is longer than the job time-out of 7s, so the job time-out always \
                     ends first: lower the attempt time-out to at most 7s, or raise the job time-out",
                    "the job time-out of 7s is not shorter than the lease of 6s, so the lease always ends first: \
                     lower the job time-out to below 6s, or raise the lease",
                ],
            ),
        ];
        for ([connect, attempt], [job, lease], expected) in table {
            let ladder = TimeoutLadder {
                connect: connect.map(s),
                attempt: attempt.map(s),
                job: s(job),
                lease: s(lease),
            };
            assert_eq!(ladder.validate(), expected, "{ladder:?}");
        }
    }
}

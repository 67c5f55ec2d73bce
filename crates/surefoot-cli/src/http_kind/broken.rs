//! One send that did not succeed: what it means for the job, and what it shows the policy of the dependency.

use std::fmt;

use reqwest::StatusCode;
use surefoot_core::classify::{Certainty, Class};
use surefoot_core::failure::Failure;
use surefoot_policy::meaning::{Health, Meaning, Meant};

/// One send that did not succeed.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) failure: Failure,
    meaning: Meaning,
}

impl Broken {
    /// An answer outside 2xx, and what it means for the job. The wait it asks for closes the gate where it is meant for all
    /// callers: a conflict about one key is not.
    pub(super) fn refused(failure: Failure, status: StatusCode, keyed: bool) -> Self {
        let for_all = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
        );
        let after = failure.retry_after.filter(|_| for_all);
        let meaning = Meaning::of_status(status.as_u16(), keyed, failure.retry_after)
            .unwrap_or(Meaning::TRANSIENT)
            .retry_after(after);
        Self { failure, meaning }
    }

    /// No answer, by what the client says of it.
    pub(super) fn silent(failure: Failure, error: &reqwest::Error) -> Self {
        let meaning = if error.is_builder() {
            Meaning {
                class: Class::Permanent,
                certainty: Certainty::NotSent,
                health: Health::Neutral,
                ..Meaning::TRANSIENT
            }
        } else if error.is_connect() {
            Meaning::NOT_SENT
        } else {
            Meaning::TRANSIENT
        };
        Self { failure, meaning }
    }

    /// No time was left when it was about to leave.
    pub(super) fn late(dependency: &str) -> Self {
        Self {
            failure: Failure::transient(format!(
                "{dependency}: no time was left for the call; nothing was sent"
            )),
            meaning: Meaning {
                health: Health::Neutral,
                ..Meaning::NOT_SENT
            },
        }
    }
}

impl Meant for Broken {
    fn meaning(&self) -> Meaning {
        self.meaning
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.failure.text.as_str())
    }
}

//! What a handler reports when its attempt did not succeed. The class decides what happens next; the text is
//! for the person who reads the dead letter.

mod cause;

use std::error::Error;
use std::time::Duration;

use crate::classify::{self, Certainty, Class};
use crate::text::ErrorText;

pub use cause::{CAUSES_MAX, FailureCause};

/// A failed attempt: its class, what to tell people, and when to try again at the earliest.
///
/// It is made by the named constructors, or from any error by `?`: the chain of causes is searched for a
/// [`FailureCause`], which says all of it, and for an [`std::io::Error`], whose kind gives the class and the certainty; any
/// other error is transient, for attempts are finite, and may hide a call that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happens next.
    pub class: Class,
    /// What happened, for people.
    pub text: ErrorText,
    /// The dependency's own word on when to come back; `None` leaves it to the backoff, and where the job is put off to
    /// [`DEFERRAL`](crate::settle::DEFERRAL).
    pub retry_after: Option<Duration>,
    /// The dependency turned the call away before it did anything (a rate limit, a closed gate): the job is put
    /// off and no attempt is used up.
    pub put_off: bool,
    /// What may have happened at the other end, where somebody said so; else [`certainty`](Self::certainty) goes by
    /// the class.
    pub certainty: Option<Certainty>,
}

impl Failure {
    fn of(class: Class, text: ErrorText) -> Self {
        Self {
            class,
            text,
            retry_after: None,
            put_off: false,
            certainty: None,
        }
    }

    /// It may pass: try again within the policy.
    pub fn transient(text: impl Into<ErrorText>) -> Self {
        Self::of(Class::Transient, text.into())
    }

    /// Trying again would not help: make it a dead letter at once.
    pub fn permanent(text: impl Into<ErrorText>) -> Self {
        Self::of(Class::Permanent, text.into())
    }

    /// Nobody knows whether the effect happened; the kind's recovery says what follows.
    pub fn unknown(text: impl Into<ErrorText>) -> Self {
        Self::of(Class::Unknown, text.into())
    }

    /// The handler stopped because it was asked to.
    pub fn cancelled(text: impl Into<ErrorText>) -> Self {
        Self::of(Class::Cancelled, text.into())
    }

    /// A transient failure whose dependency said when to come back.
    pub fn retry_after(delay: Duration, text: impl Into<ErrorText>) -> Self {
        Self {
            retry_after: Some(delay),
            ..Self::transient(text)
        }
    }

    /// The dependency turned the call away before it did anything, such as 429: the job is put off for `delay`
    /// and no attempt is used up.
    pub fn rate_limited(delay: Duration, text: impl Into<ErrorText>) -> Self {
        Self {
            put_off: true,
            ..Self::retry_after(delay, text)
        }
    }

    /// The call was turned away before it did anything, and nobody said until when: the job is put off for
    /// [`DEFERRAL`](crate::settle::DEFERRAL) and no attempt is used up.
    pub fn put_off(text: impl Into<ErrorText>) -> Self {
        Self {
            put_off: true,
            ..Self::transient(text)
        }
    }

    /// An HTTP answer outside 2xx, classified by its status ([`classify::http_status`]); a status in 2xx is an unknown
    /// outcome here, for whoever reports it as a failure could not read the answer.
    pub fn http_status(status: u16, text: impl Into<ErrorText>) -> Self {
        match classify::http_status(status) {
            Some(answer) => Self {
                certainty: Some(answer.certainty),
                ..Self::of(answer.class, text.into())
            },
            None => Self::unknown(text),
        }
    }

    /// The same failure: nothing of the call left.
    #[must_use]
    pub fn not_sent(self) -> Self {
        self.with_certainty(Certainty::NotSent)
    }

    /// The same failure: the other end refused the call before it took effect.
    #[must_use]
    pub fn rejected(self) -> Self {
        self.with_certainty(Certainty::Rejected)
    }

    /// The same failure: the call left and may have been applied.
    #[must_use]
    pub fn maybe_applied(self) -> Self {
        self.with_certainty(Certainty::MaybeApplied)
    }

    fn with_certainty(self, certainty: Certainty) -> Self {
        Self {
            certainty: Some(certainty),
            ..self
        }
    }

    /// What may have happened at the other end: as somebody said, or else by the class. A permanent failure and a call that
    /// was put off were refused; of everything else nobody knows.
    #[must_use]
    pub fn certainty(&self) -> Certainty {
        match (self.certainty, self.class) {
            (Some(certainty), _) => certainty,
            (None, _) if self.put_off => Certainty::Rejected,
            (None, Class::Permanent) => Certainty::Rejected,
            (None, Class::Transient | Class::Unknown | Class::Cancelled) => Certainty::MaybeApplied,
        }
    }

    /// A database error by its SQLSTATE code, such as `40001`.
    pub fn sqlstate(code: &str, text: impl Into<ErrorText>) -> Self {
        Self::of(classify::sqlstate(code), text.into())
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut said = Self::transient("");
        let mut link: Option<&(dyn Error + 'static)> = Some(&error);
        for depth in 0..CAUSES_MAX {
            let Some(cause) = link else { break };
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                said = Self {
                    certainty: Some(classify::io_certainty(io.kind())),
                    ..Self::of(classify::io(io.kind()), "".into())
                };
            }
            if depth > 0 {
                text.push_str(": ");
                text.push_str(&cause.to_string());
            }
            if let Some(cause) = cause.downcast_ref::<FailureCause>() {
                said = cause.failure().clone();
                break;
            }
            link = cause.source();
        }
        Self {
            text: text.into(),
            ..said
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] io::Error);

    #[test]
    fn an_io_error_anywhere_in_the_chain_gives_the_class() {
        let reset = Failure::from(Outer(io::Error::new(
            io::ErrorKind::ConnectionReset,
            "reset",
        )));
        assert_eq!(
            (reset.class, reset.text.as_str()),
            (Class::Transient, "outer: reset")
        );
        let denied = Failure::from(Outer(io::Error::new(io::ErrorKind::PermissionDenied, "no")));
        assert_eq!(denied.class, Class::Permanent);
    }

    #[test]
    fn a_failure_says_what_may_have_happened_at_the_other_end() {
        use Certainty::{MaybeApplied, NotSent, Rejected};
        let io = |kind| Failure::from(Outer(io::Error::new(kind, "x")));
        let cases = [
            (Failure::transient("x"), MaybeApplied),
            (Failure::permanent("x"), Rejected),
            (Failure::unknown("x"), MaybeApplied),
            (Failure::cancelled("x"), MaybeApplied),
            (Failure::rate_limited(Duration::ZERO, "x"), Rejected),
            (Failure::transient("x").not_sent(), NotSent),
            (Failure::transient("x").rejected(), Rejected),
            (Failure::permanent("x").maybe_applied(), MaybeApplied),
            (io(io::ErrorKind::ConnectionRefused), NotSent),
            (io(io::ErrorKind::ConnectionReset), MaybeApplied),
            (io(io::ErrorKind::InvalidData), MaybeApplied),
            (Failure::http_status(429, "x"), Rejected),
            (Failure::http_status(503, "x"), Rejected),
            (Failure::http_status(404, "x"), Rejected),
            (Failure::http_status(500, "x"), MaybeApplied),
            (Failure::http_status(200, "x"), MaybeApplied),
        ];
        for (failure, certainty) in cases {
            assert_eq!(failure.certainty(), certainty, "{failure:?}");
        }
    }

    /// What is written around it, an I/O fault too, knows less.
    #[test]
    fn a_failure_in_the_chain_says_all_of_it() {
        let turned_away =
            Failure::rate_limited(Duration::from_secs(3), "nothing was sent").not_sent();
        let cause = FailureCause::new(turned_away.clone());
        let denied = io::ErrorKind::PermissionDenied;
        let failure = Failure::from(Outer(io::Error::new(denied, Around(cause))));
        assert_eq!(
            failure,
            Failure {
                text: "outer: around: nothing was sent".into(),
                ..turned_away
            }
        );
    }

    #[derive(Debug, thiserror::Error)]
    #[error("around")]
    struct Around(#[source] FailureCause);

    #[test]
    fn an_error_nobody_knows_is_transient() {
        assert_eq!(Failure::from(std::fmt::Error).class, Class::Transient);
    }
}

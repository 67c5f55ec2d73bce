//! What a handler reports when its attempt did not succeed. The class decides what happens next; the text is
//! for the person who reads the dead letter.

use std::error::Error;
use std::time::Duration;

use crate::classify::{self, Class};
use crate::text::ErrorText;

/// A failed attempt: its class, what to tell people, and when to try again at the earliest.
///
/// It is made by the named constructors, or from any error by `?`: the chain of causes is searched for an
/// [`std::io::Error`], whose kind gives the class; any other error is transient, for attempts are finite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happens next.
    pub class: Class,
    /// What happened, for people.
    pub text: ErrorText,
    /// The dependency's own word on when to come back; `None` leaves it to the backoff.
    pub retry_after: Option<Duration>,
    /// The dependency turned the call away before it did anything (a rate limit, a closed gate): the job is put
    /// off and no attempt is used up.
    pub put_off: bool,
}

impl Failure {
    fn of(class: Class, text: ErrorText) -> Self {
        Self {
            class,
            text,
            retry_after: None,
            put_off: false,
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

    /// A database error by its SQLSTATE code, such as `40001`.
    pub fn sqlstate(code: &str, text: impl Into<ErrorText>) -> Self {
        Self::of(classify::sqlstate(code), text.into())
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut class = Class::Transient;
        let mut link: Option<&(dyn Error + 'static)> = Some(&error);
        for depth in 0..CAUSES_MAX {
            let Some(cause) = link else { break };
            if let Some(io) = cause.downcast_ref::<std::io::Error>() {
                class = classify::io(io.kind());
            }
            if depth > 0 {
                text.push_str(": ");
                text.push_str(&cause.to_string());
            }
            link = cause.source();
        }
        Self::of(class, ErrorText::from(text))
    }
}

/// How many links of a chain of causes are read.
const CAUSES_MAX: usize = 16;

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
    fn an_error_nobody_knows_is_transient() {
        assert_eq!(Failure::from(std::fmt::Error).class, Class::Transient);
    }
}

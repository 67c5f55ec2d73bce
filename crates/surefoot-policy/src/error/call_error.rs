//! A call that failed. A rejection is small and made without allocation.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::classify::{Certainty, Class};
use surefoot_core::failure::Failure;

use super::kinds::{AttemptRecord, Kind, Rejection, Story};
use crate::meaning::{Health, Meaning, Meant};
use crate::retry::Suppressed;

/// A call that failed.
#[derive(Debug)]
pub struct CallError<E> {
    dependency: Arc<str>,
    kind: Kind,
    certainty: Certainty,
    class: Class,
    health: Health,
    retry_after: Option<Duration>,
    suppressed: Option<Suppressed>,
    story: Option<Box<Story<E>>>,
}

impl<E> CallError<E> {
    pub(crate) fn rejected(
        dependency: Arc<str>,
        rejection: Rejection,
        retry_after: Option<Duration>,
    ) -> Self {
        Self {
            dependency,
            kind: Kind::Rejected(rejection),
            certainty: Certainty::NotSent,
            class: Class::Transient,
            health: Health::Neutral,
            retry_after,
            suppressed: None,
            story: None,
        }
    }

    /// `certainty` is that of all attempts together, `meaning` that of the last one.
    pub(crate) fn failed(
        dependency: Arc<str>,
        kind: Kind,
        certainty: Certainty,
        meaning: Meaning,
        suppressed: Suppressed,
        story: Box<Story<E>>,
    ) -> Self {
        Self {
            dependency,
            kind,
            certainty,
            class: meaning.class,
            health: meaning.health,
            retry_after: meaning.retry_after,
            suppressed: Some(suppressed),
            story: Some(story),
        }
    }

    /// The name of the dependency.
    #[must_use]
    pub fn dependency(&self) -> &str {
        &self.dependency
    }

    /// How it ended.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// What may have happened at the other end, over all attempts: one that may have been applied is not undone
    /// by a later one that was not sent.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        self.certainty
    }

    /// Whether nothing was sent at all.
    #[must_use]
    pub const fn is_rejection(&self) -> bool {
        matches!(self.kind, Kind::Rejected(_))
    }

    /// When it makes sense to call again, as far as anybody said.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Why no further attempt followed.
    #[must_use]
    pub const fn suppressed(&self) -> Option<Suppressed> {
        self.suppressed
    }

    /// What the attempts were; empty for a rejection.
    #[must_use]
    pub fn attempts(&self) -> &[AttemptRecord] {
        self.story.as_ref().map_or(&[], |story| &story.attempts)
    }

    /// The last error that the call itself gave.
    #[must_use]
    pub fn last(&self) -> Option<&E> {
        self.story.as_ref().and_then(|story| story.source.as_ref())
    }

    /// The last error that the call itself gave.
    #[must_use]
    pub fn into_last(self) -> Option<E> {
        self.story.and_then(|story| story.source)
    }

    pub(crate) fn name(&self) -> Arc<str> {
        Arc::clone(&self.dependency)
    }

    /// The error without the call's own one, and that one.
    pub(crate) fn split(self) -> (CallError<std::convert::Infallible>, Option<E>) {
        let (story, last) = match self.story {
            Some(story) => {
                let Story { attempts, source } = *story;
                (
                    Some(Box::new(Story {
                        attempts,
                        source: None,
                    })),
                    source,
                )
            }
            None => (None, None),
        };
        let Self {
            dependency,
            kind,
            certainty,
            class,
            health,
            retry_after,
            suppressed,
            ..
        } = self;
        (
            CallError {
                dependency,
                kind,
                certainty,
                class,
                health,
                retry_after,
                suppressed,
                story,
            },
            last,
        )
    }

    /// The same error with another kind of last one.
    pub(crate) fn with_last<F>(self, last: Option<F>) -> CallError<F> {
        let Self {
            dependency,
            kind,
            certainty,
            class,
            health,
            retry_after,
            suppressed,
            story,
        } = self;
        let story = story.map(|story| {
            Box::new(Story {
                attempts: story.attempts,
                source: last,
            })
        });
        CallError {
            dependency,
            kind,
            certainty,
            class,
            health,
            retry_after,
            suppressed,
            story,
        }
    }

    /// What a job reports of it, with what may have happened at the other end. A rejection puts the job off and uses up no
    /// attempt; what may have been applied is unknown and not merely failed.
    #[must_use]
    pub fn into_failure(self) -> Failure
    where
        E: fmt::Display,
    {
        /// When nobody said when to come back.
        const PUT_OFF: Duration = Duration::from_secs(5);
        let text = self.to_string();
        let certainty = Some(self.certainty);
        let failure = if self.is_rejection() || self.health == Health::Throttled {
            Failure::rate_limited(self.retry_after.unwrap_or(PUT_OFF), text)
        } else {
            match (self.class, self.certainty) {
                (Class::Cancelled, _) => Failure::cancelled(text),
                (_, Certainty::MaybeApplied | Certainty::Applied) | (Class::Unknown, _) => {
                    Failure::unknown(text)
                }
                (Class::Permanent, _) => Failure::permanent(text),
                (Class::Transient, _) => match self.retry_after {
                    Some(after) => Failure::retry_after(after, text),
                    None => Failure::transient(text),
                },
            }
        };
        Failure {
            certainty,
            ..failure
        }
    }
}

/// To a layer above: a rejection is final there, because what turned it away will do so again; the rest keeps
/// the class of its last attempt and the certainty of all.
impl<E> Meant for CallError<E> {
    fn meaning(&self) -> Meaning {
        let class = if self.is_rejection() {
            Class::Permanent
        } else {
            self.class
        };
        Meaning {
            class,
            certainty: self.certainty,
            health: self.health,
            retry_after: self.retry_after,
            free_replay: false,
        }
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call of {} ", self.dependency)?;
        match self.kind {
            Kind::Rejected(rejection) => write!(f, "was not made: {}", rejection.as_str())?,
            Kind::Failed => f.write_str("failed")?,
            Kind::TimedOut(limit) => write!(f, "was ended by its {limit}")?,
            Kind::Injected(injected) => write!(f, "met an injected {}", injected.as_str())?,
        }
        let attempts = self.attempts().len();
        if attempts > 0 {
            write!(f, " after {attempts} attempt(s), {}", self.certainty)?;
        }
        if let Some(suppressed) = self.suppressed {
            write!(f, ", no further attempt: {}", suppressed.as_str())?;
        }
        if let Some(after) = self.retry_after {
            write!(f, ", again after {after:?}")?;
        }
        match self.last() {
            Some(last) => write!(f, ": {last}"),
            None => Ok(()),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for CallError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.last().and_then(std::error::Error::source)
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::together;
    use super::*;
    use surefoot_core::classify::Certainty::{Applied, MaybeApplied, NotSent, Rejected};

    #[test]
    fn what_may_have_been_applied_stays_so() {
        let table = [
            (NotSent, Rejected, Rejected),
            (MaybeApplied, NotSent, MaybeApplied),
            (Rejected, Applied, Applied),
        ];
        for (one, other, both) in table {
            assert_eq!((together(one, other), together(other, one)), (both, both));
        }
    }

    #[test]
    fn a_rejection_puts_a_job_off_and_an_unknown_outcome_is_not_a_failure() {
        let rejected = CallError::<String>::rejected(
            "psp".into(),
            Rejection::BreakerOpen,
            Some(Duration::from_secs(3)),
        );
        assert_eq!(rejected.meaning().class, Class::Permanent);
        let failure = rejected.into_failure();
        assert!(failure.put_off);
        assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
        let story = Box::new(Story {
            attempts: Vec::new(),
            source: Some("boom".to_owned()),
        });
        let unknown = CallError::failed(
            "psp".into(),
            Kind::Failed,
            MaybeApplied,
            Meaning::TRANSIENT,
            Suppressed::NotRepeatable,
            story,
        );
        assert_eq!(
            unknown.to_string(),
            "the call of psp failed, no further attempt: not_repeatable: boom"
        );
        assert_eq!(unknown.into_failure().class, Class::Unknown);
    }

    #[test]
    fn a_job_is_told_what_may_have_happened_at_the_other_end() {
        let table = [
            (NotSent, Meaning::NOT_SENT),
            (Rejected, Meaning::REFUSED),
            (Rejected, Meaning::THROTTLED),
            // The first attempt timed out, the second one was turned away.
            (MaybeApplied, Meaning::THROTTLED),
        ];
        for (certainty, meaning) in table {
            let story = Box::new(Story {
                attempts: Vec::new(),
                source: Some("boom".to_owned()),
            });
            let attempts = Suppressed::Attempts;
            let error = CallError::failed(
                "psp".into(),
                Kind::Failed,
                certainty,
                meaning,
                attempts,
                story,
            );
            assert_eq!(error.into_failure().certainty(), certainty, "{meaning:?}");
        }
    }

    #[test]
    fn an_error_is_small() {
        assert!(std::mem::size_of::<CallError<[u8; 4096]>>() <= 96);
    }
}

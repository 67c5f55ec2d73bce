//! A call that failed. A rejection is small and made without allocation.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use surefoot_core::classify::{Certainty, Class};
use surefoot_core::failure::{CAUSES_MAX, Failure, FailureCause};
use surefoot_core::text::ErrorText;

use super::kinds::{AttemptRecord, Kind, Rejection, Story};
use crate::meaning::{Health, Meaning, Meant};
use crate::retry::Suppressed;

/// How long a job is put off while somebody holds the breaker open.
const FORCED_OPEN: Duration = Duration::from_secs(30);

/// A call that failed.
///
/// In a handler of a job `?` makes the [`Failure`] of it that [`into_failure`](Self::into_failure) makes, for the chain of
/// its causes ends with a [`FailureCause`]; what the last error gives as its own causes is in the text of that.
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
    /// Made when the causes are first asked for.
    cause: OnceLock<Box<FailureCause>>,
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
            cause: OnceLock::new(),
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
            cause: OnceLock::new(),
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
                cause: OnceLock::new(),
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
            ..
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
            cause: OnceLock::new(),
        }
    }

    /// For how long a job is to be put off, as far as the guard that turned the call away says: `None` leaves it to
    /// [`DEFERRAL`](surefoot_core::settle::DEFERRAL).
    #[must_use]
    pub const fn put_off_for(&self) -> Option<Duration> {
        match (self.retry_after, self.kind) {
            (None, Kind::Rejected(Rejection::ForcedOpen)) => Some(FORCED_OPEN),
            (named, _) => named,
        }
    }

    /// What a job reports of it, with what may have happened at the other end. A rejection puts the job off and uses up no
    /// attempt; what may have been applied is unknown and not merely failed.
    #[must_use]
    pub fn into_failure(self) -> Failure
    where
        E: fmt::Display,
    {
        self.failure(self.to_string())
    }

    fn failure(&self, text: impl Into<ErrorText>) -> Failure {
        let failure = if self.is_rejection() || self.health == Health::Throttled {
            Failure::put_off(text)
        } else {
            match (self.class, self.certainty) {
                (Class::Cancelled, _) => Failure::cancelled(text),
                (_, Certainty::MaybeApplied | Certainty::Applied) | (Class::Unknown, _) => {
                    Failure::unknown(text)
                }
                (Class::Permanent, _) => Failure::permanent(text),
                (Class::Transient, _) => Failure::transient(text),
            }
        };
        let wait = match failure.class {
            Class::Transient => self.put_off_for(),
            Class::Permanent | Class::Unknown | Class::Cancelled => None,
        };
        Failure {
            certainty: Some(self.certainty),
            retry_after: wait,
            ..failure
        }
    }
}

/// What may have happened at the other end, for people.
const fn in_words(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::NotSent => "nothing was sent",
        Certainty::Rejected => "it was refused before it took effect",
        Certainty::MaybeApplied => "it may have been applied",
        Certainty::Applied => "it was applied",
    }
}

/// The causes of the last error, which stand between this one and what it means.
fn causes_of(last: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(last.source(), |cause| cause.source());
    let texts = causes.take(CAUSES_MAX).map(ToString::to_string);
    texts.collect::<Vec<_>>().join(": ")
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
        let cause = self.cause.get_or_init(|| {
            let causes = self.last().map(|last| causes_of(last));
            let text = causes.filter(|causes| !causes.is_empty());
            let text = text.unwrap_or_else(|| in_words(self.certainty).to_owned());
            Box::new(FailureCause::new(self.failure(text)))
        });
        Some(&**cause)
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
    fn a_guard_that_names_no_time_leaves_it_to_the_one_rule() {
        for rejection in Rejection::ALL {
            let turned_away = |after| CallError::<String>::rejected("psp".into(), rejection, after);
            let named = Some(Duration::from_secs(3));
            let wait = turned_away(named).into_failure().retry_after;
            assert_eq!(wait, named, "{rejection:?}");
            let failure = turned_away(None).into_failure();
            let forced = (rejection == Rejection::ForcedOpen).then_some(FORCED_OPEN);
            assert_eq!(
                (failure.put_off, failure.retry_after),
                (true, forced),
                "{rejection:?}"
            );
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("the shop could not pay")]
    struct Shop<E: std::error::Error + 'static>(#[source] CallError<E>);

    /// By `?`, at once and inside an error of the caller's.
    #[test]
    fn a_handler_that_passes_a_call_on_says_what_the_call_knows() {
        use std::io::{Error, ErrorKind};
        let turned_away =
            || CallError::<Error>::rejected("psp".into(), Rejection::BulkheadFull, None);
        let failed = |certainty, meaning, source| {
            let story = Box::new(Story {
                attempts: Vec::new(),
                source,
            });
            let (kind, why) = (Kind::Failed, Suppressed::Attempts);
            CallError::failed("psp".into(), kind, certainty, meaning, why, story)
        };
        let reset = || Some(Error::from(ErrorKind::ConnectionReset));
        // The last attempt was not sent; the one before it may have been applied.
        let doubtful = || failed(MaybeApplied, Meaning::NOT_SENT, reset());
        let refused = || failed(Rejected, Meaning::REFUSED, None);
        type Case = (CallError<Error>, CallError<Error>, Class, bool, Certainty);
        let table: [Case; 3] = [
            (
                turned_away(),
                turned_away(),
                Class::Transient,
                true,
                NotSent,
            ),
            (doubtful(), doubtful(), Class::Unknown, false, MaybeApplied),
            (refused(), refused(), Class::Permanent, false, Rejected),
        ];
        for (one, other, class, put_off, certainty) in table {
            for failure in [Failure::from(one), Failure::from(Shop(other))] {
                let said = (failure.class, failure.put_off, failure.certainty());
                assert_eq!(said, (class, put_off, certainty), "{failure:?}");
            }
        }
    }

    #[derive(Debug, thiserror::Error)]
    #[error("error sending request")]
    struct Sending(#[source] std::io::Error);

    #[test]
    fn the_causes_of_the_last_error_are_told() {
        let refused = std::io::Error::other("connection refused");
        let story = Box::new(Story {
            attempts: Vec::new(),
            source: Some(Sending(refused)),
        });
        let (kind, why) = (Kind::Failed, Suppressed::Attempts);
        let error = CallError::failed("psp".into(), kind, NotSent, Meaning::NOT_SENT, why, story);
        assert_eq!(
            Failure::from(error).text.as_str(),
            "the call of psp failed, no further attempt: attempts: error sending request: connection refused"
        );
    }

    #[test]
    fn an_error_is_small() {
        assert!(std::mem::size_of::<CallError<[u8; 4096]>>() <= 96);
    }
}

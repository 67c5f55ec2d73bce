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
pub(super) const FORCED_OPEN: Duration = Duration::from_secs(30);

/// A call that failed.
///
/// In a handler of a job `?` makes the [`Failure`] of it that [`into_failure`](Self::into_failure) makes, for the chain of
/// its causes ends with a [`FailureCause`]; what the last error gives as its own causes is in the text of that.
#[derive(Debug)]
pub struct CallError<E> {
    facts: Facts,
    story: Option<Box<Story<E>>>,
    /// Made when the causes are first asked for.
    cause: OnceLock<Box<FailureCause>>,
}

/// What is known of a failed call, whatever its own error is.
#[derive(Debug)]
struct Facts {
    dependency: Arc<str>,
    kind: Kind,
    certainty: Certainty,
    class: Class,
    health: Health,
    retry_after: Option<Duration>,
    suppressed: Option<Suppressed>,
}

impl<E> CallError<E> {
    pub(crate) fn rejected(
        dependency: Arc<str>,
        rejection: Rejection,
        retry_after: Option<Duration>,
    ) -> Self {
        let facts = Facts {
            dependency,
            kind: Kind::Rejected(rejection),
            certainty: Certainty::NotSent,
            class: Class::Transient,
            health: Health::Neutral,
            retry_after,
            suppressed: None,
        };
        Self::new(facts, None)
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
        let facts = Facts {
            dependency,
            kind,
            certainty,
            class: meaning.class,
            health: meaning.health,
            retry_after: meaning.retry_after,
            suppressed: Some(suppressed),
        };
        Self::new(facts, Some(story))
    }

    const fn new(facts: Facts, story: Option<Box<Story<E>>>) -> Self {
        Self {
            facts,
            story,
            cause: OnceLock::new(),
        }
    }

    /// The name of the dependency.
    #[must_use]
    pub fn dependency(&self) -> &str {
        &self.facts.dependency
    }

    /// How it ended.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.facts.kind
    }

    /// What may have happened at the other end, over all attempts: one that may have been applied is not undone
    /// by a later one that was not sent.
    #[must_use]
    pub const fn certainty(&self) -> Certainty {
        self.facts.certainty
    }

    /// Whether nothing was sent at all.
    #[must_use]
    pub const fn is_rejection(&self) -> bool {
        matches!(self.facts.kind, Kind::Rejected(_))
    }

    /// When it makes sense to call again, as far as anybody said.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        self.facts.retry_after
    }

    /// Why no further attempt followed.
    #[must_use]
    pub const fn suppressed(&self) -> Option<Suppressed> {
        self.facts.suppressed
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
        Arc::clone(&self.facts.dependency)
    }

    /// The error without the call's own one, and that one.
    pub(crate) fn split(mut self) -> (CallError<std::convert::Infallible>, Option<E>) {
        let last = self.story.as_mut().and_then(|story| story.source.take());
        (self.with_last(None), last)
    }

    /// The same error with another kind of last one.
    pub(crate) fn with_last<F>(self, last: Option<F>) -> CallError<F> {
        let story = self.story.map(|story| {
            Box::new(Story {
                attempts: story.attempts,
                source: last,
            })
        });
        CallError::new(self.facts, story)
    }

    /// For how long a job is to be put off, as far as the guard that turned the call away says: `None` leaves it to
    /// [`DEFERRAL`](surefoot_core::settle::DEFERRAL).
    #[must_use]
    pub const fn put_off_for(&self) -> Option<Duration> {
        match (self.facts.retry_after, self.facts.kind) {
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
        let failure = if self.is_rejection() || self.facts.health == Health::Throttled {
            Failure::put_off(text)
        } else {
            match (self.facts.class, self.facts.certainty) {
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
            certainty: Some(self.facts.certainty),
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
            self.facts.class
        };
        Meaning {
            class,
            certainty: self.facts.certainty,
            health: self.facts.health,
            retry_after: self.facts.retry_after,
            free_replay: false,
        }
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the call of {} ", self.facts.dependency)?;
        match self.facts.kind {
            Kind::Rejected(rejection) => write!(f, "was not made: {}", rejection.as_str())?,
            Kind::Failed => f.write_str("failed")?,
            Kind::TimedOut(limit) => write!(f, "was ended by its {limit}")?,
            Kind::Injected(injected) => write!(f, "met an injected {}", injected.as_str())?,
        }
        let attempts = self.attempts().len();
        if attempts > 0 {
            write!(f, " after {attempts} attempt(s), {}", self.facts.certainty)?;
        }
        if let Some(suppressed) = self.facts.suppressed {
            write!(f, ", no further attempt: {}", suppressed.as_str())?;
        }
        if let Some(after) = self.facts.retry_after {
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
            let text = text.unwrap_or_else(|| in_words(self.facts.certainty).to_owned());
            Box::new(FailureCause::new(self.failure(text)))
        });
        Some(&**cause)
    }
}

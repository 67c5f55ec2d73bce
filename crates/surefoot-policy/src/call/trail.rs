//! What the attempts of one call left behind. Nothing is allocated before the first of them fails.

use std::time::Duration;

use surefoot_core::classify::Certainty;

use super::run::{Failed, Run};
use crate::error::{AttemptRecord, CallError, Kind, Rejection, Story, together};
use crate::event::Event;
use crate::meaning::Meaning;
use crate::retry::Suppressed;

pub(super) struct Trail<E> {
    story: Option<Box<Story<E>>>,
    kind: Kind,
    certainty: Certainty,
    meaning: Meaning,
}

impl<E> Trail<E> {
    pub(super) const fn new() -> Self {
        Self {
            story: None,
            kind: Kind::Failed,
            certainty: Certainty::NotSent,
            meaning: Meaning::TRANSIENT,
        }
    }

    /// What the last failure means.
    pub(super) const fn meaning(&self) -> Meaning {
        self.meaning
    }

    pub(super) fn add(&mut self, failed: Failed<E>) {
        let Failed {
            record,
            meaning,
            source,
        } = failed;
        let story = self.story.get_or_insert_with(|| {
            Box::new(Story {
                attempts: Vec::new(),
                source: None,
            })
        });
        story.attempts.push(record);
        if source.is_some() {
            story.source = source;
        }
        self.kind = record.kind;
        self.certainty = together(self.certainty, record.certainty);
        self.meaning = meaning;
    }

    /// The error of a call that made its attempts.
    pub(super) fn end(self, run: &Run<'_, '_>, suppressed: Suppressed) -> CallError<E> {
        run.failed(suppressed);
        let story = self.story.unwrap_or_else(|| {
            Box::new(Story {
                attempts: Vec::<AttemptRecord>::new(),
                source: None,
            })
        });
        CallError::failed(
            run.name(),
            self.kind,
            self.certainty,
            self.meaning,
            suppressed,
            story,
        )
    }

    /// The error when a guard turned the next attempt away: a rejection if there was none before, else the last
    /// failure, which must not be masked by it.
    pub(super) fn turned_away(
        mut self,
        run: &Run<'_, '_>,
        rejection: Rejection,
        after: Option<Duration>,
    ) -> CallError<E> {
        if self.story.is_none() {
            run.dependency.emit(|| Event::Rejected(rejection));
            return CallError::rejected(run.name(), rejection, after);
        }
        self.meaning.retry_after = self.meaning.retry_after.or(after);
        let suppressed = match rejection {
            Rejection::DeadlinePassed => Suppressed::Deadline,
            Rejection::BreakerOpen
            | Rejection::ProbesOut
            | Rejection::ForcedOpen
            | Rejection::Ramping
            | Rejection::GateClosed
            | Rejection::RateLimited
            | Rejection::BulkheadFull
            | Rejection::BulkheadWaited
            | Rejection::Shed => Suppressed::Guard,
        };
        self.end(run, suppressed)
    }
}

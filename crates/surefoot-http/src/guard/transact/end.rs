//! How a run in a transaction ends: with its commit, or with nothing. What the client is told is true of the database: a
//! rollback is done before it is told, and a commit whose answer was lost is looked up.

use std::time::Duration;

use axum::body::Body;
use http::{Response, StatusCode};
use surefoot_core::error::StoreError;
use surefoot_core::port::{Committed, Opened, RequestTransactions};
use surefoot_core::request::{
    Arrived, Body as Kind, End, Finish, NewRequest, RETRY_AFTER_MIN, Request as Record, finish,
};
use tokio::time::Instant;

use super::Exchange;
use crate::guard::Guard;
use crate::guard::answer::{answer, marked};
use crate::guard::body::{Seen, see};
use crate::guard::local::Standing;
use crate::guard::record::PATIENCE;
use crate::guard::reply;
use crate::guard::run::tell;
use crate::mark::{self, Status};
use crate::observe::DoorEvent;
use crate::problem::{OUTCOME_UNKNOWN, Problem, ROLLED_BACK};
use crate::told::Told;
use crate::transaction::Slot;

/// The pause before a commit whose answer was lost is looked up again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

impl<T: RequestTransactions> Exchange<T> {
    /// The handler answered without a commit.
    pub(super) async fn uncommitted(
        self,
        slot: &Slot<T::Transaction>,
        told: Option<Told>,
        response: Response<Body>,
    ) {
        if let Some(Told::Unknown(why)) = told {
            let response = marked(response, Some(OUTCOME_UNKNOWN.slug));
            return self.unknown(slot, why, response).await;
        }
        let status = response.status();
        let why = format!("the handler answered {status} and did not commit");
        if status < StatusCode::BAD_REQUEST {
            // Its client would take it for done.
            return self.fail(slot, &why).await;
        }
        let response = marked(response, Some(ROLLED_BACK.slug));
        self.roll_back(slot, &why, response).await;
    }

    /// The handler says that something outside may have happened, and did not commit: its rows are gone, and its request is
    /// on record as one whose outcome is unknown.
    async fn unknown(self, slot: &Slot<T::Transaction>, why: String, response: Response<Body>) {
        if let Some(transaction) = slot.take() {
            self.transactions.roll_back(transaction).await;
        }
        let end = End::Unknown(why.into());
        self.saw(&end);
        let Self {
            guard,
            new,
            reply,
            lead,
            ..
        } = self;
        let written = guard.put_down(&new, &end).await;
        if let Some(lead) = &lead {
            lead.tell(Standing::Over(Arrived::UnknownOutcome {
                since: guard.0.clock.now(),
                retry_after: Some(RETRY_AFTER_MIN),
            }));
        }
        tell(reply, response);
        if written.is_err() {
            guard.put_down_later(&new, &end).await;
        }
        // Until here this node tells every repetition what the store may not know yet.
        drop(lead);
    }

    /// Commits what was written, with the answer.
    pub(super) async fn commit(
        self,
        slot: &Slot<T::Transaction>,
        mut response: Response<Body>,
        ends: Instant,
    ) {
        let unknown = match Told::take(&mut response) {
            Some(Told::Unknown(why)) => Some(why),
            Some(Told::NothingHappened(why) | Told::NotBegun(why)) => {
                let why = format!("the handler says that nothing happened: {why}");
                let response = marked(response, Some(ROLLED_BACK.slug));
                return self.roll_back(slot, &why, response).await;
            }
            None => None,
        };
        let (mut head, body) = response.into_parts();
        mark::write(&mut head.headers, Some(Status::Executed), None);
        let most = self.policy.request.body_bytes_max;
        let patience = self
            .policy
            .stream_after
            .min(ends.saturating_duration_since(Instant::now()));
        let passed = Kind::Passed {
            sha256: None,
            bytes: None,
        };
        let (kind, body) = match see(body, &head.headers, most, patience).await {
            Seen::Whole(body) => (Kind::Whole(body.to_vec()), Body::from(body)),
            Seen::TooLarge(passing) => (passed, passing.into_body()),
            Seen::Streamed(passing) => (Kind::Streamed, passing.into_body()),
            Seen::Broken(error) => {
                return self
                    .fail(slot, &format!("the answer broke off: {error}"))
                    .await;
            }
        };
        let (end, error) = match unknown {
            Some(why) => (End::Unknown(why.into()), Some(OUTCOME_UNKNOWN.slug)),
            None => {
                let kept = self.policy.request.kept(answer(&head, kind, false));
                (End::Answered(kept), None)
            }
        };
        let response = marked(Response::from_parts(head, body), error);
        let now = self.guard.0.clock.now();
        let finished = finish(&self.record, self.record.epoch, end.clone(), now);
        let (Finish::Write(next), Some(transaction)) = (finished, slot.take()) else {
            return self.fail(slot, "its transaction is gone").await;
        };
        if let Some(lead) = &self.lead {
            // Another node may tell it as soon as it is committed: nobody is told any more that it runs.
            lead.tell(Standing::Asking);
        }
        let limit = self.guard.0.options.store_timeout;
        let committing = self.transactions.commit(transaction, &next);
        let committed = tokio::time::timeout(limit, committing).await;
        let lost = |_| Committed::Unknown(StoreError::Unavailable("no answer to a commit".into()));
        match committed.unwrap_or_else(lost) {
            Committed::Yes => self.committed(slot, &next, end, response),
            Committed::No(error) => {
                self.watch_store(&error);
                let response = self.guard.away();
                self.roll_back(slot, "it could not be committed", response)
                    .await;
            }
            Committed::Unknown(error) => {
                self.watch_store(&error);
                self.look_up(slot, &next, end, response).await;
            }
        }
    }

    /// Finds out what became of a commit whose answer was lost. Another transaction for the key is the witness: it is
    /// answered as running until the first one is decided.
    async fn look_up(
        self,
        slot: &Slot<T::Transaction>,
        next: &Record,
        end: End,
        response: Response<Body>,
    ) {
        let until = Instant::now() + self.guard.0.options.store_timeout;
        let again = NewRequest {
            id: self.guard.new_id(),
            ..self.new.clone()
        };
        while Instant::now() < until {
            let opening = self.transactions.open(&again, self.guard.0.clock.now());
            match self.guard.0.requests.within("open", opening).await {
                Ok(Opened::Run { transaction, .. }) => {
                    self.transactions.roll_back(transaction).await;
                    let response = self.guard.away();
                    return self.roll_back(slot, "it was not committed", response).await;
                }
                Ok(Opened::Known(Arrived::Running { .. })) | Err(_) => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                Ok(Opened::Known(arrived)) => {
                    let known = self.guard.0.requests.request(&self.new.identity).await;
                    return match known {
                        Ok(Some(known)) if known == *next => {
                            self.committed(slot, next, end, response);
                        }
                        // It was rolled back, and somebody else's run stands.
                        Ok(_) => {
                            let response = reply::to(arrived, &self.guard.0.options.problems);
                            self.roll_back(slot, "it was not committed", response).await;
                        }
                        Err(_) => continue,
                    };
                }
            }
        }
        tracing::error!(request = %self.record.id, "whether a request was committed could not be looked up");
        self.saw(&End::Unknown("the answer to its commit was lost".into()));
        let problems = &self.guard.0.options.problems;
        let unknown = reply::unknown().retry_after(Some(RETRY_AFTER_MIN));
        tell(self.reply, unknown.response(problems, None));
    }

    /// It is on record, as `next`.
    fn committed(
        self,
        slot: &Slot<T::Transaction>,
        next: &Record,
        end: End,
        response: Response<Body>,
    ) {
        slot.committed();
        self.saw(&end);
        if let Some(lead) = self.lead {
            lead.end(|| self.guard.told(next));
        }
        tell(self.reply, response);
    }

    /// Rolls back, and says that the handler is at fault.
    pub(super) async fn fail(self, slot: &Slot<T::Transaction>, why: &str) {
        tracing::error!(request = %self.record.id, why, "a request was rolled back");
        let detail = "all of it was rolled back and nothing happened; it may be sent again under the same key";
        let problem = Problem::new(&ROLLED_BACK, detail).retry_after(Some(RETRY_AFTER_MIN));
        let response = self.guard.refuse(problem);
        self.roll_back(slot, why, response).await;
    }

    /// Rolls back, then tells the client: when it hears of it the key is free.
    pub(super) async fn roll_back(
        self,
        slot: &Slot<T::Transaction>,
        why: &str,
        response: Response<Body>,
    ) {
        if let Some(transaction) = slot.take() {
            let limit = self.guard.0.options.store_timeout;
            let rolling = self.transactions.roll_back(transaction);
            if tokio::time::timeout(limit, rolling).await.is_err() {
                tracing::warn!(request = %self.record.id, "a rollback takes long; it goes on by itself");
            }
        }
        self.saw(&End::NothingHappened(why.into()));
        if let Some(lead) = &self.lead {
            // It runs with the next arrival, not with one that was there before.
            lead.tell(Standing::Over(Arrived::Running {
                retry_after: RETRY_AFTER_MIN,
            }));
        }
        drop(self.lead);
        tell(self.reply, response);
    }

    fn saw(&self, end: &End) {
        self.guard.0.watching.on(&DoorEvent::RunEnded {
            operation: &self.record.operation,
            request: self.record.id,
            end,
            took: self.claimed_at.elapsed(),
        });
    }

    fn watch_store(&self, error: &StoreError) {
        let verb = "commit";
        self.guard
            .0
            .watching
            .on(&DoorEvent::StoreError { verb, error });
        tracing::error!(
            error = error as &dyn std::error::Error,
            request = %self.record.id,
            "a request was not committed by a word"
        );
    }
}

impl Guard {
    /// Claims the key once more, after the claim went with a rollback, and writes the end down under it.
    async fn put_down(&self, new: &NewRequest, end: &End) -> Result<(), StoreError> {
        let claimed = self.0.requests.begin(new, self.0.clock.now()).await?;
        if let Arrived::Run(record) = claimed {
            // What is claimed and not ended is unknown when its lease is over.
            let recorded = self.record(*record, end.clone()).await;
            tracing::warn!(request = %new.id, ?recorded, "the outcome of a request is unknown");
        } else {
            tracing::error!(request = %new.id, "an unknown outcome was not written down, for another run stands");
        }
        Ok(())
    }

    /// Goes on trying after the client had its answer, for as long as the word of a run is tried.
    async fn put_down_later(&self, new: &NewRequest, end: &End) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            tokio::time::sleep(LOOK_AGAIN).await;
            if self.put_down(new, end).await.is_ok() {
                return;
            }
        }
        self.0
            .watching
            .on(&DoorEvent::RecordGivenUp { request: new.id });
        tracing::error!(request = %new.id, "an unknown outcome could not be written down; its key is free");
    }
}

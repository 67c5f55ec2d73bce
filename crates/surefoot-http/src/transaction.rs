//! The handler's transaction, in which its request is claimed: what it writes there and its answer are one commit. It is
//! never committed by an answer alone: a handler says so, and whatever ends it otherwise rolls everything back.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::IntoResponse;
use http::Response;
use http::request::Parts;

use crate::problem::{INTERNAL, KEY_MISSING, Problem, ProblemTypes};

/// The transaction of a guarded request, for a handler behind a [`TransactionLayer`](crate::TransactionLayer); `T` is the
/// [`RequestTransactions::Transaction`](surefoot_core::port::RequestTransactions::Transaction) of the store.
///
/// Claim, rows, messages, jobs and answer are one commit when the handler returns what [`commit_with`](Self::commit_with)
/// makes. Dropped without that, by a `?`, a panic or an answer of its own, all of it is rolled back: nothing happened, the key
/// is free, and the client gets the answer with `Idempotency-Error: rolled-back`.
///
/// It is for rows. A call to another service that is made while the transaction is open is not undone when it is rolled
/// back; enqueue a job in the transaction for that, or use the recorded way ([`IdempotencyLayer`](crate::IdempotencyLayer)).
pub struct InTransaction<T> {
    /// `None` once it went back.
    transaction: Option<T>,
    slot: Slot<T>,
}

/// Where a transaction is handed over, there and back.
pub(crate) struct Slot<T>(Arc<Mutex<Place<T>>>);

struct Place<T> {
    transaction: Option<T>,
    commits: bool,
    /// What the handler wants done once the commit is on record.
    then: Vec<Box<dyn FnOnce() + Send>>,
}

/// Said by the layer where a request has no transaction, because it carries no key that counts.
#[derive(Clone, Debug)]
pub(crate) struct NoTransaction(pub(crate) ProblemTypes);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Slot<T> {
    pub(crate) fn new(transaction: T) -> Self {
        Self(Arc::new(Mutex::new(Place {
            transaction: Some(transaction),
            commits: false,
            then: Vec::new(),
        })))
    }

    /// The transaction, where it is here.
    pub(crate) fn take(&self) -> Option<T> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.transaction.take()
    }

    /// Whether its handler gave it back to be committed.
    pub(crate) fn commits(&self) -> bool {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.commits && place.transaction.is_some()
    }

    /// The commit is on record: does what the handler wants done then. A panic of it is its own.
    pub(crate) fn committed(&self) {
        let then = {
            let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut place.then)
        };
        for then in then {
            if catch_unwind(AssertUnwindSafe(then)).is_err() {
                tracing::error!("what was to be done after a commit panicked; the commit stands");
            }
        }
    }

    fn put(&self, transaction: T, commits: bool) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.transaction = Some(transaction);
        place.commits = commits;
    }
}

impl<T> InTransaction<T> {
    /// The answer that is committed with everything that was written in the transaction, whatever its status. It goes to the
    /// client once the commit is on record, and to every repetition.
    pub fn commit_with(mut self, answer: impl IntoResponse) -> Response<Body> {
        if let Some(transaction) = self.transaction.take() {
            self.slot.put(transaction, true);
        }
        answer.into_response()
    }

    /// What to do as soon as the commit is on record, before the client is answered: to wake whoever works on what was
    /// written, such as `Client::has_work` and `Relay::wake` of `surefoot`. It must not block, and nothing may depend on it: it
    /// is not done after a rollback, nor when the process dies or the answer to the commit is lost and stays so. Whoever is
    /// to be woken finds the work by polling then.
    pub fn after_commit(&mut self, then: impl FnOnce() + Send + 'static) {
        let mut place = self.slot.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.then.push(Box::new(then));
    }
}

impl<T> Drop for InTransaction<T> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take() {
            self.slot.put(transaction, false);
        }
    }
}

impl<T> fmt::Debug for InTransaction<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTransaction").finish_non_exhaustive()
    }
}

impl<T> Deref for InTransaction<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.transaction {
            Some(transaction) => transaction,
            None => unreachable!("it goes back only when this is consumed"),
        }
    }
}

impl<T> DerefMut for InTransaction<T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.transaction {
            Some(transaction) => transaction,
            None => unreachable!("it goes back only when this is consumed"),
        }
    }
}

impl<T: Send + 'static, S: Sync> FromRequestParts<S> for InTransaction<T> {
    type Rejection = Response<Body>;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Response<Body>> {
        let slot = parts.extensions.get::<Slot<T>>().cloned();
        let given = slot.and_then(|slot| Some((slot.take()?, slot)));
        if let Some((transaction, slot)) = given {
            return Ok(Self {
                transaction: Some(transaction),
                slot,
            });
        }
        let unkeyed = parts.extensions.get::<NoTransaction>();
        Err(match unkeyed {
            Some(NoTransaction(types)) => Problem::new(
                &KEY_MISSING,
                "this operation is carried out once for each Idempotency-Key; send one that is made for this intent",
            )
            .response(types, None),
            None => {
                tracing::error!(
                    "a handler takes a transaction that no layer around it opens, or takes it twice"
                );
                Problem::new(&INTERNAL, "the service is not set up for this")
                    .response(&ProblemTypes::default(), None)
            }
        })
    }
}

//! What a Rust user writes down about a kind of job: its name, its payload, its output, its key.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use surefoot_core::failure::Failure;
use surefoot_core::id::JobId;

/// What a handler returns. `?` turns any error into a [`Failure`].
pub type Outcome<T> = Result<T, Failure>;

/// A kind of job as a type: the value is the payload.
pub trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// The kind's name: 1 to 128 bytes of letters, digits and `_ . : / -`. It is stored with each job, so it stays
    /// the same when the type is renamed.
    const KIND: &'static str;

    /// What the handler returns.
    type Output: Serialize + DeserializeOwned + Send + 'static;

    /// What makes this one intent: the same kind and key is never started twice. 1 to 255 printable bytes. Default:
    /// none, so each call is an intent of its own.
    fn key(&self) -> Option<String> {
        None
    }

    /// Where it waits. Default: the standard queue.
    fn queue(&self) -> &str {
        "default"
    }

    /// A higher number runs earlier, -100 to 100. Default 0.
    fn priority(&self) -> i16 {
        surefoot_core::job::PRIORITY_STANDARD
    }

    /// Jobs of one order key run one at a time, first in first out. Default: none.
    fn order_key(&self) -> Option<String> {
        None
    }

    /// Jobs of one concurrency key share the kind's limit per key. Default: none.
    fn concurrency_key(&self) -> Option<String> {
        None
    }
}

/// A job that was handed in, and what its result will be.
pub struct JobRef<J> {
    /// Which job.
    pub id: JobId,
    /// Whether this call created it; `false` when its key was there already, with the same payload.
    pub created: bool,
    kind: PhantomData<fn() -> J>,
}

impl<J> JobRef<J> {
    /// The job with this id, taken to be a `J`.
    #[must_use]
    pub const fn new(id: JobId, created: bool) -> Self {
        Self {
            id,
            created,
            kind: PhantomData,
        }
    }
}

impl<J> Clone for JobRef<J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J> Copy for JobRef<J> {}

impl<J> fmt::Debug for JobRef<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobRef")
            .field("id", &self.id)
            .field("created", &self.created)
            .finish()
    }
}

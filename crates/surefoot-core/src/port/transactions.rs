//! Requests whose claim, business rows and answer are one commit. What is open is seen by nobody: a process that dies
//! leaves nothing behind. It is apart from [`Requests`](super::Requests), because the transaction is one of a database driver
//! that only the adapter and the handler know.

use async_trait::async_trait;

use crate::error::StoreError;
use crate::request::{Arrived, NewRequest, Request};
use crate::time::Timestamp;

/// What opens transactions for requests, on the same records as a [`Requests`](super::Requests) beside it.
#[async_trait]
pub trait RequestTransactions: Send + Sync + 'static {
    /// An open transaction. Dropped, it is rolled back.
    type Transaction: Send + 'static;

    /// Opens a transaction and claims the key in it, by the rules of [`Requests::begin`](super::Requests::begin). A twin
    /// whose transaction is open is answered as running, at once where the store can know of it. After a rollback the key is
    /// as it was.
    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<Self::Transaction>, StoreError>;

    /// Writes down what became of the request, which follows on the one that was claimed, and commits.
    async fn commit(&self, transaction: Self::Transaction, request: &Request) -> Committed;

    /// Rolls back, and answers when that is done. A transaction whose connection is lost is rolled back by the database.
    async fn roll_back(&self, transaction: Self::Transaction);
}

/// What became of an arrival.
#[derive(Debug)]
pub enum Opened<T> {
    /// The key is claimed in this transaction: run it.
    Run {
        /// The request, as it is in the transaction.
        request: Box<Request>,
        /// The transaction.
        transaction: T,
    },
    /// It does not run, and no transaction is open. Never [`Arrived::Run`].
    Known(Arrived),
}

/// What became of a commit.
#[derive(Debug)]
pub enum Committed {
    /// All of it is there.
    Yes,
    /// Nothing of it is there, nor will be.
    No(StoreError),
    /// Its answer was lost: all of it is there or nothing, or will be. Open another transaction for the key to find out: it
    /// is answered as running for as long as that is not decided.
    Unknown(StoreError),
}

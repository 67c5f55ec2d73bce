//! Requests in transactions of the caller's own pool: claim, business rows and answer are one commit. Nothing here waits for
//! a twin, and a commit whose answer was lost is never told as one that failed.

use async_trait::async_trait;
use sqlx::{PgPool, Postgres, Transaction};
use surefoot_core::error::StoreError;
use surefoot_core::port::{Committed, Opened, RequestTransactions, RequestWritten};
use surefoot_core::request::{Arrived, NewRequest, Request};
use surefoot_core::time::Timestamp;

use super::fault::{Fault, broken};
use super::store::PostgresStore;

/// Opens transactions on a pool of the caller's, for the requests of a [`PostgresStore`] in the same database. The store's own
/// connections are not used, so a handler that takes long holds up nothing but itself.
///
/// The pool bounds how many handlers are at work at once: a request that finds no connection within the pool's
/// `acquire_timeout` is refused. Its transactions must read what is committed, PostgreSQL's default, and its role needs the
/// rights of the store's.
#[derive(Clone, Debug)]
pub struct PostgresRequestTransactions {
    store: PostgresStore,
    pool: PgPool,
}

impl PostgresRequestTransactions {
    /// Transactions of `pool`, which leads to the database of `store`.
    #[must_use]
    pub const fn new(store: PostgresStore, pool: PgPool) -> Self {
        Self { store, pool }
    }
}

#[async_trait]
impl RequestTransactions for PostgresRequestTransactions {
    type Transaction = Transaction<'static, Postgres>;

    async fn open(
        &self,
        new: &NewRequest,
        now: Timestamp,
    ) -> Result<Opened<Self::Transaction>, StoreError> {
        let begun = self.pool.begin().await;
        let mut transaction = begun.map_err(|error| Fault::of(error).error)?;
        match self.store.begin_in(&mut transaction, new, now).await {
            Ok(Arrived::Run(request)) => Ok(Opened::Run {
                request,
                transaction,
            }),
            Ok(known) => {
                self.roll_back(transaction).await;
                Ok(Opened::Known(known))
            }
            Err(error) => {
                self.roll_back(transaction).await;
                Err(error)
            }
        }
    }

    async fn commit(&self, mut transaction: Self::Transaction, request: &Request) -> Committed {
        let refused = match self.store.finish_in(&mut transaction, request).await {
            Ok(RequestWritten::Applied) => None,
            Ok(RequestWritten::Already | RequestWritten::Changed(_)) => Some(broken(format!(
                "request {} was written by somebody else in its own transaction",
                request.id
            ))),
            Err(error) => Some(error),
        };
        if let Some(error) = refused {
            self.roll_back(transaction).await;
            return Committed::No(error);
        }
        let Err(error) = transaction.commit().await else {
            return Committed::Yes;
        };
        // A server that says why it refuses has rolled back; one that ends the session with these words may have committed.
        let said_by_server = error.as_database_error().is_some();
        let fault = Fault::of(error);
        if said_by_server && !fault.connection_lost {
            Committed::No(fault.error)
        } else {
            Committed::Unknown(fault.error)
        }
    }

    async fn roll_back(&self, transaction: Self::Transaction) {
        if let Err(error) = transaction.rollback().await {
            tracing::debug!(%error, "a transaction was not rolled back by a word; its connection ends");
        }
    }
}

//! The inbox of the stores, as a consumer in Rust uses it: a receipt for each event, in the transaction of what the event
//! changes. It must never begin or end that transaction.

use surefoot::NodeClock;
use surefoot_core::id::{Consumer, MessageId, Source, Tenant};
use surefoot_core::message::{Accepted, Receipt};
use surefoot_core::time::Clock as _;
use surefoot_lab::Database;
use surefoot_lab::plain::points::{BoxError, Inbox, PgConnection, SqliteTransaction};
use surefoot_store::postgres::PostgresStore;
use surefoot_store::sqlite::SqliteStore;

/// Where the events come from, and who processes them.
const SOURCE: &str = "points";
const CONSUMER: &str = "loyalty";

/// The inbox of a store that is open.
pub(super) struct StoreInbox {
    store: Opened,
    clock: NodeClock,
}

enum Opened {
    /// What is accepted needs the transaction only; the store has seen to the schema.
    Sqlite,
    Postgres(PostgresStore),
}

impl StoreInbox {
    /// Opens the store on the consumer's own database.
    ///
    /// # Errors
    /// What the database said.
    pub(super) async fn open(database: &Database) -> Result<Self, BoxError> {
        let (store, clock) = match database {
            Database::Sqlite(file) => {
                let store = SqliteStore::open(file).await?;
                (Opened::Sqlite, NodeClock::measured(&store).await?)
            }
            Database::Postgres(url) => {
                let store = PostgresStore::open(url).await?;
                let clock = NodeClock::measured(&store).await?;
                (Opened::Postgres(store), clock)
            }
        };
        Ok(Self { store, clock })
    }
}

impl Inbox for StoreInbox {
    fn accept_sqlite(
        &self,
        transaction: &SqliteTransaction<'_>,
        event: &str,
    ) -> Result<bool, BoxError> {
        let receipt = receipt(event)?;
        let accepted = SqliteStore::accept_in(transaction, &receipt, self.clock.now())?;
        Ok(is_first(accepted))
    }

    async fn accept_postgres(
        &self,
        transaction: &mut PgConnection,
        event: &str,
    ) -> Result<bool, BoxError> {
        let Opened::Postgres(store) = &self.store else {
            return Err("the inbox is on another database".into());
        };
        let receipt = receipt(event)?;
        let accepted = store
            .accept_in(transaction, &receipt, self.clock.now())
            .await?;
        Ok(is_first(accepted))
    }
}

fn receipt(event: &str) -> Result<Receipt, BoxError> {
    Ok(Receipt {
        tenant: Tenant::single(),
        source: Source::new(SOURCE)?,
        message: MessageId::new(event)?,
        consumer: Consumer::new(CONSUMER)?,
    })
}

const fn is_first(accepted: Accepted) -> bool {
    match accepted {
        Accepted::First => true,
        Accepted::Duplicate { .. } => false,
    }
}

//! [`PostgresStore`]: opens the database and holds what its verbs share.

use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;
use surefoot_core::error::StoreError;

use super::call::Caller;
use super::connections::Connections;
use super::front::Front;
use super::group::Group;
use super::migrate;
use super::options::PostgresOptions;
use super::schema::Schema;

/// Jobs in a PostgreSQL database of version 13 or newer, encoded in UTF8. Clones share its connections.
///
/// Every verb ends within [`PostgresOptions::call_timeout`]. After a restart of the server, or behind a connection that
/// went silent, a verb answers [`StoreError::Unavailable`] at most once for each connection that was in use; the next
/// ones make new connections.
#[derive(Clone)]
pub struct PostgresStore {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) caller: Arc<Caller>,
    pub(super) group: Arc<Group>,
    pub(super) connect: PgConnectOptions,
    pub(super) listen: Option<PgConnectOptions>,
}

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let connect = &self.shared.connect;
        f.debug_struct("PostgresStore")
            .field("host", &connect.get_host())
            .field("port", &connect.get_port())
            .field("schema", &self.shared.caller.schema.name())
            .finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Opens the database at `url` with the defaults of [`PostgresOptions::parse`].
    ///
    /// # Errors
    /// As [`open_with`](Self::open_with).
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(PostgresOptions::parse(url)?).await
    }

    /// Opens the database and brings its schema to this build's version; makes the schema when there is none. Nodes that
    /// start at once wait for one another.
    ///
    /// # Errors
    /// [`StoreError::Schema`] when a newer build has upgraded it; [`StoreError::Refused`] when the options are wrong (all
    /// faults at once), the credentials do not fit, rights are missing or the database is not encoded in UTF8;
    /// [`StoreError::Unavailable`] when it cannot be reached.
    pub async fn open_with(options: PostgresOptions) -> Result<Self, StoreError> {
        let faults = options.validate();
        if !faults.is_empty() {
            return Err(StoreError::Refused(faults.join("; ").into()));
        }
        let connect = options.connect()?;
        let schema = Arc::new(Schema::new(&options.schema));
        migrate::migrate(&connect, &schema).await?;
        let caller = Arc::new(Caller {
            connections: Connections::new(connect.clone(), options.connections_max),
            schema,
            front: Front::default(),
            timeout: options.call_timeout,
            through_pooler: options.transaction_pooler,
        });
        let group = Arc::new(Group::new(caller.clone(), options.connections_max));
        Ok(Self {
            shared: Arc::new(Shared {
                caller,
                group,
                connect,
                listen: options.listen()?,
            }),
        })
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.shared.caller
    }
}

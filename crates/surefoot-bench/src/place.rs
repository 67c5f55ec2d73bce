//! Where something is measured: a fresh SQLite file or a fresh database of a PostgreSQL server, removed afterwards.

use std::sync::Arc;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;
use surefoot_core::port::Store;
use surefoot_store::Ports;
use tempfile::TempDir;

use crate::Outcome;
use crate::args::Databases;
use crate::floor::Floor;
use crate::floor::postgres::PostgresFloor;
use crate::floor::request::RequestFloor;
use crate::floor::server;
use crate::floor::sqlite::SqliteFloor;

/// Where the PostgreSQL server is found.
const SERVER: &str = "SUREFOOT_TEST_POSTGRES";

/// A kind of database to measure on.
#[derive(Clone, Debug)]
pub(crate) enum Ground {
    /// Files in the folder for temporary files, which must lie on a disk.
    Sqlite,
    /// Databases of a server.
    Postgres {
        /// The server's own database, to make others from.
        server: Box<PgConnectOptions>,
    },
}

/// A database of its own. [`remove`](Self::remove) it when done.
pub(crate) enum Place {
    Sqlite(TempDir),
    Postgres {
        server: Box<PgConnectOptions>,
        name: String,
    },
}

impl Ground {
    /// Those that are wanted.
    pub(crate) fn of(wanted: Databases) -> Outcome<Vec<Self>> {
        let mut grounds = Vec::new();
        if wanted.sqlite {
            grounds.push(Self::Sqlite);
        }
        if wanted.postgres {
            let url = std::env::var(SERVER).map_err(|_| {
                format!(
                    "{SERVER} names no PostgreSQL server; run it under \
                     `SUREFOOT_TEST_PG_FSYNC=on scripts/with-postgres`, or measure `sqlite` only"
                )
            })?;
            let server = Box::new(url.parse()?);
            grounds.push(Self::Postgres { server });
        }
        Ok(grounds)
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres { .. } => "postgres",
        }
    }

    /// What the figures stand for, for the head of the table.
    pub(crate) async fn described(&self) -> Outcome<String> {
        match self {
            Self::Sqlite => Ok(format!(
                "sqlite {} in {}, synchronous = full",
                rusqlite::version(),
                std::env::temp_dir().display()
            )),
            Self::Postgres { server } => server::described(server).await,
        }
    }

    /// A fresh database.
    pub(crate) async fn place(&self) -> Outcome<Place> {
        match self {
            Self::Sqlite => {
                let folder = tempfile::Builder::new()
                    .prefix("surefoot-bench-")
                    .tempdir()?;
                Ok(Place::Sqlite(folder))
            }
            Self::Postgres { server } => Ok(Place::Postgres {
                server: server.clone(),
                name: server::create_database(server).await?,
            }),
        }
    }
}

impl Place {
    /// A store on it, with connections of its own.
    pub(crate) async fn store(&self) -> Outcome<Arc<dyn Store>> {
        Ok(surefoot_store::open(&self.url()).await?)
    }

    /// All ports of such a store.
    pub(crate) async fn ports(&self) -> Outcome<Ports> {
        Ok(surefoot_store::open_ports(&self.url()).await?)
    }

    fn url(&self) -> String {
        match self {
            Self::Sqlite(folder) => {
                format!("sqlite:{}", folder.path().join("surefoot.db").display())
            }
            Self::Postgres { server, name } => server
                .as_ref()
                .clone()
                .database(name)
                .to_url_lossy()
                .to_string(),
        }
    }

    /// The writes of a front door by hand, beside it, with so many connections where the database has them.
    pub(crate) async fn request_floor(&self, connections: u32) -> Outcome<RequestFloor> {
        match self {
            Self::Sqlite(folder) => RequestFloor::sqlite(&folder.path().join("floor.db")),
            Self::Postgres { server, name } => {
                RequestFloor::postgres(server.as_ref().clone().database(name), connections).await
            }
        }
    }

    /// Raw statements beside it, on the same disk or server.
    pub(crate) async fn floor(&self) -> Outcome<Box<dyn Floor>> {
        match self {
            Self::Sqlite(folder) => Ok(Box::new(SqliteFloor::new(folder.path().join("floor.db")))),
            Self::Postgres { server, name } => {
                let options = server.as_ref().clone().database(name);
                Ok(Box::new(PostgresFloor::new(options)))
            }
        }
    }

    /// Removes it. Nothing may use it any more.
    pub(crate) async fn remove(self) -> Outcome<()> {
        match self {
            Self::Sqlite(folder) => Ok(folder.close()?),
            Self::Postgres { server, name } => server::drop_database(&server, &name).await,
        }
    }
}

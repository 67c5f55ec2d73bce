//! Where an experiment keeps its rows: a temporary SQLite file, or a database that is made on a PostgreSQL server for it and
//! removed afterwards. Nothing that is somebody's is ever opened.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection};
use tempfile::TempDir;

use crate::error::LabError;

/// The file in the place's folder.
const FILE: &str = "lab.db";

/// Which of the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseName {
    /// A temporary file.
    Sqlite,
    /// A database of its own on a server.
    Postgres,
}

impl DatabaseName {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// A database that a process of the lab opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A URL.
    Postgres(String),
}

impl Database {
    /// From `sqlite:PATH` or `postgres://...`; `None` for anything else.
    #[must_use]
    pub fn parse(url: &str) -> Option<Self> {
        match url.split_once(':')? {
            ("sqlite", path) => Some(Self::Sqlite(path.into())),
            ("postgres" | "postgresql", _) => Some(Self::Postgres(url.to_owned())),
            _ => None,
        }
    }

    /// As `parse` reads it.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(file) => format!("sqlite:{}", file.display()),
            Self::Postgres(url) => url.clone(),
        }
    }
}

/// A folder and a database of an experiment's own. [`remove`](Self::remove) it when done: dropping it leaves a database on
/// a server behind.
pub struct Place {
    folder: TempDir,
    database: Database,
    server: Option<(PgConnectOptions, String)>,
}

impl Place {
    /// On a temporary SQLite file.
    ///
    /// # Errors
    /// The folder could not be made.
    pub fn sqlite() -> Result<Self, LabError> {
        let folder = folder()?;
        Ok(Self {
            database: Database::Sqlite(folder.path().join(FILE)),
            folder,
            server: None,
        })
    }

    /// On a new database of the server that `url` names, whose user must be allowed to make databases.
    ///
    /// # Errors
    /// The server does not answer or refuses.
    pub async fn postgres(url: &str) -> Result<Self, LabError> {
        let options: PgConnectOptions = url
            .parse()
            .map_err(LabError::database("read the URL of the server"))?;
        let name = format!("surefoot_lab_{:016x}", fastrand::u64(..));
        run(&options, format!("create database {name}"))
            .await
            .map_err(LabError::database("make a database on the server"))?;
        let database = options.clone().database(&name).to_url_lossy().to_string();
        Ok(Self {
            folder: folder()?,
            database: Database::Postgres(database),
            server: Some((options, name)),
        })
    }

    /// Which of the databases it is on.
    #[must_use]
    pub const fn name(&self) -> DatabaseName {
        match self.database {
            Database::Sqlite(_) => DatabaseName::Sqlite,
            Database::Postgres(_) => DatabaseName::Postgres,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) const fn database(&self) -> &Database {
        &self.database
    }

    /// Removes the database and the folder, whoever is still connected.
    ///
    /// # Errors
    /// The server does not answer or refuses; the database is left there.
    pub async fn remove(self) -> Result<(), LabError> {
        let Some((server, name)) = self.server else {
            return Ok(());
        };
        run(
            &server,
            format!("drop database if exists {name} with (force)"),
        )
        .await
        .map_err(LabError::database("remove a database from the server"))
    }
}

fn folder() -> Result<TempDir, LabError> {
    TempDir::with_prefix("surefoot-lab-").map_err(LabError::io("make a folder"))
}

async fn run(server: &PgConnectOptions, statement: String) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(server).await?;
    sqlx::query(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await?;
    connection.close().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_read_as_it_is_written() {
        for url in ["sqlite:/tmp/a b.db", "postgres://ada@127.0.0.1:5/x"] {
            assert_eq!(Database::parse(url).unwrap().url(), url);
        }
        for url in ["", "mysql://x", "surefoot.db"] {
            assert_eq!(Database::parse(url), None, "{url}");
        }
    }

    #[test]
    fn two_places_are_apart_and_go_with_their_folder() {
        let (one, other) = (Place::sqlite().unwrap(), Place::sqlite().unwrap());
        assert_ne!(one.database(), other.database());
        let folder = one.folder().to_owned();
        assert!(folder.is_dir());
        drop(one);
        assert!(!folder.exists());
    }
}

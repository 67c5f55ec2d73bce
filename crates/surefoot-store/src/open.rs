//! From a URL to a store. Every error says what was to be opened, where, and what to do; none repeats a password.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use surefoot_core::error::StoreError;
use surefoot_core::port::{Messages, Requests, Store};

use crate::postgres::PostgresStore;
use crate::sqlite::SqliteStore;

/// What a URL may look like.
const FORMS: &str =
    "write sqlite:PATH, such as sqlite:surefoot.db, or postgres://USER:PASSWORD@HOST:PORT/DATABASE";

/// A store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL has no scheme.
    #[error("the database URL has no scheme; {FORMS}")]
    NoScheme,
    /// The URL has a scheme of another database.
    #[error("there is no store for {scheme}: URLs; {FORMS}")]
    UnknownScheme {
        /// The scheme.
        scheme: String,
    },
    /// A `sqlite:` URL without a path.
    #[error("the sqlite: URL names no file; write sqlite:PATH, such as sqlite:surefoot.db")]
    NoPath,
    /// A `sqlite:` URL with parameters.
    #[error(
        "the sqlite: URL has parameters ({parameters}), but none are taken; leave out everything from the ? on"
    )]
    Parameters {
        /// What follows the `?`.
        parameters: String,
    },
    /// `sqlite::memory:`: every connection would have a database of its own.
    #[error(
        "a SQLite database in memory cannot be shared by the connections of a store; \
         use a file, in tests one in a temporary folder"
    )]
    InMemory,
    /// The folder of the file is not there.
    #[error("the folder of {} is not there; create {} or name another path", file.display(), folder.display())]
    NoFolder {
        /// The file to open.
        file: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The SQLite file was not opened.
    #[error("the SQLite database {} was not opened; {}", file.display(), sqlite_remedy(source))]
    Sqlite {
        /// The file.
        file: PathBuf,
        /// Why.
        source: StoreError,
    },
    /// The PostgreSQL database was not opened.
    #[error(
        "the PostgreSQL database at {place} was not opened; {}",
        postgres_remedy(source)
    )]
    Postgres {
        /// Host, port and database.
        place: String,
        /// Why.
        source: StoreError,
    },
}

/// The ports of one store: they share its threads or its connections.
#[derive(Clone)]
pub struct Ports {
    /// Jobs, effects and queues.
    pub store: Arc<dyn Store>,
    /// Requests of the front door.
    pub requests: Arc<dyn Requests>,
    /// Messages, their deliveries, and receipts.
    pub messages: Arc<dyn Messages>,
}

impl Ports {
    fn of(store: impl Store + Requests + Messages) -> Self {
        let store = Arc::new(store);
        Self {
            store: store.clone(),
            requests: store.clone(),
            messages: store,
        }
    }
}

/// Opens the store that `url` names and brings it to this build's schema: `sqlite:PATH` (the file is made when there is
/// none; a path is relative to the working folder), `postgres://...` or `postgresql://...`.
///
/// # Errors
/// An [`OpenError`] that says what was to be opened, where, and what to do.
pub async fn open(url: &str) -> Result<Arc<dyn Store>, OpenError> {
    open_ports(url).await.map(|ports| ports.store)
}

/// Opens the store that `url` names, as [`open`] does, for jobs, requests and messages.
///
/// # Errors
/// As [`open`].
pub async fn open_ports(url: &str) -> Result<Ports, OpenError> {
    let (scheme, rest) = url.split_once(':').ok_or(OpenError::NoScheme)?;
    match scheme {
        "sqlite" => {
            let file = sqlite_file(rest)?;
            match SqliteStore::open(&file).await {
                Ok(store) => Ok(Ports::of(store)),
                Err(source) => Err(OpenError::Sqlite { file, source }),
            }
        }
        "postgres" | "postgresql" => match PostgresStore::open(url).await {
            Ok(store) => Ok(Ports::of(store)),
            Err(source) => Err(OpenError::Postgres {
                place: postgres_place(rest),
                source,
            }),
        },
        _ => Err(OpenError::UnknownScheme {
            scheme: scheme.to_owned(),
        }),
    }
}

/// The file of a `sqlite:` URL; `sqlite://PATH` is taken too, as other programs write it.
fn sqlite_file(rest: &str) -> Result<PathBuf, OpenError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    if let Some((_, parameters)) = path.split_once('?') {
        return Err(OpenError::Parameters {
            parameters: parameters.to_owned(),
        });
    }
    match path {
        "" => return Err(OpenError::NoPath),
        ":memory:" => return Err(OpenError::InMemory),
        _ => {}
    }
    let file = PathBuf::from(path);
    match file.parent() {
        Some(folder) if folder != Path::new("") && !folder.is_dir() => {
            let folder = folder.to_owned();
            Err(OpenError::NoFolder { file, folder })
        }
        _ => Ok(file),
    }
}

/// Where a PostgreSQL URL leads, without user, password and parameters.
fn postgres_place(rest: &str) -> String {
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let rest = rest.split_once('?').map_or(rest, |(place, _)| place);
    rest.rsplit_once('@')
        .map_or(rest, |(_, place)| place)
        .to_owned()
}

fn sqlite_remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => {
            "another process holds it, or the disk does not answer: end that process or try again"
        }
        StoreError::Refused(_) => {
            "see that it is a SQLite database, that the file and its folder may be written, and that the disk is \
             local and not full"
        }
        StoreError::Broken(_) => "restore it from a backup, or name another path",
        StoreError::Schema { .. } => "it is left as it was",
    }
}

fn postgres_remedy(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable(_) => "see that the server runs and that host and port are right",
        StoreError::Refused(_) => "see that user, password, database and rights are right",
        StoreError::Broken(_) => "restore it from a backup, or name another database",
        StoreError::Schema { .. } => "it is left as it was",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn refused(url: &str) -> String {
        open(url).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn what_cannot_be_opened_is_told_with_the_remedy() {
        let table = [
            (
                "surefoot.db",
                "the database URL has no scheme; write sqlite:PATH, such as",
            ),
            (
                "mysql://ada:secret@db/x",
                "there is no store for mysql: URLs; write sqlite:PATH, such as",
            ),
            (
                "sqlite:",
                "the sqlite: URL names no file; write sqlite:PATH",
            ),
            (
                "sqlite://",
                "the sqlite: URL names no file; write sqlite:PATH",
            ),
            (
                "sqlite::memory:",
                "a SQLite database in memory cannot be shared",
            ),
            (
                "sqlite:a.db?mode=rwc",
                "the sqlite: URL has parameters (mode=rwc), but none are taken",
            ),
            (
                "sqlite:no/such/folder/a.db",
                "the folder of no/such/folder/a.db is not there; create no/such/folder or name another path",
            ),
            (
                "postgres://ada:secret@127.0.0.1:1/orders?sslmode=disable",
                "the PostgreSQL database at 127.0.0.1:1/orders was not opened; see that the server runs",
            ),
        ];
        for (url, expected) in table {
            let error = refused(url).await;
            assert!(error.starts_with(expected), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_file_is_opened_by_each_form_of_its_url() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("surefoot.db");
        for form in ["sqlite:", "sqlite://"] {
            let store = open(&format!("{form}{}", file.display())).await.unwrap();
            assert_eq!(store.pauses().await.unwrap(), []);
            let ports = open_ports(&format!("{form}{}", file.display()))
                .await
                .unwrap();
            assert_eq!(ports.store.pauses().await.unwrap(), []);
            assert_eq!(ports.requests.request_depth().await.unwrap().claimed, 0);
            assert_eq!(ports.messages.message_depth().await.unwrap(), []);
        }
        assert!(file.is_file());
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("letter.txt");
        std::fs::write(&file, "Dear Ada, ".repeat(1000)).unwrap();
        let error = refused(&format!("sqlite:{}", file.display())).await;
        assert!(
            error.contains("letter.txt was not opened; see that it is a SQLite database"),
            "{error}"
        );
    }
}

//! On which databases an experiment runs: always on SQLite, and on PostgreSQL where `--database` names a server. It makes a
//! place for each and removes it again; it must never open a database that is there already.

use surefoot_lab::{DatabaseName, LabError, Place};

use super::stoppable;
use crate::args::Shared;
use crate::exit::Failed;

/// What is told where no server is named.
pub(super) const NOT_ON_POSTGRES: &str = "not measured on PostgreSQL: name a server with --database postgres://...; a database of its own is made there and \
     removed";

/// What came of an experiment on one database.
#[derive(Debug, serde::Serialize)]
pub(super) struct On<T> {
    pub(super) database: DatabaseName,
    #[serde(flatten)]
    pub(super) measured: T,
}

/// The server that `--database` names, if it is one.
pub(super) fn server(shared: &Shared) -> Option<&str> {
    let url = shared.database.as_deref()?;
    let is_server = url.starts_with("postgres://") || url.starts_with("postgresql://");
    is_server.then_some(url)
}

/// Runs an experiment on each of them.
pub(super) async fn on_each<T>(
    shared: &Shared,
    experiment: impl AsyncFn(&Place) -> Result<T, LabError>,
) -> Result<Vec<On<T>>, Failed> {
    let mut places = vec![Place::sqlite()?];
    if let Some(url) = server(shared) {
        places.push(Place::postgres(url).await?);
    }
    let mut measured = Vec::new();
    let mut failed = None;
    for place in places {
        let database = place.name();
        if failed.is_none() {
            match stoppable(experiment(&place)).await {
                Ok(came) => measured.push(On {
                    database,
                    measured: came,
                }),
                Err(error) => failed = Some(error),
            }
        }
        // Also after a failure or a signal: what was made on a server would stay there.
        if let Err(left) = place.remove().await {
            failed.get_or_insert(left.into());
        }
    }
    match failed {
        None => Ok(measured),
        Some(failed) => Err(failed),
    }
}

/// The text with a note where PostgreSQL is missing.
pub(super) fn noted(shared: &Shared, text: String) -> String {
    match server(shared) {
        Some(_) => text,
        None => format!("{}\n\n{NOT_ON_POSTGRES}", text.trim_end()),
    }
}

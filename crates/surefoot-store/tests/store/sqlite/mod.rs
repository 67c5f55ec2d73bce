//! The store contract over [`SqliteStore`], and what only SQLite has to prove.

mod fixture;
mod heart;
mod migrate;
mod order_line;
mod own_outcome;
mod own_transaction;
mod processes;
mod programs;
mod writer;

use std::path::Path;
use std::sync::Arc;

use surefoot_core::port::Store;
use surefoot_store::sqlite::SqliteStore;

/// A store on a new file named after the case, which stays until the next run.
async fn open(case: &'static str) -> Arc<dyn Store> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("sqlite-contract")
        .join(case.replace("::", "-"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    Arc::new(SqliteStore::open(folder.join("surefoot.db")).await.unwrap())
}

surefoot_testkit::store_contract!(open);

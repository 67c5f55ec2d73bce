//! The store contract over [`SqliteStore`], and what only SQLite has to prove.

mod fixture;
mod heart;
mod messages;
mod migrate;
mod order_line;
mod own_outcome;
mod own_transaction;
mod processes;
mod programs;
mod requests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use surefoot_core::port::Store;
use surefoot_store::sqlite::SqliteStore;

/// The path of a new file named after the case, which stays until the next run.
fn new_file(case: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("sqlite-contract")
        .join(case.replace("::", "-"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("surefoot.db")
}

async fn open(case: &'static str) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(new_file(case)).await.unwrap())
}

surefoot_testkit::store_contract!(open);

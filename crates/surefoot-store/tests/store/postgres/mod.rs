//! PostgreSQL: the store contract, and what only this store promises.

mod crowd;
mod faults;
mod fixture;
mod history;
mod messages;
mod migrate;
mod own_outcome;
mod own_transaction;
mod pooler;
mod programs;
mod requests;
mod server;

mod contract {
    use std::sync::Arc;

    use surefoot_core::port::Store;

    async fn open(_case: &'static str) -> Arc<dyn Store> {
        Arc::new(super::fixture::store().await)
    }

    surefoot_testkit::store_contract!(open);
}

//! The database's clock.

use surefoot_core::error::StoreError;
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::row::column;

statements! {
    CLOCK = "-- database_now
        select surefoot.now_micros() as now";
}

/// What it shows.
pub(super) async fn database_now(caller: &Caller) -> Result<Timestamp, StoreError> {
    let row = caller.row(caller.statement(CLOCK)).await?;
    Ok(Timestamp::from_micros(column(&row, "now")?))
}

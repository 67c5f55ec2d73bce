//! Maintain: the partitions of history are made ahead and dropped after their time.

use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::Maintained;
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::row::column;

statements! {
    MAINTAIN = "-- maintain
        select jobs_dropped, more from surefoot.maintain($1, $2)";
}

/// One bounded step; nothing while another node does it.
pub(super) async fn maintain(
    caller: &Caller,
    keep: Duration,
    now: Timestamp,
) -> Result<Maintained, StoreError> {
    let cutoff = now.before(keep);
    let statement = caller
        .statement(MAINTAIN)
        .bind(cutoff.as_micros())
        .bind(now.as_micros());
    let row = caller.row(statement).await?;
    let dropped: i64 = column(&row, "jobs_dropped")?;
    Ok(Maintained {
        jobs_dropped: u64::try_from(dropped).unwrap_or(0),
        more: column(&row, "more")?,
    })
}

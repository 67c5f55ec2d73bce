//! Cancel: a waiting job is withdrawn at once; a running or verifying one, or one that waits with an unknown outcome, by
//! request to its holder, present or next. One function in the database locks the job and decides by its state.

use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::port::{By, Cancelled};
use surefoot_core::time::Timestamp;

use super::call::Caller;
use super::steer::{answer, signed, state_name};

statements! {
    CANCEL = "-- cancel
        select surefoot.cancel($1, $2, $3, $4) as answer";
}

/// Withdraws a job.
pub(super) async fn cancel(
    caller: &Caller,
    job: JobId,
    by: &By,
    now: Timestamp,
) -> Result<Cancelled, StoreError> {
    let statement = caller.statement(CANCEL).bind(job.as_uuid());
    Ok(
        match answer(caller, signed(statement, by, now)).await?.as_deref() {
            None => Cancelled::NotFound,
            Some("done") => Cancelled::Done,
            Some("requested") => Cancelled::Requested,
            Some(state) => Cancelled::Refused(state_name(state)?),
        },
    )
}

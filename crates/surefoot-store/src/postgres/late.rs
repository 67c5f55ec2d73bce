//! Late: what a holder said of its attempt after it was settled without it. It goes on the record of that attempt and
//! nowhere else; it must never touch the job.

use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::text::ErrorText;

use super::call::Caller;
use super::row::column;

statements! {
    LATE = "-- late
        select surefoot.late($1, $2, $3) as answer";
}

/// Keeps what a holder said of its attempt after that was settled as lost.
pub(super) async fn late(
    caller: &Caller,
    job: JobId,
    epoch: Epoch,
    said: &ErrorText,
) -> Result<bool, StoreError> {
    let statement = caller
        .statement(LATE)
        .bind(job.as_uuid())
        .bind(epoch.0)
        .bind(said.as_str().to_owned());
    column(&caller.row(statement).await?, "answer")
}

//! Late: what a holder said of its attempt after it was settled without it. It goes on the record of that attempt and
//! nowhere else; it must never touch the job.

use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::text::ErrorText;

use super::ledger::Ledger;

statements! {
    LATE = "-- late: the first late word on a lost attempt stays
        update surefoot_attempt set late = coalesce(late, ?3)
        where seq = (select seq from surefoot_intent where id = ?1) and epoch = ?2 and outcome = 'lost'";
}

/// Keeps a late word; answers whether there is such an attempt.
pub(super) fn late(
    ledger: &Ledger<'_>,
    job: JobId,
    epoch: Epoch,
    said: &ErrorText,
) -> Result<bool, StoreError> {
    let word = (job.as_uuid().into_bytes(), epoch.0, said.as_str());
    Ok(ledger.execute(LATE, word)? > 0)
}

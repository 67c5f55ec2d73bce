//! Five faults, three contestants, the same harness, and what the provider's books say afterwards.
//!
//! The provider does not deduplicate, so nothing but the contestant keeps an intent from being charged twice.

mod cell;
mod contestant;
mod fault;
mod freeze;
mod rig;

use std::path::PathBuf;

use serde::Serialize;

use crate::error::LabError;

pub use cell::Cell;
pub use contestant::Contestant;
pub use fault::Fault;

/// What to measure.
#[derive(Clone, Debug)]
pub struct FaultOptions {
    /// The binary `surefoot`, which is also the plain loop's worker.
    pub program: PathBuf,
    /// The arguments that make it the plain loop's worker; the file of the rows and the provider's URL follow.
    pub plain_worker: Vec<String>,
    /// How many intents each contestant gets for each fault, 1 to [`INTENTS_MAX`].
    pub intents: usize,
}

/// The most intents of one cell.
pub const INTENTS_MAX: usize = 100;

/// What came of one fault.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The fault.
    pub fault: Fault,
    /// One for each of [`Contestant::ALL`], in that order.
    pub cells: Vec<Cell>,
}

impl Measured {
    /// Whether nothing of Surefoot's is other than it should be.
    #[must_use]
    pub fn surefoot_holds(&self) -> bool {
        self.cells
            .iter()
            .filter(|cell| cell.contestant.is_surefoot())
            .all(|cell| cell.count.is_clean())
    }
}

/// Lets each fault happen, and answers them in the order of [`Fault::ALL`]. The two that have to wait for leases run beside the
/// others, so that all of it takes about half a minute.
///
/// # Errors
/// [`LabError`] when one could not be measured, which says nothing about any contestant.
pub async fn measure_all(options: &FaultOptions) -> Result<Vec<Measured>, LabError> {
    let quick = async {
        let silent = measure(options, Fault::Silent).await?;
        let dropped = measure(options, Fault::Dropped).await?;
        let same_key = measure(options, Fault::SameKey).await?;
        Ok((silent, dropped, same_key))
    };
    let (kill, frozen, (silent, dropped, same_key)) = tokio::try_join!(
        measure(options, Fault::Kill),
        measure(options, Fault::Frozen),
        quick
    )?;
    Ok(vec![kill, silent, dropped, frozen, same_key])
}

/// Lets one fault happen to all contestants, side by side.
///
/// # Errors
/// [`LabError`] when it could not be measured, which says nothing about any contestant.
async fn measure(options: &FaultOptions, fault: Fault) -> Result<Measured, LabError> {
    let [verify, at_most_once, plain] =
        Contestant::ALL.map(|contestant| cell::measure(options, fault, contestant));
    let (verify, at_most_once, plain) = tokio::try_join!(verify, at_most_once, plain)?;
    Ok(Measured {
        fault,
        cells: vec![verify, at_most_once, plain],
    })
}

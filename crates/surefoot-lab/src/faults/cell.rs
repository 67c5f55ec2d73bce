//! One fault happens to one contestant, from the set-up to the count.

use std::time::Duration;

use serde::Serialize;

use super::rig::Rig;
use super::{Contestant, Fault, FaultOptions};
use crate::count::{Count, Seen};
use crate::error::LabError;
use crate::provider::Provider;
use crate::wait;

/// How long it may take until calls of all intents have arrived.
const ARRIVE_MAX: Duration = Duration::from_secs(20);
/// How long it may take until everything has ended; what has not by then is counted as not terminal.
const END_MAX: Duration = Duration::from_secs(45);
/// How long a worker is stopped at least: past its lease of two and a half seconds.
const FROZEN_MIN: Duration = Duration::from_secs(4);
/// How long to watch after everything has ended, for what comes late: longer than a call and a retry take together.
const WATCH: Duration = Duration::from_millis(2500);
/// One in so many intents must be hit by the fault, or it proves nothing.
const HIT_ONE_IN: usize = 5;

/// What came of one fault for one contestant.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// Who.
    pub contestant: Contestant,
    /// How many intents there were.
    pub intents: usize,
    /// How many of them the fault hit.
    pub hit: usize,
    /// Refunds that the provider made.
    pub refunds: usize,
    /// Look-ups that the provider was asked.
    pub asked: usize,
    /// What came of them.
    #[serde(flatten)]
    pub count: Count,
}

pub(super) async fn measure(
    options: &FaultOptions,
    fault: Fault,
    contestant: Contestant,
) -> Result<Cell, LabError> {
    let provider = Provider::start(fault.manners())?;
    let mut rig = Rig::new(options, contestant, &provider.url())?;
    rig.start_worker().await?;
    rig.hand_in().await?;
    let hit = strike(fault, &mut rig, &provider).await?;
    check_hit(fault, contestant, hit, rig.intents().len())?;

    wait::holds(END_MAX, async || rig.all_ended().await).await?;
    let ended = rig.standings().await?;
    if let (Fault::Frozen, Some(first)) = (fault, rig.first()) {
        first.go_on()?;
    }
    tokio::time::sleep(WATCH).await;
    wait::holds(END_MAX, async || rig.all_ended().await).await?;
    let at_last = rig.standings().await?;

    let books = provider.books();
    let mut count = Count::default();
    for (number, intent) in rig.intents().iter().enumerate() {
        let seen = Seen {
            intent,
            ended: ended.get(number).map_or(&[], Vec::as_slice),
            at_last: at_last.get(number).map_or(&[], Vec::as_slice),
        };
        count.add(&seen, &books);
    }
    Ok(Cell {
        contestant,
        intents: rig.intents().len(),
        hit,
        refunds: books.applied_in_all(),
        asked: books.asked,
        count,
    })
}

/// Lets the fault happen, and answers how many intents it hit.
async fn strike(fault: Fault, rig: &mut Rig, provider: &Provider) -> Result<usize, LabError> {
    let intents = rig.intents().len();
    // On a busy host the first calls may have timed out when the last ones arrive; the floor says how many must be out.
    wait::holds(ARRIVE_MAX, async || {
        Ok::<_, LabError>(provider.intents_seen() >= intents)
    })
    .await?;
    match fault {
        Fault::Kill => {
            let hit = provider.books().held;
            rig.kill_first();
            provider.release();
            rig.start_worker().await?;
            Ok(hit)
        }
        Fault::Silent | Fault::Dropped => Ok(provider.books().unanswered),
        Fault::Frozen => {
            let hit = provider.books().held;
            rig.freeze_first().await?;
            // The answers reach a process that does not read them.
            provider.release();
            rig.start_worker().await?;
            tokio::time::sleep(FROZEN_MIN).await;
            Ok(hit)
        }
        Fault::SameKey => {
            rig.hand_in_otherwise().await?;
            Ok(intents)
        }
    }
}

fn check_hit(fault: Fault, contestant: Contestant, hit: usize, of: usize) -> Result<(), LabError> {
    let floor = of.div_ceil(HIT_ONE_IN);
    if hit >= floor {
        return Ok(());
    }
    Err(LabError::Missed {
        what: format!("{} of {}", fault.told(), contestant.told()),
        hit,
        of,
        floor,
    })
}

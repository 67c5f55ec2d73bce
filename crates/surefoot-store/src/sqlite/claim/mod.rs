//! Claim: takes jobs that may run, fair over queues, in order within each, and leases them.
//!
//! A claim walks lanes, not the table. A lane is (queue, kind) of the ready jobs; lanes of kinds that nobody asks for
//! are stepped over as a whole, and jobs that wait for their time stand at the end of their level in the lane. What
//! cannot run although it is due stands aside: parked behind its order key (`order_line`), crowded behind its
//! concurrency key (`crowd`) or past its deadline. Where a job stands only decides how fast it is found; whether it may
//! run is asked again of the rows themselves, for each job, in the transaction that leases it.
//!
//! Fairness: in each round every queue, by name, gives the first job in its order (priority, due time, age) for which
//! there is room, until the claim is full.

pub(super) mod crowd;
pub(super) mod lane;
pub(super) mod levels;
mod line;
pub(super) mod next_due;
pub(super) mod room;
pub(super) mod served;
pub(super) mod take;
#[cfg(test)]
mod tests;

use surefoot_core::error::StoreError;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::Claim;
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use line::Line;
use served::Served;
use take::Taking;

/// What a claim took, and when there will be more.
pub(super) struct Claimed {
    pub(super) leased: Vec<LeasedJob>,
    pub(super) next_due: Option<Timestamp>,
}

/// Takes jobs and leases them.
pub(super) fn claim(
    ledger: &Ledger<'_>,
    claim: &Claim,
    now: Timestamp,
) -> Result<Claimed, StoreError> {
    let served = Served::of(ledger, claim)?;
    let mut taking = Taking::new(ledger, claim, now)?;
    let mut lines = first_round(&mut taking, &served)?;
    while !taking.is_full() && !lines.is_empty() {
        next_round(&mut taking, &mut lines)?;
    }
    let leased = taking.finish()?;
    Ok(Claimed {
        leased,
        next_due: next_due::next_due(ledger, claim, &served, now)?,
    })
}

/// Opens the queues one by one, as long as there is something to take.
fn first_round(taking: &mut Taking<'_>, served: &Served<'_>) -> Result<Vec<Line>, StoreError> {
    let mut lines = Vec::new();
    let mut after = String::new();
    while !taking.is_full() {
        let Some(queue) = served.next(taking.ledger(), &after)? else {
            break;
        };
        let mut line = Line::open(taking, &queue)?;
        if taking.take_from(&mut line)? {
            lines.push(line);
        }
        after = queue;
    }
    Ok(lines)
}

fn next_round(taking: &mut Taking<'_>, lines: &mut Vec<Line>) -> Result<(), StoreError> {
    let mut going_on = Vec::with_capacity(lines.len());
    for mut line in lines.drain(..) {
        if !taking.is_full() && taking.take_from(&mut line)? {
            going_on.push(line);
        }
    }
    *lines = going_on;
    Ok(())
}

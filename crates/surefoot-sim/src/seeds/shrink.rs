//! Makes a failing world small: leaves out one thing after another for as long as the same invariant fails.

use std::collections::BTreeSet;

use super::plan::Plan;
use super::run::{Limits, Ran};
use super::{messages, requests, world};

/// How many worlds are run at most to make one small.
const WORLDS_MAX: u32 = 300;

/// What can be left out, so that the first invariant that was broken still is.
pub(super) fn shrink(seed: u64, limits: Limits, broken: &Ran) -> std::io::Result<BTreeSet<usize>> {
    let mut without = BTreeSet::new();
    let Some((invariant, _)) = broken.broken.first() else {
        return Ok(without);
    };
    let mut worlds = 0;
    loop {
        let mut smaller = false;
        for number in numbers(seed, &without) {
            if worlds >= WORLDS_MAX {
                return Ok(without);
            }
            worlds += 1;
            let mut fewer = without.clone();
            fewer.insert(number);
            let ran = world(seed, &fewer, limits, false)?;
            if ran.broken.iter().any(|(name, _)| name == invariant) {
                without = fewer;
                smaller = true;
            }
        }
        if !smaller {
            return Ok(without);
        }
    }
}

/// The numbers of all that a world is made of.
fn numbers(seed: u64, without: &BTreeSet<usize>) -> Vec<usize> {
    let jobs = Plan::draw(seed, without).items;
    let requests = requests::Plan::draw(seed, without).items;
    let messages = messages::Plan::draw(seed, without).items;
    let jobs = jobs.into_iter().map(|item| item.number);
    jobs.chain(requests.into_iter().map(|item| item.number))
        .chain(messages.into_iter().map(|item| item.number))
        .collect()
}

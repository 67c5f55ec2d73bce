//! How many calls reach a dead database when several layers retry.

use std::time::Duration;

use surefoot_core::time::Roll;

use crate::context::Outer;
use crate::meaning::{Meaning, Meant};
use crate::meta::Meta;
use crate::retry::{Next, RetryOptions, Situation, next};

/// The calls that reach a database which always fails, for one request through `layers` layers of `attempts_max`
/// tries each. With `owner_token`, the outermost layer tells the inner ones that it retries.
#[must_use]
pub fn amplification(layers: u32, attempts_max: u32, owner_token: bool) -> u32 {
    let options = RetryOptions {
        attempts_max,
        ..RetryOptions::default()
    };
    let mut calls = 0;
    let _ = through(layers, &options, owner_token, None, &mut calls);
    calls
}

/// One call of the layer that has `below` more layers under it, itself included.
fn through(
    below: u32,
    options: &RetryOptions,
    owner_token: bool,
    above: Option<Outer>,
    calls: &mut u32,
) -> Result<(), Meaning> {
    if below == 0 {
        *calls = calls.saturating_add(1);
        return Err(Meaning::TRANSIENT);
    }
    let (meta, mut attempts) = (Meta::idempotent(), 0);
    loop {
        attempts += 1;
        let own = owner_token.then_some(Outer { attempt: attempts });
        let Err(failed) = through(below - 1, options, owner_token, above.or(own), calls) else {
            return Ok(());
        };
        let situation = Situation {
            meta: &meta,
            meaning: failed.meaning(),
            attempts,
            replayed: false,
            has_outer: above.is_some(),
            previous: None,
            left: Duration::MAX,
            attempt_min: Duration::ZERO,
        };
        match next(options, &situation, Roll(0)) {
            Next::After(_) => {}
            Next::Replay | Next::Stop(_) => return Err(failed),
        }
    }
}

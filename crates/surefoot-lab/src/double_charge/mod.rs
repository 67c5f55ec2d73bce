//! Two requests with one key reach a payment service at the same moment, while its provider takes its time: a double click,
//! or a client that timed out and sent again. Then the same request comes once more, and at last another one under its key.
//!
//! Both contestants are processes on the loopback. One looks for the key and then acts
//! ([`Manner::CheckThenAct`](crate::plain::payments::Manner)). The other is a service that does nothing about keys, behind
//! `surefoot proxy`. What was charged is counted in the provider's books.

mod rig;
mod shot;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::error::LabError;
use crate::place::Place;
use crate::provider::{Provider, Whim};
use rig::Rig;
use shot::{Shots, Told};

/// What is charged.
const AMOUNT: u64 = 500;
/// What the request asks for that comes under a key that is taken.
const OTHER_AMOUNT: u64 = 900;
/// How long the provider takes.
const CHARGE_TAKES: Duration = Duration::from_millis(200);
/// How often two requests are sent until they meet, which on a busy host they may not.
const TRIES_MAX: u32 = 5;

/// What to measure.
#[derive(Clone, Debug)]
pub struct DoubleChargeOptions {
    /// The binary `surefoot`, which is also the payment service.
    pub program: PathBuf,
    /// The arguments that make it a service that checks and then acts; the database's and the provider's URL follow.
    pub check_then_act: Vec<String>,
    /// The arguments that make it a service that only charges; the same follow.
    pub charge_only: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoubleCharge {
    /// The service that looks for the key and then acts.
    pub check_then_act: Twice,
    /// Surefoot's front door.
    pub claim_first: Once,
}

/// What came of two requests at the same moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Twice {
    /// Both statuses, the lower one first.
    pub statuses: [u16; 2],
    /// How often the provider charged for them.
    pub charges: usize,
}

/// What came of two requests at the same moment, and of those after them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Once {
    /// Both statuses, the lower one first.
    pub statuses: [u16; 2],
    /// How often the provider charged, for all requests under the key.
    pub charges: usize,
    /// The status that the same request got later: the stored one.
    pub later_retry: u16,
    /// How that answer was marked.
    pub later_retry_marked: Option<String>,
    /// Whether its body is the first one, byte for byte.
    pub later_retry_body_equals_first: bool,
    /// The status of another request under the key.
    pub other_body: u16,
}

/// Lets both contestants be asked twice, on one database.
///
/// # Errors
/// [`LabError`] when it could not be measured, which says nothing about any contestant.
pub async fn measure(
    options: &DoubleChargeOptions,
    place: &Place,
) -> Result<DoubleCharge, LabError> {
    let provider = Provider::start(Box::new(|_, _| Whim::Answer(CHARGE_TAKES)))?;
    let plain = Rig::plain(options, place, &provider.url()).await?;
    let (key, told) = met(&Shots::of(plain.url())?, "check-then-act").await?;
    let check_then_act = Twice {
        statuses: statuses(&told),
        charges: provider.books().applied(&key),
    };
    drop(plain);
    let guarded = Rig::guarded(options, place, &provider.url()).await?;
    let shots = Shots::of(guarded.url())?;
    let (key, told) = met(&shots, "claim-first").await?;
    let first = told.iter().find(|told| told.status == 201);
    let first = first.map(|told| told.body.clone());
    let later = shots.pay(&key, AMOUNT).await?;
    let other = shots.pay(&key, OTHER_AMOUNT).await?;
    let claim_first = Once {
        statuses: statuses(&told),
        charges: provider.books().applied(&key),
        later_retry: later.status,
        later_retry_marked: later.marked,
        later_retry_body_equals_first: first.as_ref() == Some(&later.body),
        other_body: other.status,
    };
    drop(guarded);
    Ok(DoubleCharge {
        check_then_act,
        claim_first,
    })
}

/// Two requests under one key that met: neither was over when the other came. Where one was, which is no fault of anybody's,
/// two others are sent under another key.
async fn met(shots: &Shots, contestant: &str) -> Result<(String, [Told; 2]), LabError> {
    for number in 1..=TRIES_MAX {
        let key = format!("{contestant}-{number}-{:08x}", fastrand::u32(..));
        let told = shots.pay_twice(&key, AMOUNT).await?;
        if !told.iter().any(Told::came_after) {
            return Ok((key, told));
        }
    }
    Err(LabError::Missed {
        what: format!("two requests at the same moment to {contestant}"),
        hit: 0,
        of: TRIES_MAX as usize,
        floor: 1,
    })
}

fn statuses(told: &[Told; 2]) -> [u16; 2] {
    let mut statuses = told.each_ref().map(|told| told.status);
    statuses.sort_unstable();
    statuses
}

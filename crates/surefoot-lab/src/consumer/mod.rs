//! Two events are applied, and the consumer dies before its offset is committed. So the broker delivers both again, as every
//! broker does that loses nothing.
//!
//! Both contestants are the same program over the same account, killed by `kill -9` at the same point: the events are applied, the
//! commit of the offset is under way and has not been taken. One asks an inbox, in the transaction of the points, whether the
//! event is new.

mod broker;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::place::Place;
use crate::plain::points::Account;
use crate::process::Process;
use crate::wait;
use broker::Broker;

/// How long the consumer may take for the events.
const CONSUMED_MAX: Duration = Duration::from_secs(30);

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the log, from 1.
    pub offset: u64,
    /// What it is known by.
    pub id: String,
    /// How many points it gives.
    pub delta: i64,
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct RedeliveryOptions {
    /// The binary `surefoot`, which is also the consumer.
    pub program: PathBuf,
    /// The arguments that make it the naive consumer; the database's and the broker's URL follow.
    pub naive: Vec<String>,
    /// The arguments that make it the idempotent one; the same follow.
    pub idempotent: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redelivery {
    /// The consumer that applies what comes.
    pub naive: Consumed,
    /// The consumer that asks its inbox.
    pub idempotent: Consumed,
}

/// What came of one consumer, over its death.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Consumed {
    /// The points of the account at the end.
    pub points: i64,
    /// What it did with each delivery, in order.
    pub log: Vec<String>,
}

/// Lets both consumers die, one after the other, on one database.
///
/// # Errors
/// [`LabError`] when it could not be measured, which says nothing about any contestant.
pub async fn measure(options: &RedeliveryOptions, place: &Place) -> Result<Redelivery, LabError> {
    let mut account = Account::open(place.database()).await?;
    let naive = one(options, &options.naive, "naive", place, &mut account).await?;
    account.clear().await?;
    let idempotent = one(
        options,
        &options.idempotent,
        "idempotent",
        place,
        &mut account,
    )
    .await?;
    Ok(Redelivery { naive, idempotent })
}

async fn one(
    options: &RedeliveryOptions,
    arguments: &[String],
    name: &str,
    place: &Place,
    account: &mut Account,
) -> Result<Consumed, LabError> {
    let broker = Broker::start(events()).await?;
    let log = place.folder().join(format!("{name}.log"));
    let database = place.database().url();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend([database.as_str(), broker.url()]);
    let start = || Process::start(&options.program, &arguments, place.folder(), log.clone());

    let (first, _) = start().await?;
    within(&log, "a commit of the offset", || broker.is_asked()).await?;
    first.kill();
    broker.take_commits();
    let (second, _) = start().await?;
    let events = events().len() as u64;
    within(&log, "the commit of the last offset", || {
        broker.committed() == events
    })
    .await?;
    second.kill();
    let text = std::fs::read_to_string(&log).map_err(LabError::io("read a log"))?;
    Ok(Consumed {
        points: account.points().await?,
        log: text.lines().map(str::to_owned).collect(),
    })
}

fn events() -> Vec<Event> {
    let event = |(offset, id, delta): (u64, &str, i64)| Event {
        offset,
        id: id.to_owned(),
        delta,
    };
    [(1, "e1", 10), (2, "e2", 5)].map(event).into()
}

async fn within(
    log: &std::path::Path,
    what: &str,
    mut holds: impl FnMut() -> bool,
) -> Result<(), LabError> {
    if wait::holds(CONSUMED_MAX, async || Ok::<_, LabError>(holds())).await? {
        return Ok(());
    }
    let log = std::fs::read_to_string(log).unwrap_or_default();
    Err(LabError::Late {
        what: format!("{what} (the consumer's log: {})", log.trim()),
        within: CONSUMED_MAX,
    })
}

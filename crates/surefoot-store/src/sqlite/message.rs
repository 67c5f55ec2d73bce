//! Messages: what is appended, with its deliveries, and who wants which topics. The unique index decides whether a message is
//! there; a message and its deliveries are written in one transaction, so that a sink gets all of them or the append failed.

use rusqlite::{Connection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::job::TraceContext;
use surefoot_core::message::{Message, MessageNumber, Topics};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Appended, BACKFILL_MAX, Since, Subscribed};

use super::ledger::{Ledger, first};
use super::{message_line, row};

/// The columns of a message `m`, in the order in which [`message`] reads them.
macro_rules! message_columns {
    () => {
        "m.number, m.tenant, m.id, m.topic, m.key, m.payload, m.trace, m.appended_at"
    };
}

pub(super) use message_columns;

/// How many columns those are.
pub(super) const MESSAGE_COLUMNS: usize = 8;

/// The topic of a subscription to every topic.
const EVERY_TOPIC: &str = "*";

statements! {
    WRITE = "-- append: a message, unless its id is there
        insert into surefoot_message (tenant, id, topic, key, payload, trace, appended_at, deliveries)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        on conflict (tenant, id) do nothing";
    WANTED_BY = "-- append: who wants a topic
        select distinct sink from surefoot_subscription where topic in (?1, '*')";
    BY_ID = concat!("-- message: the one with an id
        select ", message_columns!(), " from surefoot_message as m where m.tenant = ?1 and m.id = ?2");
    HOLDS = "-- subscribe: whether a sink gets a topic
        select 1 from surefoot_subscription where sink = ?1 and topic = ?2";
    ADD = "-- subscribe: a sink gets a topic
        insert into surefoot_subscription (topic, sink) values (?1, ?2) on conflict do nothing";
    KEPT_OF_TOPIC = "-- subscribe: what is kept of a topic and has no delivery to the sink
        select m.number, m.tenant, m.key, m.appended_at from surefoot_message as m
        where m.topic = ?2
            and not exists (select 1 from surefoot_delivery as d where d.sink = ?1 and d.number = m.number)
        order by m.number limit ?3";
    KEPT = "-- subscribe: what is kept of the topics that the sink did not get
        select m.number, m.tenant, m.key, m.appended_at from surefoot_message as m
        where not exists (select 1 from surefoot_subscription as s where s.sink = ?1 and s.topic = m.topic)
            and not exists (select 1 from surefoot_delivery as d where d.sink = ?1 and d.number = m.number)
        order by m.number limit ?2";
    ONE_MORE = "-- subscribe: a message has one delivery more
        update surefoot_message set deliveries = deliveries + 1 where number = ?1";
    TAKE_AWAY = "-- unsubscribe: a sink does not get a topic any more
        delete from surefoot_subscription where topic = ?1 and sink = ?2";
    TAKE_ALL_AWAY = "-- unsubscribe: a sink gets no topic any more
        delete from surefoot_subscription where sink = ?1";
}

/// Writes a message down with its deliveries.
pub(super) fn append(ledger: &Ledger<'_>, message: &Message) -> Result<Appended, StoreError> {
    let topic = [message.topic.as_str()];
    let sinks: Vec<SinkName> = ledger.rows(WANTED_BY, topic, |found| row::name(found, 0))?;
    if !write(ledger, message, sinks.len())? {
        return match by_id(ledger.connection(), &message.tenant, &message.id)? {
            Some((number, known)) if known.same_as(message) => Ok(Appended::Already(number)),
            Some((number, _)) => Ok(Appended::Conflict(number)),
            None => Err(StoreError::Broken(format!(
                "message {} was refused by its unique index, but it is not there",
                message.id
            ))),
        };
    }
    let number = MessageNumber(ledger.connection().last_insert_rowid());
    for sink in &sinks {
        let made = message_line::Arriving {
            number,
            tenant: message.tenant.as_str(),
            key: message.key.as_ref().map(|key| key.as_str()),
            due_at: message.appended_at.as_micros(),
        };
        message_line::arrive(ledger, sink, &made)?;
    }
    Ok(Appended::Written(number))
}

fn write(ledger: &Ledger<'_>, message: &Message, deliveries: usize) -> Result<bool, StoreError> {
    let written = ledger.execute(
        WRITE,
        (
            message.tenant.as_str(),
            message.id.as_str(),
            message.topic.as_str(),
            message.key.as_ref().map(|key| key.as_str()),
            message.payload.as_str(),
            message.trace.as_ref().map(|trace| trace.as_str()),
            message.appended_at.as_micros(),
            i64::try_from(deliveries).unwrap_or(i64::MAX),
        ),
    )?;
    Ok(written == 1)
}

/// The message with an id, and its number.
pub(super) fn by_id(
    connection: &Connection,
    tenant: &Tenant,
    id: &MessageId,
) -> Result<Option<(MessageNumber, Message)>, StoreError> {
    first(connection, BY_ID, (tenant.as_str(), id.as_str()), message)
}

/// The message of a row that begins with [`message_columns`].
pub(super) fn message(found: &Row<'_>) -> Result<(MessageNumber, Message), StoreError> {
    let message = Message {
        tenant: row::name(found, 1)?,
        id: row::name(found, 2)?,
        topic: row::name(found, 3)?,
        key: row::name_if_any(found, 4)?,
        payload: Payload::from_store(row::column(found, 5)?),
        trace: row::column::<Option<String>>(found, 6)?
            .as_deref()
            .and_then(TraceContext::parse),
        appended_at: row::time(found, 7)?,
    };
    Ok((MessageNumber(row::column(found, 0)?), message))
}

/// Puts a sink on record, and makes deliveries of what was there before where that is asked for.
pub(super) fn subscribe(
    ledger: &Ledger<'_>,
    sink: &SinkName,
    topics: &Topics,
    since: Since,
) -> Result<Subscribed, StoreError> {
    let holds = |topic: &str| ledger.first(HOLDS, (sink.as_str(), topic), |_| Ok(()));
    if holds(EVERY_TOPIC)?.is_some() {
        return Ok(Subscribed::Done { backfilled: 0 });
    }
    let mut wanted: Vec<&str> = match topics {
        Topics::All => vec![EVERY_TOPIC],
        Topics::Named(topics) => topics.iter().map(|topic| topic.as_str()).collect(),
    };
    let mut new = Vec::new();
    for topic in wanted.drain(..) {
        if holds(topic)?.is_none() {
            new.push(topic);
        }
    }
    let mut kept = match since {
        Since::Now => Vec::new(),
        Since::Kept => kept(ledger, sink, &new)?,
    };
    if kept.len() as u64 > BACKFILL_MAX {
        return Ok(Subscribed::TooMany);
    }
    kept.sort_by_key(|kept| kept.number);
    for kept in &kept {
        let made = message_line::Arriving {
            number: kept.number,
            tenant: &kept.tenant,
            key: kept.key.as_deref(),
            due_at: kept.appended_at,
        };
        message_line::arrive(ledger, sink, &made)?;
        ledger.execute_one(ONE_MORE, [kept.number.0])?;
    }
    for topic in new {
        ledger.execute(ADD, (topic, sink.as_str()))?;
    }
    Ok(Subscribed::Done {
        backfilled: kept.len() as u64,
    })
}

/// A message from before a subscription.
struct Kept {
    number: MessageNumber,
    tenant: String,
    key: Option<String>,
    appended_at: i64,
}

/// What is kept of topics that the sink did not get, at most one more than is made deliveries of.
fn kept(ledger: &Ledger<'_>, sink: &SinkName, new: &[&str]) -> Result<Vec<Kept>, StoreError> {
    let read = |found: &Row<'_>| {
        Ok(Kept {
            number: MessageNumber(row::column(found, 0)?),
            tenant: row::column(found, 1)?,
            key: row::column(found, 2)?,
            appended_at: row::column(found, 3)?,
        })
    };
    let most = i64::try_from(BACKFILL_MAX).unwrap_or(i64::MAX) + 1;
    let mut all = Vec::new();
    for topic in new {
        all.extend(match *topic {
            EVERY_TOPIC => ledger.rows(KEPT, (sink.as_str(), most), read)?,
            topic => ledger.rows(KEPT_OF_TOPIC, (sink.as_str(), topic, most), read)?,
        });
    }
    Ok(all)
}

/// Takes topics away from a sink.
pub(super) fn unsubscribe(
    ledger: &Ledger<'_>,
    sink: &SinkName,
    topics: &Topics,
) -> Result<bool, StoreError> {
    let mut changed = 0;
    match topics {
        Topics::All => changed += ledger.execute(TAKE_ALL_AWAY, [sink.as_str()])?,
        Topics::Named(topics) => {
            for topic in topics {
                changed += ledger.execute(TAKE_AWAY, (topic.as_str(), sink.as_str()))?;
            }
        }
    }
    Ok(changed > 0)
}

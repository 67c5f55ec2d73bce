//! Messages: what is appended, with its deliveries, and who wants which topics. The unique index decides whether a message is
//! there; whether it is the same one is said here, by canonical form.

use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::job::TraceContext;
use surefoot_core::message::{Message, MessageNumber, Topics};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Appended, BACKFILL_MAX, BATCH_MAX, Since, Subscribed};
use surefoot_core::time::Timestamp;

use super::call::{Caller, Statement};
use super::enqueue::STATEMENT_BYTES_MAX;
use super::fault::{Fault, broken};
use super::row::{column, parsed};

/// The columns of a message `m`.
macro_rules! message_columns {
    () => {
        "m.number, m.tenant, m.id, m.topic, m.key, m.payload, m.trace, m.appended_at"
    };
}

pub(super) use message_columns;

statements! {
    APPEND = "-- append
        select place, written, number, tenant, id, topic, key, payload, trace, appended_at
        from surefoot.append_messages($1, $2, $3, $4, $5, $6, $7)";
    BY_ID = concat!("-- message
        select ", message_columns!(), " from surefoot.message m where m.tenant = $1 and m.id = $2");
    SUBSCRIBE = "-- subscribe
        select surefoot.subscribe($1, $2, $3, $4) as made";
    UNSUBSCRIBE = "-- unsubscribe
        select surefoot.unsubscribe($1, $2) as changed";
}

/// Writes messages down, each with its deliveries.
pub(super) async fn append(
    caller: &Caller,
    messages: &[Message],
) -> Result<Vec<Appended>, StoreError> {
    bounded(messages.len())?;
    let mut answers = Vec::with_capacity(messages.len());
    for part in parts(messages) {
        let rows = caller.rows(bind(caller, part)).await?;
        answers.extend(told(part, &rows)?);
    }
    Ok(answers)
}

/// The same on the caller's connection.
pub(super) async fn append_in(
    caller: &Caller,
    connection: &mut PgConnection,
    messages: &[Message],
) -> Result<Vec<Appended>, StoreError> {
    bounded(messages.len())?;
    let mut answers = Vec::with_capacity(messages.len());
    for part in parts(messages) {
        let rows = bind(caller, part).fetch_all(&mut *connection).await;
        answers.extend(told(part, &rows.map_err(|error| Fault::of(error).error)?)?);
    }
    Ok(answers)
}

/// Refuses a batch that no store takes.
pub(super) fn bounded(items: usize) -> Result<(), StoreError> {
    if items > BATCH_MAX {
        let what = format!("a batch of {items}, at most {BATCH_MAX} are taken");
        return Err(StoreError::Refused(what.into()));
    }
    Ok(())
}

/// The batch in parts that one statement carries; each has at least one message.
fn parts(messages: &[Message]) -> impl Iterator<Item = &[Message]> {
    let mut rest = messages;
    std::iter::from_fn(move || {
        let mut bytes = 0_usize;
        let fit = rest.iter().take_while(|message| {
            let first = bytes == 0;
            bytes += message.payload.as_str().len();
            first || bytes <= STATEMENT_BYTES_MAX
        });
        let fit = fit.count();
        let (part, after) = rest.split_at(fit);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

fn bind<'q>(caller: &Caller, messages: &[Message]) -> Statement<'q> {
    let texts = |of: fn(&Message) -> &str| {
        let texts = messages.iter().map(|message| of(message).to_owned());
        texts.collect::<Vec<String>>()
    };
    let keys = messages.iter().map(|message| message.key.as_ref());
    let traces = messages.iter().map(|message| message.trace.as_ref());
    let times = messages.iter().map(|message| message.appended_at);
    caller
        .statement(APPEND)
        .bind(texts(|message| message.tenant.as_str()))
        .bind(texts(|message| message.id.as_str()))
        .bind(texts(|message| message.topic.as_str()))
        .bind(
            keys.map(|key| key.map(|key| key.as_str().to_owned()))
                .collect::<Vec<Option<String>>>(),
        )
        .bind(texts(|message| message.payload.as_str()))
        .bind(
            traces
                .map(|trace| trace.map(|trace| trace.as_str().to_owned()))
                .collect::<Vec<Option<String>>>(),
        )
        .bind(times.map(Timestamp::as_micros).collect::<Vec<i64>>())
}

/// What became of each message, by the first row of its place.
fn told(messages: &[Message], rows: &[PgRow]) -> Result<Vec<Appended>, StoreError> {
    let mut answers: Vec<Option<Appended>> = vec![None; messages.len()];
    for row in rows {
        let place = usize::try_from(column::<i32>(row, "place")? - 1).map_err(broken)?;
        let (Some(answer), Some(message)) = (answers.get_mut(place), messages.get(place)) else {
            return Err(broken(
                "an append answered for a message that it was not given",
            ));
        };
        if answer.is_some() {
            continue;
        }
        let number = MessageNumber(column(row, "number")?);
        *answer = Some(if column(row, "written")? {
            Appended::Written(number)
        } else if read(row)?.1.same_as(message) {
            Appended::Already(number)
        } else {
            Appended::Conflict(number)
        });
    }
    let answered: Option<Vec<Appended>> = answers.into_iter().collect();
    // It was there and was forgotten between two looks.
    answered.ok_or_else(|| StoreError::Unavailable("a message was forgotten meanwhile".into()))
}

/// The message with an id, and its number.
pub(super) async fn by_id(
    caller: &Caller,
    tenant: &Tenant,
    id: &MessageId,
) -> Result<Option<(MessageNumber, Message)>, StoreError> {
    let statement = caller
        .statement(BY_ID)
        .bind(tenant.as_str().to_owned())
        .bind(id.as_str().to_owned());
    caller.rows(statement).await?.first().map(read).transpose()
}

/// The message of a row that has [`message_columns`].
pub(super) fn read(row: &PgRow) -> Result<(MessageNumber, Message), StoreError> {
    let key: Option<String> = column(row, "key")?;
    let trace: Option<String> = column(row, "trace")?;
    let message = Message {
        tenant: parsed(row, "tenant", str::parse)?,
        id: parsed(row, "id", str::parse)?,
        topic: parsed(row, "topic", str::parse)?,
        key: match key {
            None => None,
            Some(_) => Some(parsed(row, "key", str::parse)?),
        },
        payload: Payload::from_store(column(row, "payload")?),
        trace: trace.as_deref().and_then(TraceContext::parse),
        appended_at: Timestamp::from_micros(column(row, "appended_at")?),
    };
    Ok((MessageNumber(column(row, "number")?), message))
}

/// Puts a sink on record.
pub(super) async fn subscribe(
    caller: &Caller,
    sink: &SinkName,
    topics: &Topics,
    since: Since,
) -> Result<Subscribed, StoreError> {
    let topics = named(topics).unwrap_or_else(|| vec!["*".to_owned()]);
    let kept = match since {
        Since::Kept => true,
        Since::Now => false,
    };
    let statement = caller
        .statement(SUBSCRIBE)
        .bind(sink.as_str().to_owned())
        .bind(topics)
        .bind(kept)
        .bind(i64::try_from(BACKFILL_MAX).map_err(broken)?);
    let row = caller.row(statement).await?;
    Ok(match column::<Option<i64>>(&row, "made")? {
        None => Subscribed::TooMany,
        Some(made) => Subscribed::Done {
            backfilled: u64::try_from(made).map_err(broken)?,
        },
    })
}

/// Takes topics away from a sink.
pub(super) async fn unsubscribe(
    caller: &Caller,
    sink: &SinkName,
    topics: &Topics,
) -> Result<bool, StoreError> {
    let statement = caller
        .statement(UNSUBSCRIBE)
        .bind(sink.as_str().to_owned())
        .bind(named(topics));
    column(&caller.row(statement).await?, "changed")
}

fn named(topics: &Topics) -> Option<Vec<String>> {
    match topics {
        Topics::All => None,
        Topics::Named(topics) => Some(
            topics
                .iter()
                .map(|topic| topic.as_str().to_owned())
                .collect(),
        ),
    }
}

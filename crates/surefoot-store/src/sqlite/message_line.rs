//! The line behind each key of a sink. One delivery stands in front and may be taken; the others stand behind, so that a take
//! never looks at them. In front is the open one with the lowest place; a unique index sees to it that there is one. What
//! joins a line goes through [`arrive`], what leaves one through [`move_up`], and nothing else changes who stands where.

use surefoot_core::error::StoreError;
use surefoot_core::id::SinkName;
use surefoot_core::message::MessageNumber;

use super::ledger::Ledger;
use super::row;

statements! {
    SOMEBODY = "-- append: whether somebody stands in the line
        select 1 from surefoot_delivery indexed by surefoot_delivery_one_front
        where sink = ?1 and tenant = ?2 and key = ?3 and standing = 'front' and key is not null";
    WRITE = "-- append: one message to one sink
        insert into surefoot_delivery (sink, number, tenant, key, state, standing, due_at)
        values (?1, ?2, ?3, ?4, 'waiting', ?5, ?6)";
    BEHIND = "-- take, mark: who stands behind a place
        select number from surefoot_delivery indexed by surefoot_delivery_line
        where sink = ?1 and tenant = ?2 and key = ?3 and place > ?4 and standing is not null and key is not null
        order by place limit ?5";
    TO_FRONT = "-- mark: the next one comes to the front
        update surefoot_delivery set standing = 'front' where sink = ?1 and number = ?2 and standing = 'behind'";
    GIVE_BACK = "-- take, mark: those behind are not taken any more
        update surefoot_delivery indexed by surefoot_delivery_line
        set state = 'waiting', lease_until = null
        where sink = ?1 and tenant = ?2 and key = ?3 and place > ?4 and standing is not null and key is not null
            and state = 'taken'";
}

/// A delivery that comes to the end of its line.
pub(super) struct Arriving<'a> {
    pub(super) number: MessageNumber,
    pub(super) tenant: &'a str,
    pub(super) key: Option<&'a str>,
    pub(super) due_at: i64,
}

/// A delivery in its line.
pub(super) struct Standing<'a> {
    pub(super) sink: &'a SinkName,
    pub(super) place: i64,
    pub(super) tenant: &'a str,
    pub(super) key: Option<&'a str>,
}

/// Writes a delivery down at the end of its line.
pub(super) fn arrive(
    ledger: &Ledger<'_>,
    sink: &SinkName,
    made: &Arriving<'_>,
) -> Result<(), StoreError> {
    let somebody = match made.key {
        None => None,
        Some(key) => ledger.first(SOMEBODY, (sink.as_str(), made.tenant, key), |_| Ok(()))?,
    };
    let standing = if somebody.is_some() {
        "behind"
    } else {
        "front"
    };
    ledger.execute_one(
        WRITE,
        (
            sink.as_str(),
            made.number.0,
            made.tenant,
            made.key,
            standing,
            made.due_at,
        ),
    )
}

/// Those that stand behind one, the nearest first.
pub(super) fn behind(
    ledger: &Ledger<'_>,
    one: &Standing<'_>,
    limit: usize,
) -> Result<Vec<MessageNumber>, StoreError> {
    let Some(key) = one.key else {
        return Ok(Vec::new());
    };
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let line = (one.sink.as_str(), one.tenant, key, one.place, limit);
    ledger.rows(BEHIND, line, |found| {
        row::column(found, 0).map(MessageNumber)
    })
}

/// Lets the next one come to the front after this one ended.
pub(super) fn move_up(ledger: &Ledger<'_>, ended: &Standing<'_>) -> Result<(), StoreError> {
    match behind(ledger, ended, 1)?.first() {
        None => Ok(()),
        Some(next) => ledger.execute_one(TO_FRONT, (ended.sink.as_str(), next.0)),
    }
}

/// Gives back what was taken behind this one.
pub(super) fn give_back(ledger: &Ledger<'_>, one: &Standing<'_>) -> Result<(), StoreError> {
    let Some(key) = one.key else {
        return Ok(());
    };
    let line = (one.sink.as_str(), one.tenant, key, one.place);
    ledger.execute(GIVE_BACK, line).map(drop)
}

//! Requests: claiming a key, and writing down what was decided. The primary key decides who was first, the id and the
//! version who writes next; it must never look first and insert then.

use rusqlite::{Connection, Row as SqlRow};
use surefoot_core::error::StoreError;
use surefoot_core::port::RequestWritten;
use surefoot_core::request::{
    Arrived, Identity, NewRequest, Request, RequestId, RequestStateName, arrive,
};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::ledger::{Ledger, first};
use super::row;
use crate::request_record::{Row, decode, encode};

/// The columns of a request, in the order in which [`request`] reads them.
macro_rules! request_columns {
    () => {
        "tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at, version, state, since,
         due_at, leaves_at, document"
    };
}

pub(super) use request_columns;

statements! {
    CLAIM = "-- begin: a key is claimed, unless it is there
        insert into surefoot_request (tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at,
            version, state, since, due_at, leaves_at, document)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
        on conflict (tenant, key) do nothing";
    WRITE = "-- write_request: what follows on what is known of a request
        update surefoot_request
        set version = ?2, state = ?3, since = ?4, due_at = ?5, leaves_at = ?6, document = ?7, body = ?8
        where id = ?1 and version = ?2 - 1";
    KNOWN = concat!("-- request: the one that holds a key
        select ", request_columns!(), ", body from surefoot_request where tenant = ?1 and key = ?2");
    BY_ID = concat!("-- request_by_id: the one with an id
        select ", request_columns!(), ", body from surefoot_request where id = ?1");
}

/// Claims the key of a request, or says why not.
pub(super) fn begin(
    ledger: &Ledger<'_>,
    new: &NewRequest,
    now: Timestamp,
) -> Result<Arrived, StoreError> {
    let claimed = arrive(None, new, now);
    if let Arrived::Run(request) = &claimed
        && claim(ledger, &encode(request)?)?
    {
        return Ok(claimed);
    }
    let Some(known) = known(ledger.connection(), &new.identity)? else {
        return Err(StoreError::Broken(format!(
            "the key of request {} is taken, and nothing holds it",
            new.id
        )));
    };
    let arrived = arrive(Some(&known), new, now);
    if let Arrived::Run(request) = &arrived
        && request.version != known.version
        && !write_row(ledger, &encode(request)?)?
    {
        return Err(StoreError::Broken(format!(
            "request {} changed under its own transaction",
            known.id
        )));
    }
    Ok(arrived)
}

fn claim(ledger: &Ledger<'_>, row: &Row) -> Result<bool, StoreError> {
    let written = ledger.execute(
        CLAIM,
        (
            &row.tenant,
            &row.key,
            row.id.as_uuid().into_bytes(),
            &row.method,
            &row.route,
            row.fingerprint_version,
            &row.fingerprint,
            &row.fields,
            row.claimed_at,
            row.version,
            row.state.as_str(),
            row.since,
            row.due_at,
            row.leaves_at,
            &row.document,
        ),
    )?;
    Ok(written == 1)
}

/// Writes down what follows on the request on record.
pub(super) fn write(
    ledger: &Ledger<'_>,
    request: &Request,
    row: &Row,
) -> Result<RequestWritten, StoreError> {
    if write_row(ledger, row)? {
        return Ok(RequestWritten::Applied);
    }
    Ok(match by_id(ledger.connection(), request.id)? {
        Some(known) if known == *request => RequestWritten::Already,
        known => RequestWritten::Changed(known.map(Box::new)),
    })
}

fn write_row(ledger: &Ledger<'_>, row: &Row) -> Result<bool, StoreError> {
    let written = ledger.execute(
        WRITE,
        (
            row.id.as_uuid().into_bytes(),
            row.version,
            row.state.as_str(),
            row.since,
            row.due_at,
            row.leaves_at,
            &row.document,
            &row.body,
        ),
    )?;
    Ok(written == 1)
}

/// The request that holds a key.
pub(super) fn known(
    connection: &Connection,
    identity: &Identity,
) -> Result<Option<Request>, StoreError> {
    let holder = (identity.tenant.as_str(), identity.key.as_str());
    first(connection, KNOWN, holder, |found| {
        request(found, row::column(found, 15)?)
    })
}

/// The request with this id.
pub(super) fn by_id(connection: &Connection, id: RequestId) -> Result<Option<Request>, StoreError> {
    let id = [id.as_uuid().into_bytes()];
    first(connection, BY_ID, id, |found| {
        request(found, row::column(found, 15)?)
    })
}

/// The request of a row that begins with [`request_columns`].
pub(super) fn request(found: &SqlRow<'_>, body: Option<Vec<u8>>) -> Result<Request, StoreError> {
    let id: Vec<u8> = row::column(found, 2)?;
    let id = Uuid::from_slice(&id).map_err(|fault| {
        StoreError::Broken(format!("column id of a request holds {id:?}: {fault}"))
    })?;
    decode(Row {
        tenant: row::column(found, 0)?,
        key: row::column(found, 1)?,
        id: RequestId::from_uuid(id),
        method: row::column(found, 3)?,
        route: row::column(found, 4)?,
        fingerprint_version: row::column(found, 5)?,
        fingerprint: row::column(found, 6)?,
        fields: row::column(found, 7)?,
        claimed_at: row::column(found, 8)?,
        version: row::column(found, 9)?,
        state: row::word(found, 10, RequestStateName::parse)?,
        since: row::column(found, 11)?,
        due_at: row::column(found, 12)?,
        leaves_at: row::column(found, 13)?,
        document: row::column(found, 14)?,
        body,
    })
}

//! Requests: claiming a key, and writing down what was decided. The primary key decides who was first, the id and the
//! version who writes next. A twin whose transaction is open is never waited for: a lock that is only tried says that it is
//! there.

use sqlx::postgres::PgRow;
use surefoot_core::error::StoreError;
use surefoot_core::port::RequestWritten;
use surefoot_core::request::{
    Arrived, Identity, NewRequest, RETRY_AFTER_MIN, Request, RequestId, RequestStateName, arrive,
};
use surefoot_core::time::Timestamp;
use uuid::Uuid;

use super::call::{Caller, Statement};
use super::fault::broken;
use super::row::{column, parsed};
use super::within::Within;
use crate::request_record::{Row, decode, encode};

/// The columns of a request but its body.
macro_rules! request_columns {
    () => {
        "tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at, version, state, since,
         due_at, leaves_at, document"
    };
}

pub(super) use request_columns;

statements! {
    // Plain SQL, for which the server computes less than for the function. No row means that the function has to say why.
    CLAIM = "-- begin: a key that nobody holds
        insert into surefoot.request (tenant, key, id, method, route, fingerprint_version, fingerprint, fields, claimed_at,
            version, state, since, due_at, leaves_at, document)
        select $1::text, $2::text, $3::uuid, $4::text, $5::text, $6::integer, $7::bytea, $8::text, $9::bigint, $10::bigint,
            $11::text, $12::bigint, $13::bigint, $14::bigint, $15::text
        where surefoot.hold_request($1, $2)
        on conflict on constraint request_pkey do nothing
        returning 1";
    BEGIN = concat!("-- begin
        select ", request_columns!(), ", body
        from surefoot.begin_request($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)");
    AGAIN = "-- begin: a released request
        select surefoot.begin_request_again($1, $2, $3, $4, $5, $6, $7, $8, $9) as answer";
    WRITE = "-- write_request
        update surefoot.request
        set version = $2, state = $3, since = $4, due_at = $5, leaves_at = $6, document = $7, body = $8
        where id = $1 and version = $2 - 1
        returning id";
    KNOWN = concat!("-- request
        select ", request_columns!(), ", body from surefoot.request where tenant = $1 and key = $2");
    BY_ID = concat!("-- request_by_id
        select ", request_columns!(), ", body from surefoot.request where id = $1");
}

/// How often a released request is looked at again that changed between two looks.
const TRIES_MAX: usize = 10;

/// Claims the key of a request, or says why not.
pub(super) async fn begin(
    caller: &Caller,
    mut within: Within<'_>,
    new: &NewRequest,
    now: Timestamp,
) -> Result<Arrived, StoreError> {
    let open = Arrived::Running {
        retry_after: RETRY_AFTER_MIN,
    };
    let Arrived::Run(claimed) = arrive(None, new, now) else {
        return Err(broken("a key that nobody holds is not claimed"));
    };
    let first = encode(&claimed)?;
    let claim = bind_first(caller.statement(CLAIM), &first);
    if !within.rows(caller, claim).await?.is_empty() {
        return Ok(Arrived::Run(claimed));
    }
    for _ in 0..TRIES_MAX {
        let statement = bind_first(caller.statement(BEGIN), &first);
        let rows = within.rows(caller, statement).await?;
        let Some(row) = rows.first() else {
            return Ok(open);
        };
        let known = with_body(row)?;
        let arrived = arrive(Some(&known), new, now);
        let again = match &arrived {
            Arrived::Run(request) if request.version != known.version => encode(request)?,
            Arrived::Run(_)
            | Arrived::Replay { .. }
            | Arrived::NotKept { .. }
            | Arrived::Gone { .. }
            | Arrived::Mismatch { .. }
            | Arrived::Running { .. }
            | Arrived::UnknownOutcome { .. } => return Ok(arrived),
        };
        let rows = within.rows(caller, bind_again(caller, &again)).await?;
        let row = rows
            .first()
            .ok_or_else(|| broken("a statement answered no row"))?;
        match column::<Option<bool>>(row, "answer")? {
            None => return Ok(open),
            Some(true) => return Ok(arrived),
            Some(false) => {}
        }
    }
    Err(StoreError::Unavailable("a request changes too fast".into()))
}

fn bind_first<'q>(statement: Statement<'q>, row: &Row) -> Statement<'q> {
    statement
        .bind(row.tenant.clone())
        .bind(row.key.clone())
        .bind(row.id.as_uuid())
        .bind(row.method.clone())
        .bind(row.route.clone())
        .bind(row.fingerprint_version)
        .bind(row.fingerprint.clone())
        .bind(row.fields.clone())
        .bind(row.claimed_at)
        .bind(row.version)
        .bind(row.state.as_str())
        .bind(row.since)
        .bind(row.due_at)
        .bind(row.leaves_at)
        .bind(row.document.clone())
}

fn bind_again<'q>(caller: &Caller, row: &Row) -> Statement<'q> {
    caller
        .statement(AGAIN)
        .bind(row.tenant.clone())
        .bind(row.key.clone())
        .bind(row.id.as_uuid())
        .bind(row.version)
        .bind(row.state.as_str())
        .bind(row.since)
        .bind(row.due_at)
        .bind(row.leaves_at)
        .bind(row.document.clone())
}

/// Writes down what follows on the request on record.
pub(super) async fn write(
    caller: &Caller,
    mut within: Within<'_>,
    request: &Request,
) -> Result<RequestWritten, StoreError> {
    let row = encode(request)?;
    let statement = caller
        .statement(WRITE)
        .bind(row.id.as_uuid())
        .bind(row.version)
        .bind(row.state.as_str())
        .bind(row.since)
        .bind(row.due_at)
        .bind(row.leaves_at)
        .bind(row.document)
        .bind(row.body);
    if !within.rows(caller, statement).await?.is_empty() {
        return Ok(RequestWritten::Applied);
    }
    let statement = caller.statement(BY_ID).bind(request.id.as_uuid());
    let rows = within.rows(caller, statement).await?;
    Ok(match rows.first().map(with_body).transpose()? {
        Some(known) if known == *request => RequestWritten::Already,
        known => RequestWritten::Changed(known.map(Box::new)),
    })
}

/// The request that holds a key.
pub(super) async fn known(
    caller: &Caller,
    identity: &Identity,
) -> Result<Option<Request>, StoreError> {
    let statement = caller
        .statement(KNOWN)
        .bind(identity.tenant.as_str().to_owned())
        .bind(identity.key.as_str().to_owned());
    caller
        .rows(statement)
        .await?
        .first()
        .map(with_body)
        .transpose()
}

/// The request with this id.
pub(super) async fn by_id(caller: &Caller, id: RequestId) -> Result<Option<Request>, StoreError> {
    let statement = caller.statement(BY_ID).bind(id.as_uuid());
    caller
        .rows(statement)
        .await?
        .first()
        .map(with_body)
        .transpose()
}

fn with_body(row: &PgRow) -> Result<Request, StoreError> {
    read(row, column(row, "body")?)
}

/// The request of a row that has [`request_columns`].
pub(super) fn read(row: &PgRow, body: Option<Vec<u8>>) -> Result<Request, StoreError> {
    decode(Row {
        tenant: column(row, "tenant")?,
        key: column(row, "key")?,
        id: RequestId::from_uuid(column::<Uuid>(row, "id")?),
        method: column(row, "method")?,
        route: column(row, "route")?,
        fingerprint_version: column(row, "fingerprint_version")?,
        fingerprint: column(row, "fingerprint")?,
        fields: column(row, "fields")?,
        claimed_at: column(row, "claimed_at")?,
        version: column(row, "version")?,
        state: parsed(row, "state", |text| {
            RequestStateName::parse(text).ok_or("no state of a request")
        })?,
        since: column(row, "since")?,
        due_at: column(row, "due_at")?,
        leaves_at: column(row, "leaves_at")?,
        document: column(row, "document")?,
        body,
    })
}

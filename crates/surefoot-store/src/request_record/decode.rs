//! From a row to its request. A row was checked before it was written; one that does not read back is a broken invariant,
//! never a request that is almost right.

use std::time::Duration;

use surefoot_core::effect::Dispute;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, NameError};
use surefoot_core::request::{
    Clocks, FieldDigest, Fingerprint, Identity, Kept, KeyRefused, NotKept, Operation, Request,
    RequestIdError, RequestKey, RequestState, StoredResponse, Tombstone,
};
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::Row;
use super::document::{self, Document, FORMAT, Header};
use crate::effect_record::witness;

/// The request of a row.
///
/// # Errors
/// [`StoreError::Broken`], naming the request, when the row holds what nobody writes.
pub(crate) fn decode(row: Row) -> Result<Request, StoreError> {
    let id = row.id;
    read(row).map_err(|fault| StoreError::Broken(format!("the row of request {id}: {fault}")))
}

/// What is wrong with a row.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error("its document has format {0}, this build reads {FORMAT}")]
    Format(u32),
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Name(#[from] NameError),
    #[error("{0}")]
    Key(#[from] KeyRefused),
    #[error("{0}")]
    Id(#[from] RequestIdError),
    #[error("{0} microseconds since 1970 is no time that is kept")]
    Time(i64),
    #[error("column {column} holds {value}")]
    Column { column: &'static str, value: String },
    #[error("its document says that it is {document}, its column {column}")]
    State {
        document: &'static str,
        column: &'static str,
    },
}

fn read(row: Row) -> Result<Request, Fault> {
    let document = document_of(&row.document)?;
    let column = |column, value: &dyn std::fmt::Debug| Fault::Column {
        column,
        value: format!("{value:?}"),
    };
    let request = Request {
        id: row.id,
        identity: Identity {
            tenant: row.tenant.parse()?,
            key: RequestKey::new(row.key)?,
        },
        operation: Operation::new(row.method, row.route)?,
        fingerprint: Fingerprint {
            version: u16::try_from(row.fingerprint_version)
                .map_err(|_| column("fingerprint_version", &row.fingerprint_version))?,
            digest: <[u8; 32]>::try_from(row.fingerprint)
                .map_err(|bytes| column("fingerprint", &bytes))?,
            fields: fields(&row.fields)?,
        },
        claimed_at: time(row.claimed_at)?,
        clocks: clocks(&document.clocks),
        version: u32::try_from(row.version).map_err(|_| column("version", &row.version))?,
        epoch: Epoch(document.epoch),
        settles_at: time(document.settles_at)?,
        state: state(document.state, row.body)?,
        disputes: document
            .disputes
            .into_iter()
            .map(dispute)
            .collect::<Result<_, _>>()?,
    };
    if request.state.name() == row.state {
        Ok(request)
    } else {
        Err(Fault::State {
            document: request.state.name().as_str(),
            column: row.state.as_str(),
        })
    }
}

fn document_of(text: &str) -> Result<Document<'_>, Fault> {
    let document: Document<'_> =
        serde_json::from_str(text).map_err(|fault| match serde_json::from_str(text) {
            Ok(Header { format }) if format != FORMAT => Fault::Format(format),
            Ok(Header { .. }) | Err(_) => Fault::Json(fault),
        })?;
    match document.format {
        FORMAT => Ok(document),
        other => Err(Fault::Format(other)),
    }
}

fn fields(text: &str) -> Result<Vec<FieldDigest>, Fault> {
    let fields: document::Fields<'_> = serde_json::from_str(text)?;
    fields
        .into_iter()
        .map(|(name, digest)| {
            Ok(FieldDigest {
                name: name.into_owned(),
                digest: digest_of("fields", &digest)?,
            })
        })
        .collect()
}

fn time(micros: i64) -> Result<Timestamp, Fault> {
    let time = Timestamp::from_micros(micros);
    if time.as_micros() == micros {
        Ok(time)
    } else {
        Err(Fault::Time(micros))
    }
}

fn clocks(clocks: &document::Clocks) -> Clocks {
    Clocks {
        lease: Duration::from_micros(clocks.lease),
        retention: Duration::from_micros(clocks.retention),
        tombstone: Duration::from_micros(clocks.tombstone),
        settles_within: Duration::from_micros(clocks.settles_within),
    }
}

fn state(state: document::State<'_>, body: Option<Vec<u8>>) -> Result<RequestState, Fault> {
    Ok(match state {
        document::State::Claimed {
            claim,
            holder,
            since,
            lease_until,
        } => RequestState::Claimed {
            claim: claim.parse()?,
            holder: holder.parse()?,
            since: time(since)?,
            lease_until: time(lease_until)?,
        },
        document::State::Finished {
            at,
            kept: answer,
            by,
        } => RequestState::Finished {
            at: time(at)?,
            kept: kept(answer, body)?,
            by: witness(&by)?,
        },
        document::State::Unknown {
            since,
            ask_at,
            asked,
            error,
        } => RequestState::Unknown {
            since: time(since)?,
            ask_at: time(ask_at)?,
            asked,
            error: ErrorText::from(&*error),
        },
        document::State::NeedsHuman { since, error } => RequestState::NeedsHuman {
            since: time(since)?,
            error: ErrorText::from(&*error),
        },
        document::State::Released { at, by, error } => RequestState::Released {
            at: time(at)?,
            by: witness(&by)?,
            error: ErrorText::from(&*error),
        },
        document::State::Expired { at, status } => RequestState::Expired {
            at: time(at)?,
            status,
        },
    })
}

fn kept(kept: document::Kept<'_>, body: Option<Vec<u8>>) -> Result<Kept, Fault> {
    Ok(match kept {
        document::Kept::Response { status, headers } => Kept::Response(StoredResponse {
            status,
            headers: headers
                .into_iter()
                .map(|(name, value)| Ok((name.into_owned(), header(value)?)))
                .collect::<Result<_, Fault>>()?,
            body: body.ok_or_else(|| Fault::Column {
                column: "body",
                value: "nothing, and an answer is kept".to_owned(),
            })?,
        }),
        document::Kept::Tombstone {
            status,
            body_sha256,
            body_bytes,
            why,
        } => Kept::Tombstone(Tombstone {
            status,
            body_sha256: body_sha256
                .map(|digest| digest_of("document", &digest))
                .transpose()?,
            body_bytes,
            why: NotKept::parse(&why).ok_or_else(|| Fault::Column {
                column: "document",
                value: format!("the reason {why:?}"),
            })?,
        }),
    })
}

fn header(value: document::Value<'_>) -> Result<Vec<u8>, Fault> {
    match value {
        document::Value::Text(text) => Ok(text.into_owned().into_bytes()),
        document::Value::Hex(digits) => bytes("document", &digits),
    }
}

fn dispute(dispute: document::Dispute<'_>) -> Result<Dispute, Fault> {
    Ok(Dispute {
        at: time(dispute.at)?,
        by: witness(&dispute.by)?,
        said: ErrorText::from(&*dispute.said),
    })
}

fn digest_of<const N: usize>(column: &'static str, digits: &str) -> Result<[u8; N], Fault> {
    <[u8; N]>::try_from(bytes(column, digits)?).map_err(|_| Fault::Column {
        column,
        value: format!("a digest {digits:?}"),
    })
}

fn bytes(column: &'static str, digits: &str) -> Result<Vec<u8>, Fault> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let read = |[high, low]: &[u8; 2]| {
        let byte = digit(*high)? * 16 + digit(*low)?;
        u8::try_from(byte).ok()
    };
    let read: Option<Vec<u8>> = pairs.iter().map(read).collect();
    read.filter(|_| rest.is_empty())
        .ok_or_else(|| Fault::Column {
            column,
            value: format!("the digits {digits:?}"),
        })
}

//! From a request to its row.

use surefoot_core::effect::Dispute;
use surefoot_core::error::StoreError;
use surefoot_core::port::RequestHead;
use surefoot_core::request::{Clocks, Kept, Request, RequestState};
use surefoot_core::time::Timestamp;

use super::{Row, document};
use crate::effect_record::witness_document;
use std::time::Duration;

/// The row of a request.
///
/// # Errors
/// [`StoreError::Broken`], naming the request, when it has no JSON form, which no value of its type brings about.
pub(crate) fn encode(request: &Request) -> Result<Row, StoreError> {
    let document = document::Document {
        format: document::FORMAT,
        clocks: clocks(&request.clocks),
        epoch: request.epoch.0,
        settles_at: request.settles_at.as_micros(),
        state: state(&request.state),
        disputes: request.disputes.iter().map(dispute).collect(),
    };
    let fields: document::Fields<'_> = request
        .fingerprint
        .fields
        .iter()
        .map(|field| (field.name.as_str().into(), hex(&field.digest)))
        .collect();
    let broken =
        |fault| StoreError::Broken(format!("request {} has no document: {fault}", request.id));
    Ok(Row {
        tenant: request.identity.tenant.as_str().to_owned(),
        key: request.identity.key.as_str().to_owned(),
        id: request.id,
        method: request.operation.method().to_owned(),
        route: request.operation.route().to_owned(),
        fingerprint_version: i32::from(request.fingerprint.version),
        fingerprint: request.fingerprint.digest.to_vec(),
        fields: serde_json::to_string(&fields).map_err(broken)?,
        claimed_at: request.claimed_at.as_micros(),
        version: i64::from(request.version),
        state: request.state.name(),
        since: RequestHead::of(request).since.as_micros(),
        due_at: request.due_at().map(Timestamp::as_micros),
        leaves_at: request.leaves_at().map(Timestamp::as_micros),
        document: serde_json::to_string(&document).map_err(broken)?,
        body: body(&request.state),
    })
}

fn body(state: &RequestState) -> Option<Vec<u8>> {
    match state {
        RequestState::Finished {
            kept: Kept::Response(response),
            ..
        } => Some(response.body.clone()),
        RequestState::Finished {
            kept: Kept::Tombstone(_),
            ..
        }
        | RequestState::Claimed { .. }
        | RequestState::Unknown { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. }
        | RequestState::Expired { .. } => None,
    }
}

fn clocks(clocks: &Clocks) -> document::Clocks {
    let micros = |clock: Duration| u64::try_from(clock.as_micros()).unwrap_or(u64::MAX);
    document::Clocks {
        lease: micros(clocks.lease),
        retention: micros(clocks.retention),
        tombstone: micros(clocks.tombstone),
        settles_within: micros(clocks.settles_within),
    }
}

fn state(state: &RequestState) -> document::State<'_> {
    match state {
        RequestState::Claimed {
            claim,
            holder,
            since,
            lease_until,
        } => document::State::Claimed {
            claim: claim.to_string().into(),
            holder: holder.as_str().into(),
            since: since.as_micros(),
            lease_until: lease_until.as_micros(),
        },
        RequestState::Finished {
            at,
            kept: answer,
            by,
        } => document::State::Finished {
            at: at.as_micros(),
            kept: kept(answer),
            by: witness_document(by),
        },
        RequestState::Unknown {
            since,
            ask_at,
            asked,
            error,
        } => document::State::Unknown {
            since: since.as_micros(),
            ask_at: ask_at.as_micros(),
            asked: *asked,
            error: error.as_str().into(),
        },
        RequestState::NeedsHuman { since, error } => document::State::NeedsHuman {
            since: since.as_micros(),
            error: error.as_str().into(),
        },
        RequestState::Released { at, by, error } => document::State::Released {
            at: at.as_micros(),
            by: witness_document(by),
            error: error.as_str().into(),
        },
        RequestState::Expired { at, status } => document::State::Expired {
            at: at.as_micros(),
            status: *status,
        },
    }
}

fn kept(kept: &Kept) -> document::Kept<'_> {
    match kept {
        Kept::Response(response) => document::Kept::Response {
            status: response.status,
            headers: response
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().into(), header(value)))
                .collect(),
        },
        Kept::Tombstone(tombstone) => document::Kept::Tombstone {
            status: tombstone.status,
            body_sha256: tombstone.body_sha256.as_ref().map(|digest| hex(digest)),
            body_bytes: tombstone.body_bytes,
            why: tombstone.why.as_str().into(),
        },
    }
}

fn header(value: &[u8]) -> document::Value<'_> {
    match std::str::from_utf8(value) {
        Ok(text) => document::Value::Text(text.into()),
        Err(_) => document::Value::Hex(hex(value)),
    }
}

fn dispute(dispute: &Dispute) -> document::Dispute<'_> {
    document::Dispute {
        at: dispute.at.as_micros(),
        by: witness_document(&dispute.by),
        said: dispute.said.as_str().into(),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

//! A request as a row, the same in every SQL store: what is searched by has columns of its own, what was asked never
//! changes, and what is known of it stands in one document beside the bytes of its answer.
//!
//! [`encode`] and [`decode`] are the way in and out; `document` is the shape. What must never happen here: a body or header
//! that changes by a byte, and a row that reads back as something else than what was written.

mod decode;
mod document;
mod encode;
#[cfg(test)]
mod tests;

use surefoot_core::request::{RequestId, RequestStateName};

pub(crate) use decode::decode;
pub(crate) use encode::encode;

/// The values of the columns. Times are microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) tenant: String,
    pub(crate) key: String,
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) route: String,
    pub(crate) fingerprint_version: i32,
    pub(crate) fingerprint: Vec<u8>,
    /// The digests of single fields.
    pub(crate) fields: String,
    pub(crate) claimed_at: i64,
    pub(crate) version: i64,
    pub(crate) state: RequestStateName,
    /// Since when it is in its state.
    pub(crate) since: i64,
    /// When somebody has to look at it.
    pub(crate) due_at: Option<i64>,
    /// When something of it leaves next.
    pub(crate) leaves_at: Option<i64>,
    pub(crate) document: String,
    /// The body of its answer, where one is kept.
    pub(crate) body: Option<Vec<u8>>,
}

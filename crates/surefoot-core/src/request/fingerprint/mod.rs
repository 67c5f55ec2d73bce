//! Whether two requests under one key ask for the same. A fingerprint covers the method, the route, the path, the query and
//! the body, each in its canonical form; headers are no part of it, so a new token or trace is the same request.
//! It never keeps a value: only digests, salted with the identity, and the names of fields.
//!
//! `body` makes one form of all spellings of a body: `form` of pairs, `multipart` of parts, `json` of members.

mod body;
mod fields;
mod form;
mod json;
mod multipart;

use sha2::{Digest, Sha256};

use super::{Identity, Operation};
use body::CanonicalBody;
use fields::Fields;

/// The version that [`Fingerprint::of`] makes. What is canonical is part of it: a change there is another version, and a
/// build that makes a later one goes on making those that are on record.
pub const FINGERPRINT_VERSION: u16 = 1;

/// The most fields whose digests are kept; what is beyond them is one field together.
pub const FIELDS_MAX: usize = 64;

/// The most bytes of the name of a field; a longer one is cut.
pub const FIELD_NAME_BYTES_MAX: usize = 96;

/// The most fields that a mismatch names.
pub const FIELDS_NAMED_MAX: usize = 16;

/// What was asked for, in bytes that cannot be turned back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The version of its making.
    pub version: u16,
    /// SHA-256 over all of it: it alone decides whether two requests are the same.
    pub digest: [u8; 32],
    /// Digests of single fields, by name, so that a mismatch can say what differs; at most [`FIELDS_MAX`].
    pub fields: Vec<FieldDigest>,
}

/// The digest of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDigest {
    /// Such as `path`, `query.page` or `body.card.number`.
    pub name: String,
    /// The first eight bytes of SHA-256 over its value. It serves to name what differs and decides nothing.
    pub digest: [u8; 8],
}

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    /// Which operation.
    pub operation: &'a Operation,
    /// The path as it was sent.
    pub path: &'a str,
    /// The query as it was sent, without its question mark.
    pub query: Option<&'a str>,
    /// The value of `Content-Type`.
    pub content_type: Option<&'a [u8]>,
    /// The whole body.
    pub body: &'a [u8],
}

impl Fingerprint {
    /// The fingerprint of a request.
    ///
    /// - The query is pairs in the order of their names; pairs of one name keep their order.
    /// - A JSON body (`application/json`, `+json`) is taken by [`crate::canonical`]: keys sorted, numbers as written.
    /// - `application/x-www-form-urlencoded` is pairs, as the query. `multipart/form-data` is its parts in the order of
    ///   their names, whatever the boundary.
    /// - Any other body, and one that is not what its type says, is its bytes, with the media type.
    #[must_use]
    pub fn of(identity: &Identity, content: &Content<'_>) -> Self {
        let query = form::pairs(content.query.unwrap_or_default().as_bytes());
        let body = CanonicalBody::of(content.content_type, content.body);
        let salt = salt(identity);
        let mut whole = Sha256::new();
        for part in [
            &salt[..],
            &FINGERPRINT_VERSION.to_be_bytes(),
            content.operation.method().as_bytes(),
            content.operation.route().as_bytes(),
            content.path.as_bytes(),
            &form::canonical(&query),
            body.kind.as_bytes(),
            &body.bytes,
        ] {
            add(&mut whole, part);
        }
        let mut fields = Fields::new(salt);
        fields.add("method", content.operation.method().as_bytes());
        fields.add("route", content.operation.route().as_bytes());
        fields.add("path", content.path.as_bytes());
        for (name, value) in form::groups("query", &query) {
            fields.add(&name, &value);
        }
        fields.add("content-type", body.kind.as_bytes());
        for (name, value) in &body.fields {
            fields.add(name, value);
        }
        Self {
            version: FINGERPRINT_VERSION,
            digest: whole.finalize().into(),
            fields: fields.finish(),
        }
    }

    /// The names of the fields that differ, by name and at most [`FIELDS_NAMED_MAX`]; empty when both ask for the same,
    /// and never empty when they do not.
    #[must_use]
    pub fn differs(&self, other: &Self) -> Vec<String> {
        if self.version == other.version && self.digest == other.digest {
            return Vec::new();
        }
        fields::differing(&self.fields, &other.fields)
    }
}

/// Another for each identity, so that equal values of two requests cannot be told by their digests.
fn salt(identity: &Identity) -> [u8; 32] {
    let mut salt = Sha256::new();
    add(&mut salt, identity.tenant.as_str().as_bytes());
    add(&mut salt, identity.key.as_str().as_bytes());
    salt.finalize().into()
}

/// Adds a part and its length, so that no two lists of parts are one text.
fn add(digest: &mut Sha256, part: &[u8]) {
    digest.update((part.len() as u64).to_be_bytes());
    digest.update(part);
}

/// Appends a part and its length.
fn push(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend((part.len() as u64).to_be_bytes());
    bytes.extend(part);
}

#[cfg(test)]
mod tests;

//! One form of all spellings of a body. It never fails: a body that is not what its type says counts by its bytes.

use std::borrow::Cow;

use super::{form, json, multipart, push};
use crate::canonical::canonical;

/// A body in its canonical form.
pub(super) struct CanonicalBody<'a> {
    /// How it was read: `json`, `form`, `multipart`, `empty`, or the media type of bytes.
    pub(super) kind: String,
    /// Its canonical bytes.
    pub(super) bytes: Cow<'a, [u8]>,
    /// Its fields by name.
    pub(super) fields: Vec<(String, Vec<u8>)>,
}

impl<'a> CanonicalBody<'a> {
    pub(super) fn of(content_type: Option<&[u8]>, body: &'a [u8]) -> Self {
        if body.is_empty() {
            return Self::whole("empty".to_owned(), body);
        }
        let media_type = media_type(content_type.unwrap_or_default());
        let read = match media_type.as_str() {
            json if json == "application/json" || json.ends_with("+json") => Self::json(body),
            "application/x-www-form-urlencoded" => Some(Self::form(body)),
            "multipart/form-data" => Self::multipart(content_type.unwrap_or_default(), body),
            _ => None,
        };
        read.unwrap_or_else(|| Self::whole(format!("bytes {media_type}"), body))
    }

    fn whole(kind: String, body: &'a [u8]) -> Self {
        Self {
            kind,
            bytes: Cow::Borrowed(body),
            fields: vec![("body".to_owned(), body.to_vec())],
        }
    }

    fn json(body: &[u8]) -> Option<Self> {
        let text = canonical(std::str::from_utf8(body).ok()?).ok()?;
        Some(Self {
            kind: "json".to_owned(),
            fields: json::fields(&text),
            bytes: Cow::Owned(text.into_bytes()),
        })
    }

    fn form(body: &[u8]) -> Self {
        let pairs = form::pairs(body);
        Self {
            kind: "form".to_owned(),
            fields: form::groups("body", &pairs),
            bytes: Cow::Owned(form::canonical(&pairs)),
        }
    }

    fn multipart(content_type: &[u8], body: &[u8]) -> Option<Self> {
        let parts = multipart::parts(content_type, body)?;
        let mut bytes = Vec::with_capacity(body.len());
        let mut fields = Vec::new();
        for part in &parts {
            push(&mut bytes, &part.name);
            push(&mut bytes, &part.bytes);
            let name = String::from_utf8_lossy(&part.name);
            fields.push((format!("body.{name}"), part.bytes.clone()));
        }
        Some(Self {
            kind: "multipart".to_owned(),
            bytes: Cow::Owned(bytes),
            fields,
        })
    }
}

/// The media type without its parameters, in lower case.
fn media_type(content_type: &[u8]) -> String {
    let end = content_type
        .iter()
        .position(|byte| *byte == b';')
        .unwrap_or(content_type.len());
    String::from_utf8_lossy(content_type[..end].trim_ascii()).to_ascii_lowercase()
}

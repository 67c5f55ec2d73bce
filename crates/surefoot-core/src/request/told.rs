//! What a witness says was answered: somebody who was not there, so each part of it is checked. It never keeps what a
//! guard would not have kept, and it never drops silently what was said.

use super::{
    BODY_BYTES_MAX, HEADER_BYTES_MAX, HEADERS_MAX, HeaderAllowList, HeaderRefused, Kept, NotKept,
    StoredResponse, Tombstone,
};

/// Why what a witness says cannot be an answer. The text is for the witness.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToldRefused {
    /// No final status of HTTP.
    #[error("the status is {0}; give 200 to 599")]
    Status(u16),
    /// A header that no replay has.
    #[error(transparent)]
    Header(#[from] HeaderRefused),
    /// A value that cannot stand in a header.
    #[error("the value of {0} cannot stand in a header; use visible characters, spaces and tabs")]
    Value(String),
    /// More headers, or larger ones, than a record holds.
    #[error(
        "the headers are more than {HEADERS_MAX}, or larger than {HEADER_BYTES_MAX} bytes; leave some out"
    )]
    Headers,
    /// A larger body than a record holds.
    #[error("the body has {0} bytes, at most {BODY_BYTES_MAX} are kept; leave it out")]
    Body(usize),
    /// Headers of an answer whose body nobody knows.
    #[error(
        "there are headers and no body; give the body, which may be empty, or leave the headers out"
    )]
    NoBody,
}

impl Kept {
    /// What a witness says was answered. Without a body it is known that it happened, and not what was answered.
    ///
    /// # Errors
    /// The first part that cannot be kept.
    pub fn told(
        status: u16,
        headers: Vec<(String, Vec<u8>)>,
        body: Option<Vec<u8>>,
    ) -> Result<Self, ToldRefused> {
        if !(200..=599).contains(&status) {
            return Err(ToldRefused::Status(status));
        }
        let Some(body) = body else {
            if !headers.is_empty() {
                return Err(ToldRefused::NoBody);
            }
            return Ok(Self::Tombstone(Tombstone {
                status,
                body_sha256: None,
                body_bytes: None,
                why: NotKept::KnownFromElsewhere,
            }));
        };
        HeaderAllowList::new(headers.iter().map(|(name, _)| name.as_str()))?;
        let stands = |value: &[u8]| {
            value
                .iter()
                .all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
        };
        if let Some((name, _)) = headers.iter().find(|(_, value)| !stands(value)) {
            return Err(ToldRefused::Value(name.clone()));
        }
        let bytes: usize = headers
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum();
        if headers.len() > HEADERS_MAX || bytes > HEADER_BYTES_MAX {
            return Err(ToldRefused::Headers);
        }
        if body.len() > BODY_BYTES_MAX {
            return Err(ToldRefused::Body(body.len()));
        }
        let lower = |(name, value): (String, Vec<u8>)| (name.to_ascii_lowercase(), value);
        Ok(Self::Response(StoredResponse {
            status,
            headers: headers.into_iter().map(lower).collect(),
            body,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, value: &[u8]) -> (String, Vec<u8>) {
        (name.to_owned(), value.to_vec())
    }

    #[test]
    fn what_a_witness_knows_is_kept_and_what_it_does_not_know_is_said() {
        let kept = Kept::told(
            201,
            vec![header("Location", b"/a/1")],
            Some(b"\0\xff".to_vec()),
        );
        assert_eq!(
            kept,
            Ok(Kept::Response(StoredResponse {
                status: 201,
                headers: vec![header("location", b"/a/1")],
                body: b"\0\xff".to_vec(),
            }))
        );
        let Ok(Kept::Tombstone(tombstone)) = Kept::told(201, Vec::new(), None) else {
            panic!("without a body nothing can be replayed");
        };
        assert_eq!(tombstone.why, NotKept::KnownFromElsewhere);
        assert_eq!((tombstone.status, tombstone.body_sha256), (201, None));
    }

    #[test]
    fn what_no_guard_keeps_is_refused_and_not_left_out() {
        let wide = vec![header("link", &vec![b'x'; HEADER_BYTES_MAX])];
        let table = [
            (199, vec![], Some(vec![]), ToldRefused::Status(199)),
            (600, vec![], None, ToldRefused::Status(600)),
            (200, vec![header("etag", b"1")], None, ToldRefused::NoBody),
            (
                200,
                vec![header("Set-Cookie", b"a=b")],
                Some(vec![]),
                ToldRefused::Header(HeaderRefused::Never("set-cookie".to_owned())),
            ),
            (
                200,
                vec![header("etag", b"1\r\nx: y")],
                Some(vec![]),
                ToldRefused::Value("etag".to_owned()),
            ),
            (200, wide, Some(vec![]), ToldRefused::Headers),
            (
                200,
                vec![header("link", b"a"); HEADERS_MAX + 1],
                Some(vec![]),
                ToldRefused::Headers,
            ),
            (
                200,
                vec![],
                Some(vec![0; BODY_BYTES_MAX + 1]),
                ToldRefused::Body(BODY_BYTES_MAX + 1),
            ),
        ];
        for (status, headers, body, expected) in table {
            assert_eq!(Kept::told(status, headers, body), Err(expected));
        }
    }
}

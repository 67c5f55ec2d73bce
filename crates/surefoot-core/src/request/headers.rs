//! Which headers of an answer are kept and replayed. Everything else is left out; what belongs to one connection, one
//! session or one credential cannot be asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The most headers that a route keeps by name, and the most that one answer keeps.
pub const HEADERS_MAX: usize = 64;

/// Headers that are never kept: session and credentials, framing and hop (RFC 9110 sections 7.6.1 and 8.6), and our own
/// marks.
const NEVER: [&str; 18] = [
    "authentication-info",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "idempotency-error",
    "idempotency-status",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "set-cookie2",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
];

/// What says how to read the body, what was made and where it is.
const STANDARD: [&str; 11] = [
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-location",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
    "vary",
];

/// The names of the headers that are kept, in lower case.
///
/// The default keeps what says how to read the body, what was made and where it is. A body that was kept encoded is
/// replayed with its `content-encoding`, so a guard should see bodies before they are compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderAllowList(Arc<BTreeSet<String>>);

/// Why a header cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderRefused {
    /// No header has such a name.
    #[error("{0:?} is no name of a header; use letters, digits and -")]
    NotAName(String),
    /// It is never kept.
    #[error("{0} is never replayed, for it belongs to one session or one connection; leave it out")]
    Never(String),
    /// More than [`HEADERS_MAX`].
    #[error("{0} names of headers, at most {HEADERS_MAX} are taken; name fewer")]
    TooMany(usize),
}

impl Default for HeaderAllowList {
    fn default() -> Self {
        Self(Arc::new(STANDARD.into_iter().map(str::to_owned).collect()))
    }
}

impl HeaderAllowList {
    /// A list of these names and no others, in any case.
    ///
    /// # Errors
    /// The first name that is refused.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, HeaderRefused> {
        let mut allowed = BTreeSet::new();
        for name in names {
            let name = name.to_ascii_lowercase();
            if name.is_empty() || !name.bytes().all(is_token) {
                return Err(HeaderRefused::NotAName(name));
            }
            if NEVER.contains(&name.as_str()) {
                return Err(HeaderRefused::Never(name));
            }
            allowed.insert(name);
        }
        match allowed.len() {
            many if many > HEADERS_MAX => Err(HeaderRefused::TooMany(many)),
            _ => Ok(Self(Arc::new(allowed))),
        }
    }

    /// This list and these names.
    ///
    /// # Errors
    /// The first name that is refused.
    pub fn with<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, HeaderRefused> {
        let more = Self::new(names)?;
        let all = self.0.union(&more.0).map(String::as_str);
        Self::new(all.collect::<Vec<_>>())
    }

    /// Whether a header of this name, in lower case, is kept.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// RFC 9110, section 5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_session_or_a_connection_cannot_be_kept() {
        for name in [
            "Set-Cookie",
            "set-cookie",
            "Content-Length",
            "Authorization",
            "Transfer-Encoding",
        ] {
            assert_eq!(
                HeaderAllowList::new([name]),
                Err(HeaderRefused::Never(name.to_ascii_lowercase()))
            );
            assert!(!HeaderAllowList::default().allows(&name.to_ascii_lowercase()));
        }
        assert_eq!(
            HeaderAllowList::default().with(["SET-COOKIE"]),
            Err(HeaderRefused::Never("set-cookie".to_owned()))
        );
    }

    #[test]
    fn the_standard_list_is_lawful_and_takes_more() {
        let standard = HeaderAllowList::new(STANDARD).unwrap();
        assert_eq!(standard, HeaderAllowList::default());
        let more = standard.with(["X-Request-Cost"]).unwrap();
        assert!(more.allows("x-request-cost") && more.allows("location"));
        assert!(!more.allows("x-other"));
        assert_eq!(more.names().count(), STANDARD.len() + 1);
    }

    #[test]
    fn names_are_checked_and_bounded() {
        for name in ["", "a b", "a:", "\u{e9}"] {
            assert!(matches!(
                HeaderAllowList::new([name]),
                Err(HeaderRefused::NotAName(_))
            ));
        }
        let many: Vec<String> = (0..65).map(|n| format!("x-{n}")).collect();
        let many = many.iter().map(String::as_str);
        assert_eq!(HeaderAllowList::new(many), Err(HeaderRefused::TooMany(65)));
    }
}

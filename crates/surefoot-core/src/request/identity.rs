//! Who asked for what. The identity is what makes a request one intent; the operation is part of what was asked, so the
//! same key on another route is a mismatch and not a second intent.

use std::fmt;

use super::RequestKey;
use crate::id::{DependencyName, NameError, Tenant, time_ordered_id};

/// What makes a request one intent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Whose it is, from verified identity.
    pub tenant: Tenant,
    /// What its client calls it.
    pub key: RequestKey,
}

time_ordered_id!(
    /// A request's id: a UUID version 7, so ids of later requests sort later. The one that first claimed a key stays with it
    /// for as long as the key is on record.
    RequestId, RequestIdError, "request"
);

impl RequestId {
    /// The key under which a dependency sees what this request does there. It is the same on every run, and another one
    /// for each dependency; [`RequestId::of_downstream`] reads it back.
    #[must_use]
    pub fn downstream(self, dependency: &DependencyName) -> String {
        format!("{self}.{dependency}")
    }

    /// The request in a key that [`RequestId::downstream`] made; `None` for any other text.
    #[must_use]
    pub fn of_downstream(text: &str) -> Option<Self> {
        let (id, dependency) = text.split_once('.')?;
        DependencyName::new(dependency).ok()?;
        let read: Self = id.parse().ok()?;
        (read.to_string() == id).then_some(read)
    }
}

/// Which operation of the service is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    method: String,
    route: String,
}

impl Operation {
    /// The most bytes of a method.
    pub const METHOD_BYTES_MAX: usize = 32;

    /// The most bytes of a route.
    pub const ROUTE_BYTES_MAX: usize = 512;

    /// A method as it was sent (methods differ in case, RFC 9110 section 9.1) and the route that serves it: a pattern
    /// such as `/payments/{id}`, not the path that matched it.
    ///
    /// # Errors
    /// A [`NameError`] when one of them is empty, too long or not visible ASCII.
    pub fn new(method: impl Into<String>, route: impl Into<String>) -> Result<Self, NameError> {
        let (method, route) = (method.into(), route.into());
        check("method", &method, Self::METHOD_BYTES_MAX)?;
        check("route", &route, Self::ROUTE_BYTES_MAX)?;
        Ok(Self { method, route })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The route.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.route
    }

    /// Whether the method is safe (RFC 9110 section 9.2.1): it asks for nothing to happen, so a key on it is ignored.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.route)
    }
}

fn check(what: &'static str, text: &str, bytes_max: usize) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what, bytes_max });
    }
    if text.len() > bytes_max {
        let bytes = text.len();
        return Err(NameError::TooLong {
            what,
            bytes,
            bytes_max,
        });
    }
    match text.char_indices().find(|(_, c)| !c.is_ascii_graphic()) {
        Some((at, found)) => Err(NameError::Character {
            what,
            found,
            at,
            allowed: "visible ASCII characters",
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Timestamp;

    #[test]
    fn an_operation_is_visible_ascii_and_bounded() {
        assert!(Operation::new("POST", "/payments/{id}").is_ok());
        let table = [
            ("", "/a", "method is empty; give 1 to 32 bytes"),
            ("POST", "", "route is empty; give 1 to 512 bytes"),
            (
                "PO ST",
                "/a",
                "method holds the character ' ' at byte 2; use visible ASCII characters",
            ),
        ];
        for (method, route, expected) in table {
            assert_eq!(
                Operation::new(method, route).unwrap_err().to_string(),
                expected
            );
        }
        assert!(Operation::new("POST", "/".repeat(513)).is_err());
    }

    #[test]
    fn safe_methods_are_the_four_of_the_standard() {
        let safe = |method| Operation::new(method, "/").unwrap().is_safe();
        assert!(["GET", "HEAD", "OPTIONS", "TRACE"].into_iter().all(safe));
        assert!(
            !["POST", "PUT", "PATCH", "DELETE", "get"]
                .into_iter()
                .any(safe)
        );
    }

    #[test]
    fn a_downstream_key_names_its_request_and_reads_back() {
        let id = RequestId::new(Timestamp::from_micros(0), [7; 10]);
        let psp = DependencyName::new("psp.refund").unwrap();
        let mail = DependencyName::new("mail").unwrap();
        assert_ne!(id.downstream(&psp), id.downstream(&mail));
        assert_eq!(RequestId::of_downstream(&id.downstream(&psp)), Some(id));
        for other in [
            "",
            "psp",
            &id.to_string(),
            &format!("{id}."),
            &format!("{id}.a b"),
        ] {
            assert_eq!(RequestId::of_downstream(other), None, "{other}");
        }
    }
}

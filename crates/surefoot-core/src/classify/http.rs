//! What an HTTP status says about a call. It reads the status only: a body is never trusted to
//! change what the status says.

use super::{Certainty, Class};

/// Both answers about a call that ended with an HTTP status outside 2xx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpClass {
    /// Whether trying again may help.
    pub class: Class,
    /// What may have happened at the other end.
    pub certainty: Certainty,
}

/// Classifies the final `status` of a call; `None` for 2xx, which is no failure.
///
/// - 408, 425, 429, 503: transient, and refused before any effect (RFC 9110 sections 15.5.9 and
///   15.6.4, RFC 8470 section 5.2, RFC 6585 section 4).
/// - 502, 504: transient, perhaps applied. A gateway gave up; the service behind it may not have.
/// - 500 and the rest of 5xx: transient, perhaps applied. A crash after the effect looks the same.
/// - 501, 505: permanent, refused. The server does not know such a method or version at all.
/// - other 4xx, with 409: permanent, refused. See [`http_status_keyed`] for 409.
/// - 3xx: permanent, because a redirect that reaches this function was not followed. 300 to 303
///   may be the answer of a server that did the work and points to the result (RFC 9110 section
///   15.4.4): perhaps applied. 304 and above ask for the request again elsewhere: refused.
/// - outside 200 to 599: as 500 (RFC 9110 section 15).
#[must_use]
pub const fn http_status(status: u16) -> Option<HttpClass> {
    use Certainty::{MaybeApplied, Rejected};
    use Class::{Permanent, Transient};
    let (class, certainty) = match status {
        200..=299 => return None,
        300..=303 => (Permanent, MaybeApplied),
        408 | 425 | 429 | 503 => (Transient, Rejected),
        304..=499 | 501 | 505 => (Permanent, Rejected),
        _ => (Transient, MaybeApplied),
    };
    Some(HttpClass { class, certainty })
}

/// Classifies the final `status` of a call that carried an idempotency key of its own.
///
/// As [`http_status`], but for a 409 that came with `Retry-After` (`retry_after` is true): the
/// first call under this key is still running, so this one waits and asks again. That first call
/// may yet be applied, so the effect is perhaps applied, not refused. A 409 without `Retry-After`
/// stays a permanent refusal.
#[must_use]
pub const fn http_status_keyed(status: u16, retry_after: bool) -> Option<HttpClass> {
    if status == 409 && retry_after {
        return Some(HttpClass {
            class: Class::Transient,
            certainty: Certainty::MaybeApplied,
        });
    }
    http_status(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_whether_to_retry_and_what_may_have_happened() {
        use Certainty::{MaybeApplied, Rejected};
        use Class::{Permanent, Transient};
        let table = [
            (0, Transient, MaybeApplied),
            (100, Transient, MaybeApplied),
            (199, Transient, MaybeApplied),
            (300, Permanent, MaybeApplied),
            (302, Permanent, MaybeApplied),
            (303, Permanent, MaybeApplied),
            (304, Permanent, Rejected),
            (307, Permanent, Rejected),
            (308, Permanent, Rejected),
            (400, Permanent, Rejected),
            (401, Permanent, Rejected),
            (403, Permanent, Rejected),
            (404, Permanent, Rejected),
            (408, Transient, Rejected),
            (409, Permanent, Rejected),
            (410, Permanent, Rejected),
            (422, Permanent, Rejected),
            (425, Transient, Rejected),
            (429, Transient, Rejected),
            (499, Permanent, Rejected),
            (500, Transient, MaybeApplied),
            (501, Permanent, Rejected),
            (502, Transient, MaybeApplied),
            (503, Transient, Rejected),
            (504, Transient, MaybeApplied),
            (505, Permanent, Rejected),
            (507, Transient, MaybeApplied),
            (524, Transient, MaybeApplied),
            (599, Transient, MaybeApplied),
            (600, Transient, MaybeApplied),
            (u16::MAX, Transient, MaybeApplied),
        ];
        for (status, class, certainty) in table {
            let expected = Some(HttpClass { class, certainty });
            assert_eq!(http_status(status), expected, "{status}");
            assert_eq!(http_status_keyed(status, false), expected, "{status}");
        }
    }

    #[test]
    fn a_success_is_no_failure() {
        for status in [200, 201, 202, 204, 299] {
            assert_eq!(http_status(status), None, "{status}");
            assert_eq!(http_status_keyed(status, true), None, "{status}");
        }
    }

    #[test]
    fn a_key_in_use_means_wait() {
        let in_use = Some(HttpClass {
            class: Class::Transient,
            certainty: Certainty::MaybeApplied,
        });
        assert_eq!(http_status_keyed(409, true), in_use);
        assert_eq!(http_status_keyed(422, true), http_status(422));
        assert_eq!(http_status_keyed(503, true), http_status(503));
    }
}

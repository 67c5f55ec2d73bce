//! What goes on to the next hop and what ends here (RFC 9110, section 7.6).

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE, VIA,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::context::RequestContext;
use crate::mark::IDEMPOTENCY_KEY;

/// The request that the upstream sees, by our id: another one for the same key of another tenant.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("surefoot-request");

/// Whose request it is.
pub(super) const TENANT: HeaderName = HeaderName::from_static("surefoot-tenant");

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// How this proxy names itself.
const NAME: HeaderValue = HeaderValue::from_static("1.1 surefoot");

/// What belongs to one connection.
const HOP: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The most names that one `Connection` header may take away.
const NAMED_MAX: usize = 64;

/// Takes off what belongs to one connection, and what its `Connection` header names. The key is never one of these: a service
/// that did not see it could neither deduplicate by it nor say what became of it.
pub(super) fn end_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .filter(|name| name != IDEMPOTENCY_KEY)
        .take(NAMED_MAX)
        .collect();
    for name in named.iter().chain(&HOP) {
        headers.remove(name);
    }
}

/// Makes the head of a request one for the upstream.
pub(super) fn to_upstream(head: &mut Parts) {
    let peer = head
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map(|info| info.0.ip());
    let context = head.extensions.get::<RequestContext>().cloned();
    let headers = &mut head.headers;
    end_hop(headers);
    // The server answers it as soon as the body is asked for.
    headers.remove(EXPECT);
    headers.append(VIA, NAME);
    if let Some(peer) = peer.and_then(|peer| HeaderValue::try_from(peer.to_string()).ok()) {
        headers.append(FORWARDED_FOR, peer);
    }
    if let Some(host) = headers.get(HOST).cloned() {
        headers.entry(FORWARDED_HOST).or_insert(host);
    }
    headers
        .entry(FORWARDED_PROTO)
        .or_insert(HeaderValue::from_static("http"));
    headers.remove(REQUEST_ID);
    headers.remove(TENANT);
    if let Some(context) = context {
        // A body that is kept is replayed to clients that may not take what this one takes.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let marks = [
            (REQUEST_ID, context.id().to_string()),
            (TENANT, context.tenant().to_string()),
        ];
        for (name, value) in marks {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_connection_ends_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Session"),
            ("connection", "x-other"),
            ("x-session", "1"),
            ("x-other", "1"),
            ("x-kept", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        end_hop(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["x-kept"]);
    }

    /// A client that has its key taken off would make the service forget what it ran: asked later, the service would say that
    /// nothing happened, and the request would run again.
    #[test]
    fn a_client_cannot_take_its_key_off_the_request() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "Idempotency-Key, x-other"),
            ("idempotency-key", "k"),
            ("x-other", "1"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        end_hop(&mut headers);
        let left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(left, ["idempotency-key"]);
    }

    #[test]
    fn nobody_names_a_tenant_to_the_upstream_but_the_guard() {
        let mut head = http::Request::new(()).into_parts().0;
        head.headers
            .insert(TENANT, HeaderValue::from_static("forged"));
        head.headers
            .insert(REQUEST_ID, HeaderValue::from_static("forged"));
        to_upstream(&mut head);
        assert!(!head.headers.contains_key(TENANT) && !head.headers.contains_key(REQUEST_ID));
        assert_eq!(head.headers[VIA], NAME);
    }
}

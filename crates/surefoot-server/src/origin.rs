//! Keeps web pages out. A page can make its visitor's browser send requests to loopback: under a name of its own that
//! it points there (DNS rebinding), or blindly across origins. A program sends neither header and is not touched.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, Method};
use axum::middleware::Next;
use axum::response::Response;

use crate::problem::{Problem, kind};
use crate::state::App;

static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Refuses what a page of another origin may have sent.
pub(crate) async fn guard(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let headers = request.headers();
    if app.tokens().is_empty() {
        check_host(headers, app.hosts())?;
    }
    if changes_something(request.method()) {
        check_origin(headers)?;
    }
    Ok(next.run(request).await)
}

fn changes_something(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// A rebound name gives itself away by the Host header. With tokens it does no harm: the page has none.
fn check_host(headers: &HeaderMap, allowed: &[String]) -> Result<(), Problem> {
    let refused = |detail: String| Problem::new(&kind::HOST_NOT_ALLOWED, detail);
    let authority = authority(headers)
        .ok_or_else(|| refused("the request has no usable Host header".to_owned()))?;
    let host = authority.host();
    if is_loopback(host) || allowed.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return Ok(());
    }
    Err(refused(format!("the request is for {host:?}")))
}

fn authority(headers: &HeaderMap) -> Option<Authority> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok()?.parse().ok(),
        _ => None,
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback())
}

fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |detail: &str| Problem::new(&kind::CROSS_ORIGIN, detail);
    if let Some(site) = headers.get(&SEC_FETCH_SITE)
        && site != "same-origin"
        && site != "none"
    {
        return Err(refused(
            "the browser says that the request crosses origins (Sec-Fetch-Site)",
        ));
    }
    if let Some(origin) = headers.get(ORIGIN) {
        let of_page = origin
            .to_str()
            .ok()
            .and_then(|origin| Some(origin.split_once("://")?.1.to_ascii_lowercase()));
        let ours = authority(headers).map(|host| host.as_str().to_ascii_lowercase());
        if of_page.is_none() || of_page != ours {
            return Err(refused("the Origin of the request is not this server"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_loopback_and_configured_hosts_are_served() {
        let allowed = ["queue.internal".to_owned()];
        let table = [
            ("127.0.0.1:7070", true),
            ("127.0.0.1", true),
            ("localhost:7070", true),
            ("LOCALHOST", true),
            ("[::1]:7070", true),
            ("[::ffff:127.0.0.1]", true),
            ("queue.internal:7070", true),
            ("Queue.Internal", true),
            ("evil.example:7070", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("evil.localhost", false),
            ("192.168.0.1", false),
            ("0.0.0.0", false),
            ("", false),
            ("a b", false),
        ];
        for (host, served) in table {
            assert_eq!(
                check_host(&headers(&[("host", host)]), &allowed).is_ok(),
                served,
                "{host}"
            );
        }
        assert!(check_host(&headers(&[]), &allowed).is_err());
        assert!(
            check_host(
                &headers(&[("host", "localhost"), ("host", "evil.example")]),
                &allowed
            )
            .is_err()
        );
    }

    #[test]
    fn a_page_of_another_origin_changes_nothing() {
        let host = ("host", "127.0.0.1:7070");
        let table: [(&[(&'static str, &'static str)], bool); 10] = [
            (&[host], true),
            (&[host, ("sec-fetch-site", "same-origin")], true),
            (&[host, ("sec-fetch-site", "none")], true),
            (&[host, ("sec-fetch-site", "same-site")], false),
            (&[host, ("sec-fetch-site", "cross-site")], false),
            (&[host, ("origin", "http://127.0.0.1:7070")], true),
            (&[host, ("origin", "http://127.0.0.1:8080")], false),
            (&[host, ("origin", "https://evil.example")], false),
            (&[host, ("origin", "null")], false),
            (&[("origin", "http://127.0.0.1:7070")], false),
        ];
        for (pairs, served) in table {
            assert_eq!(check_origin(&headers(pairs)).is_ok(), served, "{pairs:?}");
        }
    }
}

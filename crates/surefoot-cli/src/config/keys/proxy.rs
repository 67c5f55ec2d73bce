//! `[proxy]` and `[[proxy.route]]`: the front door before a service.

use surefoot_core::id::Worker;
use surefoot_core::request::Operation;
use surefoot_http::{GuardOptions, ProxyOptions, ROUTES_MAX, TOKEN_BYTES_MIN};

use super::node::tokens;
use super::pattern;
use super::route;
use super::shape::{Key, Shape, Table};
use crate::config::duration::written;
use crate::config::proxy::{AT_ONCE_MAX, LISTEN};
use crate::config::section::LIST_MAX;

pub(super) fn key() -> Key {
    let mut keys = places();
    keys.extend(limits());
    keys.extend(tenants());
    keys.extend(questions());
    keys.extend(route::keys());
    keys.push(routes());
    let what = "The front door before a service: each request with an `Idempotency-Key` runs once. Keys about how requests are \
                guarded hold for every route that says nothing else.";
    Key::new("proxy", Shape::Table(Table::new(what, keys)), what)
}

fn places() -> Vec<Key> {
    let upstream = Key::new(
        "upstream",
        pattern::filled("^http://[^/?#@]+/?$"),
        "The service: `http://HOST:PORT`. TLS is not spoken to it. `${NAME}` is filled from the environment.",
    );
    vec![
        upstream.required(),
        Key::new(
            "listen",
            pattern::address(),
            "Where clients come: an IP address and a port. An address that other machines reach needs tenants that are told \
             apart.",
        )
        .or(LISTEN.to_string()),
        Key::new(
            "admin",
            pattern::address(),
            "Where `surefoot proxy` shows what it does, apart from what clients reach. An address that other machines reach \
             needs `admin_tokens`. Without it 127.0.0.1:7071, unless that is taken.",
        ),
        tokens("admin_tokens", "Who may look there."),
        Key::new(
            "documentation",
            Shape::text("^(/|https?://)"),
            "The page that says how keys are to be used: an http or https URL, or a path of the service. Each refusal of the \
             front door leads there.",
        ),
    ]
}

fn limits() -> Vec<Key> {
    let standard = ProxyOptions::default();
    let connect = format!(
        "How long connecting to the service may take. When it fires, nothing was sent and the key is free. Without it {}, or \
         `upstream_timeout` if that is less.",
        written(standard.connect_timeout)
    );
    let at_once = || Shape::count(1..=AT_ONCE_MAX);
    let requests = Key::new(
        "requests_max",
        at_once(),
        "How many requests with a key are under way at once; further ones get 503.",
    );
    let requests = match Worker::new("any") {
        Ok(holder) => requests.or(GuardOptions::new(holder).guarded_max),
        Err(_) => requests,
    };
    vec![
        Key::new("connect_timeout", Shape::time(), connect),
        Key::new(
            "upstream_timeout",
            Shape::time(),
            "How long the service may take to begin its answer. When it fires, the outcome is unknown.",
        )
        .or_time(standard.upstream_timeout),
        Key::new(
            "drain_grace",
            Shape::time(),
            "How long requests may go on after the first signal to stop.",
        )
        .or_time(standard.grace),
        Key::new(
            "connections_max",
            at_once(),
            "How many connections of clients are open at once; further ones wait. Never more than the limit of open files \
             bears.",
        )
        .or(standard.connections_max),
        requests,
    ]
}

fn tenants() -> Vec<Key> {
    let of_tenants = Shape::AnyOf(vec![
        pattern::any(),
        Shape::list(pattern::any(), 0..=LIST_MAX),
    ]);
    vec![
        Key::new(
            "tenant",
            Shape::text(pattern::tenant()),
            "The one tenant of all requests; on loopback only. Keep one of `tenant`, `tenant_tokens` and `tenant_header`.",
        )
        .or("default"),
        Key::new(
            "tenant_tokens",
            Shape::named(pattern::tenant(), of_tenants),
            format!(
                "The bearer tokens of each tenant, at least {TOKEN_BYTES_MIN} bytes each; a list while one is replaced by the \
                 next. `${{NAME}}` is filled from the environment."
            ),
        ),
        Key::new(
            "tenant_header",
            Shape::text(pattern::header_name()),
            "The header in which a proxy in front names the tenant that it verified. It is believed from `trusted_proxies` \
             only.",
        )
        .with(&["trusted_proxies"]),
        Key::new(
            "trusted_proxies",
            Shape::list(Shape::text("^[0-9A-Fa-f:.]+$"), 1..=LIST_MAX),
            "The IP addresses of the proxies that write `tenant_header`.",
        )
        .with(&["tenant_header"]),
    ]
}

fn questions() -> Vec<Key> {
    vec![Key::new(
        "repeated_for",
        Shape::named(".*", Shape::time_or_zero()),
        "Who repeats requests, in words, and for how long after the first try. Each clock is checked against it.",
    )]
}

fn routes() -> Key {
    let path = Key::new(
        "path",
        Shape::text(format!("^/[^?#\\s]{{0,{}}}$", Operation::ROUTE_BYTES_MAX)),
        "The path, segment by segment: `{name}` is any one segment, `{*name}` at the end all that follow.",
    );
    let mut keys = vec![
        path.required(),
        Key::new(
            "method",
            Shape::text("^[!#$%&'*+.^_`|~0-9A-Z-]+$"),
            "The method, in capitals; without it all.",
        ),
    ];
    keys.extend(route::keys());
    let what =
        "How the requests of one route are guarded. The first route that fits a request counts.";
    let each = Shape::Table(Table::new(what, keys));
    Key::new("route", Shape::list(each, 0..=ROUTES_MAX), what)
}

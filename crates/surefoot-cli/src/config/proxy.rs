//! `[proxy]`: the front door before a service, as the file or the command line say it. Both have the same rooms; what
//! neither says has a default. Whether it makes sense as a whole is decided in core and by the guard, and told here with
//! its place.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use http::Uri;
use surefoot_core::id::Worker;
use surefoot_core::request::Horizon;
use surefoot_http::problem::ProblemTypes;
use surefoot_http::{GuardOptions, ProxyOptions, ReconcilerOptions, Routes, Rule};
use surefoot_server::{Token, check_listen};

use super::duration;
use super::environment::{self, Environment};
use super::route::{self, RouteKeys};
use super::route_list::{self, ReadRoute, RouteEntry};
use super::section::{Field, Section};
use super::server;
use super::tenants::{self, TenantKeys};

/// Where the proxy listens unless something else is said.
pub(super) const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
/// The most connections, and requests with a key at once, that may be asked for.
pub(super) const AT_ONCE_MAX: u32 = 100_000;
/// The most that are named as repeating requests.
const HORIZONS_MAX: usize = 100;

/// The front door; nothing is said of what is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProxySection {
    /// The service behind it.
    pub(crate) upstream: Option<Uri>,
    /// Where it listens.
    pub(crate) listen: Option<SocketAddr>,
    /// Where `surefoot proxy` shows what it does.
    pub(crate) admin: Option<SocketAddr>,
    /// Who may look there; without any, no credentials are asked for.
    pub(crate) admin_tokens: Vec<Token>,
    /// How long connecting to the service may take.
    pub(crate) connect_timeout: Option<Duration>,
    /// How long the service may take to begin its answer.
    pub(crate) upstream_timeout: Option<Duration>,
    /// How long requests may go on after a signal to stop.
    pub(crate) drain_grace: Option<Duration>,
    /// How many connections are open at once.
    pub(crate) connections_max: Option<usize>,
    /// How many requests with a key are under way at once.
    pub(crate) requests_max: Option<usize>,
    /// The page that says how keys are to be used.
    pub(crate) documentation: Option<ProblemTypes>,
    /// Whose a request is.
    pub(crate) tenants: Option<TenantKeys>,
    /// Who repeats requests, and for how long.
    pub(crate) horizons: Vec<Horizon>,
    /// What holds for all routes that say nothing else.
    pub(crate) all: RouteKeys,
    /// The routes, the first that fits counts.
    pub(crate) routes: Vec<RouteEntry>,
}

impl ProxySection {
    /// What this says, and where it says nothing what `under` says.
    pub(crate) fn over(self, under: Self) -> Self {
        Self {
            upstream: self.upstream.or(under.upstream),
            listen: self.listen.or(under.listen),
            admin: self.admin.or(under.admin),
            admin_tokens: first_of(self.admin_tokens, under.admin_tokens),
            connect_timeout: self.connect_timeout.or(under.connect_timeout),
            upstream_timeout: self.upstream_timeout.or(under.upstream_timeout),
            drain_grace: self.drain_grace.or(under.drain_grace),
            connections_max: self.connections_max.or(under.connections_max),
            requests_max: self.requests_max.or(under.requests_max),
            documentation: self.documentation.or(under.documentation),
            tenants: self.tenants.or(under.tenants),
            horizons: first_of(self.horizons, under.horizons),
            all: self.all.over(&under.all),
            routes: first_of(self.routes, under.routes),
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listen.unwrap_or(LISTEN)
    }

    /// The routes, each with all that holds for it.
    pub(crate) fn entries(&self) -> impl Iterator<Item = RouteEntry> {
        self.routes.iter().map(|entry| RouteEntry {
            keys: entry.keys.over(&self.all),
            ..entry.clone()
        })
    }

    /// How long the service may take to begin its answer.
    pub(crate) fn upstream_timeout(&self) -> Duration {
        self.upstream_timeout
            .unwrap_or(ProxyOptions::default().upstream_timeout)
    }

    /// How the guard of a node with this name is set up.
    pub(crate) fn guard_options(&self, holder: Worker) -> GuardOptions {
        let timeout = self.upstream_timeout();
        let rule = |entry: RouteEntry| Rule {
            policy: entry.keys.policy(timeout),
            method: entry.method,
            route: entry.path,
        };
        let standard = GuardOptions::new(holder);
        GuardOptions {
            routes: Routes {
                other: self.all.policy(timeout),
                rules: self.entries().map(rule).collect(),
            },
            horizons: self.horizons.clone(),
            guarded_max: self.requests_max.unwrap_or(standard.guarded_max),
            problems: self.documentation.clone().unwrap_or_default(),
            ..standard
        }
    }

    /// How the proxy is set up.
    pub(crate) fn proxy_options(&self) -> ProxyOptions {
        let standard = ProxyOptions::default();
        let upstream_timeout = self.upstream_timeout();
        ProxyOptions {
            connect_timeout: self
                .connect_timeout
                .unwrap_or(standard.connect_timeout.min(upstream_timeout)),
            upstream_timeout,
            grace: self.drain_grace.unwrap_or(standard.grace),
            connections_max: self.connections_max.unwrap_or(standard.connections_max),
            ..standard
        }
    }

    /// How unknown outcomes are asked about on routes that say nothing of it.
    pub(crate) fn reconciler_options(&self) -> ReconcilerOptions {
        let standard = ReconcilerOptions::default();
        let said = self.all.policy(self.upstream_timeout()).asks;
        ReconcilerOptions {
            plan: said.unwrap_or_else(|| standard.plan.clone()),
            ..standard
        }
    }

    /// Every contradiction of the whole with its remedy, but those of routes.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = self.proxy_options().validate();
        let admin = self.admin.filter(|admin| admin.port() != 0);
        if admin == Some(self.address()) {
            faults.push(format!(
                "admin and listen are both {}, so one of them could not be served; give admin another port",
                self.address()
            ));
        }
        faults
    }
}

fn first_of<T>(first: Vec<T>, second: Vec<T>) -> Vec<T> {
    if first.is_empty() { second } else { first }
}

/// Reads the section; `None` when something of it is wrong.
pub(super) fn read(section: &Section<'_>, environment: Environment<'_>) -> Option<ProxySection> {
    let upstream = section
        .text("upstream")
        .check(section.faults, |text| upstream(text, environment));
    if upstream == Field::Absent {
        section.missing(
            "upstream",
            "add the service to stand in front of, such as upstream = \"http://127.0.0.1:3000\"",
        );
    }
    let listen = section
        .text("listen")
        .check(section.faults, |text| server::address("listen", text));
    let admin = section
        .text("admin")
        .check(section.faults, |text| server::address("admin", text));
    let admin_tokens = server::tokens(section, "admin_tokens", environment);
    let (connect_timeout, upstream_timeout, drain_grace) = (
        section.duration("connect_timeout"),
        section.duration("upstream_timeout"),
        section.duration("drain_grace"),
    );
    let (connections_max, requests_max) = (
        at_once(section, "connections_max"),
        at_once(section, "requests_max"),
    );
    let documentation = section
        .text("documentation")
        .check(section.faults, documentation);
    let tenants = tenants::read(section, environment);
    let horizons = horizons(section);
    let all = route::read(section, environment);
    let routes = route_list::read(section, environment);
    section.finish();
    let read = ProxySection {
        upstream: upstream.optional()?,
        listen: listen.optional()?,
        admin: admin.optional()?,
        admin_tokens: admin_tokens?,
        connect_timeout: connect_timeout.optional()?,
        upstream_timeout: upstream_timeout.optional()?,
        drain_grace: drain_grace.optional()?,
        connections_max: connections_max.optional()?,
        requests_max: requests_max.optional()?,
        documentation: documentation.optional()?,
        tenants: tenants?,
        horizons: horizons?,
        all: all?,
        routes: Vec::new(),
    };
    judged(section, read, routes?)
}

/// The whole with its routes, when it does not contradict itself.
fn judged(
    section: &Section<'_>,
    mut read: ProxySection,
    routes: Vec<ReadRoute<'_>>,
) -> Option<ProxySection> {
    read.routes = routes.iter().map(|(_, entry)| entry.clone()).collect();
    let timeout = read.upstream_timeout();
    let mut sound = admin_is_guarded(section, &read);
    for fault in read.faults() {
        sound = false;
        section.faults.note_text(place(section, &fault), &fault);
    }
    let of_all = read.all.faults(timeout, &read.horizons);
    for fault in &of_all {
        sound = false;
        section
            .faults
            .note_text(route::place(section, fault), fault);
    }
    for ((section, _), entry) in routes.iter().zip(read.entries()) {
        sound &= !route::asks_nobody(section, &entry.keys);
        let own = entry.keys.faults(timeout, &read.horizons);
        // What all routes share is told once.
        for fault in own.iter().filter(|fault| !of_all.contains(fault)) {
            sound = false;
            section
                .faults
                .note_text(route::place(section, fault), fault);
        }
    }
    sound.then_some(read)
}

/// Whether the admin listener can be reached by this machine only, or asks for tokens.
fn admin_is_guarded(section: &Section<'_>, read: &ProxySection) -> bool {
    let Some(refused) = read
        .admin
        .and_then(|admin| check_listen(admin, !read.admin_tokens.is_empty()).err())
    else {
        return true;
    };
    let span = section.value("admin").map(toml::Spanned::span);
    section.faults.note(
        span.unwrap_or_else(|| section.header.clone()),
        format!(
            "{} can be reached from other machines and there is no token",
            refused.0
        ),
        "add admin_tokens = { ops = \"${OPS_TOKEN}\" }, with a token from: openssl rand -hex 24",
    );
    false
}

/// Where a contradiction of the whole is pointed at.
fn place(section: &Section<'_>, fault: &str) -> super::fault::Span {
    let keys = [
        ("connect_timeout", "connect"),
        ("upstream_timeout", "upstream_timeout"),
        ("admin", "admin"),
    ];
    let found = keys
        .into_iter()
        .filter(|(_, word)| fault.contains(word))
        .find_map(|(key, _)| section.value(key));
    found.map_or_else(|| section.header.clone(), toml::Spanned::span)
}

/// `repeated_for = { "the web shop" = "2d" }`.
fn horizons(section: &Section<'_>) -> Option<Vec<Horizon>> {
    if section.value("repeated_for").is_none() {
        return Some(Vec::new());
    }
    let table = section.section("repeated_for")?;
    let (entries, mut sound) = table.entries();
    if entries.len() > HORIZONS_MAX {
        let what = format!("repeated_for has more than {HORIZONS_MAX} entries");
        section
            .faults
            .note(table.header.clone(), what, "name the longest ones");
        sound = false;
    }
    let mut horizons = Vec::new();
    for entry in entries {
        match duration::parse(entry.text) {
            Ok(lasts) => horizons.push(Horizon {
                who: entry.name.to_owned(),
                lasts,
            }),
            Err(refusal) => {
                sound = false;
                let refusal = format!("{:?} {refusal}", entry.text);
                section.faults.note_text(entry.text_span, &refusal);
            }
        }
    }
    sound.then_some(horizons)
}

fn at_once(section: &Section<'_>, key: &'static str) -> Field<usize> {
    section
        .count(key, 1..=AT_ONCE_MAX)
        .check(section.faults, |count| {
            usize::try_from(count).map_err(|error| error.to_string())
        })
}

/// The page that says how keys are to be used here.
pub(crate) fn documentation(text: &str) -> Result<ProblemTypes, String> {
    let is_address =
        text.starts_with('/') || text.starts_with("https://") || text.starts_with("http://");
    ProblemTypes::explained(ProblemTypes::default().base, text)
        .filter(|_| is_address)
        .ok_or_else(|| {
            format!(
                "{text:?} is no address of a page; write https://HOST/PATH, or /PATH of the service"
            )
        })
}

/// The address of a service, without a path. It may hold what the environment gave, and is not repeated.
fn upstream(text: &str, environment: Environment<'_>) -> Result<Uri, String> {
    let filled = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
    let uri: Option<Uri> = filled.parse().ok();
    let is_plain = |uri: &Uri| {
        uri.scheme_str() == Some("http")
            && uri
                .authority()
                .is_some_and(|authority| !authority.as_str().contains('@'))
            && uri.path() == "/"
            && uri.query().is_none()
    };
    uri.filter(is_plain).ok_or_else(|| {
        "upstream is not usable; write http://HOST:PORT, without a path: TLS is not spoken to an upstream"
            .to_owned()
    })
}

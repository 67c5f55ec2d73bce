//! What `[proxy]` amounts to, for people and as JSON: how each route is guarded, whose requests are, who is asked. What
//! contradicts itself does not load; here stands what only the whole file shows: jobs that repeat through the proxy for
//! longer than it remembers.

use std::time::Duration;

use serde::Serialize;
use surefoot_core::backoff::Backoff;
use surefoot_core::checklist::review;
use surefoot_core::effect::VerifyPlan;
use surefoot_core::request::Horizon;
use surefoot_http::{ANY_ROUTE, Need, RoutePolicy};

use super::database::Place;
use super::proxy::ADMIN;
use crate::config::{JobKind, ProxySection, RouteKeys, duration};
use crate::output::Table;

/// The review of a front door.
#[derive(Debug, Serialize)]
pub(super) struct ReviewedProxy {
    upstream: Option<String>,
    listen: String,
    /// Where `surefoot proxy` shows what it does.
    admin: String,
    /// Whether that was chosen: it does not start without it then, and else it does without one that is taken.
    admin_is_required: bool,
    tenants: String,
    routes: Vec<ReviewedRoute>,
    /// What is wrong with the whole, each with its remedy.
    pub(super) contradictions: Vec<Contradiction>,
}

/// How a route is guarded.
#[derive(Debug, Serialize)]
struct ReviewedRoute {
    method: Option<String>,
    route: String,
    key: &'static str,
    keep: &'static str,
    run_max_ms: u64,
    lease_ms: u64,
    settles_within_ms: u64,
    retention_ms: u64,
    tombstone_ms: u64,
    wait_ms: u64,
    /// Where to ask what became of a request; `None` where a person decides.
    verify: Option<String>,
    /// How many questions are asked before a person decides.
    asks_max: u32,
    /// How long they are asked.
    give_up_after_ms: u64,
    /// The waits between the first questions; the last one repeats, or those after it grow up to it.
    ask_every_ms: Vec<u64>,
}

/// Something that the whole file shows to be wrong.
#[derive(Debug, Serialize)]
pub(super) struct Contradiction {
    pub(super) what: String,
    pub(super) remedy: String,
}

/// The review of the front door that the configuration has, if it has one.
pub(super) fn reviewed_proxy(place: &Place) -> Option<ReviewedProxy> {
    let section = place.config.proxy.as_ref()?;
    let timeout = section.upstream_timeout();
    let plan = section.reconciler_options().plan;
    let mut routes: Vec<_> = section
        .entries()
        .map(|entry| {
            let method = entry.method.as_ref().map(ToString::to_string);
            route(method, &entry.path, &entry.keys, timeout, &plan)
        })
        .collect();
    routes.push(route(None, ANY_ROUTE, &section.all, timeout, &plan));
    Some(ReviewedProxy {
        upstream: section.upstream.as_ref().map(ToString::to_string),
        listen: section.address().to_string(),
        admin: section.admin.unwrap_or(ADMIN).to_string(),
        admin_is_required: section.admin.is_some(),
        tenants: section.tenants.clone().unwrap_or_default().words(),
        routes,
        contradictions: contradictions(place, section),
    })
}

fn route(
    method: Option<String>,
    route: &str,
    keys: &RouteKeys,
    upstream_timeout: Duration,
    plan: &VerifyPlan,
) -> ReviewedRoute {
    let RoutePolicy {
        need,
        request,
        run_max,
        wait,
        asks,
        ..
    } = keys.policy(upstream_timeout);
    let plan = asks.as_ref().unwrap_or(plan);
    let clocks = request.clocks;
    ReviewedRoute {
        method,
        route: route.to_owned(),
        key: match need {
            Need::Required => "required",
            Need::Optional => "optional",
            Need::Off => "ignored",
        },
        keep: request.keep.as_str(),
        run_max_ms: millis(run_max),
        lease_ms: millis(clocks.lease),
        settles_within_ms: millis(clocks.settles_within),
        retention_ms: millis(clocks.retention),
        tombstone_ms: millis(clocks.tombstone),
        wait_ms: millis(wait),
        verify: keys.verify.as_ref().map(ToString::to_string),
        asks_max: plan.asks_max,
        give_up_after_ms: millis(plan.give_up_after),
        ask_every_ms: match &plan.backoff {
            Backoff::List { delays, .. } => delays.iter().copied().map(millis).collect(),
            Backoff::Exponential { base, cap, .. } => vec![millis(*base), millis(*cap)],
        },
    }
}

/// Jobs of the same file that call the proxy and go on longer than it remembers.
fn contradictions(place: &Place, section: &ProxySection) -> Vec<Contradiction> {
    let kinds = place.config.kinds.iter();
    let horizons: Vec<Horizon> = kinds
        .filter(|(_, declared)| calls(declared, section))
        .map(|(kind, declared)| {
            let facts = declared.facts(kind, place.config.alert.as_deref());
            Horizon {
                who: format!("job {kind}"),
                lasts: review(&facts).worst.time_max,
            }
        })
        .collect();
    let timeout = section.upstream_timeout();
    let mut found: Vec<String> = Vec::new();
    let all = section.all.faults(timeout, &horizons);
    let each = section
        .entries()
        .flat_map(|entry| entry.keys.faults(timeout, &horizons));
    for fault in all.into_iter().chain(each.collect::<Vec<_>>()) {
        if !found.contains(&fault) {
            found.push(fault);
        }
    }
    let parts = |fault: String| {
        let (what, remedy) = fault.split_once("; ").unwrap_or((&fault, ""));
        Contradiction {
            what: what.to_owned(),
            remedy: remedy.to_owned(),
        }
    };
    found.into_iter().map(parts).collect()
}

/// Whether a kind calls the proxy: its service is where the proxy listens.
fn calls(declared: &JobKind, section: &ProxySection) -> bool {
    let door = format!("http://{}", section.address());
    declared.request.as_ref().is_some_and(|request| {
        let base = &request.dependency.base_url;
        base.strip_prefix(&door)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

impl ReviewedProxy {
    /// For people.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new([
            "method",
            "route",
            "key",
            "keep",
            "run at most",
            "replayed for",
            "key taken for",
            "unknown outcomes",
        ]);
        for route in &self.routes {
            table.row([
                route.method.clone().unwrap_or_else(|| "any".to_owned()),
                route.route.clone(),
                route.key.to_owned(),
                route.keep.to_owned(),
                written(route.run_max_ms),
                written(route.retention_ms),
                written(route.tombstone_ms),
                route.unknown(),
            ]);
        }
        format!(
            "front door at {} before {}\n  tenants: {}\n  admin: {}{}\n\n{}",
            self.listen,
            self.upstream.as_deref().unwrap_or("(none)"),
            self.tenants,
            self.admin,
            if self.admin_is_required {
                ""
            } else {
                " unless it is taken: then no metrics are served; to be sure of them set admin in [proxy]"
            },
            table.text()
        )
    }
}

impl ReviewedRoute {
    /// What becomes of a request whose outcome nobody knows.
    fn unknown(&self) -> String {
        let Some(uri) = &self.verify else {
            return "a person decides".to_owned();
        };
        let every: Vec<String> = self.ask_every_ms.iter().map(|ms| written(*ms)).collect();
        format!(
            "ask {uri} after {}; a person decides after {} questions or {}",
            every.join(", "),
            self.asks_max,
            written(self.give_up_after_ms)
        )
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn written(ms: u64) -> String {
    duration::written(Duration::from_millis(ms))
}

//! `[proxy]` beside what is said about it, word for word.

use std::time::Duration;

use http::Method;
use surefoot_core::id::{Tenant, Worker};
use surefoot_core::request::Keep;
use surefoot_http::{Need, RoutePolicy};

use super::file::{Config, parse};
use super::proxy::ProxySection;
use super::route::RouteKeys;
use super::tenants::TenantKeys;

fn environment(name: &str) -> Option<String> {
    match name {
        "ACME" => Some("0123456789abcdef".to_owned()),
        "SHORT" => Some("short".to_owned()),
        "SERVICE" => Some("127.0.0.1:3000".to_owned()),
        _ => None,
    }
}

#[track_caller]
fn loads(text: &str) -> ProxySection {
    let config: Config = parse("surefoot.toml", text, &environment)
        .unwrap_or_else(|faults| panic!("{:#?}", faults.lines()));
    super::schema_tests::valid(text);
    config.proxy.unwrap()
}

#[track_caller]
fn refused(text: &str, expected: &[&str]) {
    match parse("f", text, &environment) {
        Ok(config) => panic!("it loads: {config:#?}"),
        Err(unloadable) => assert_eq!(unloadable.lines(), expected, "{text}"),
    }
}

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn worker() -> Worker {
    Worker::new("proxy-1").unwrap()
}

const WHOLE: &str = r#"
[proxy]
upstream = "http://${SERVICE}"
listen = "127.0.0.1:8081"
admin = "127.0.0.1:7072"
admin_tokens = { ops = "${ACME}" }
connect_timeout = "1s"
upstream_timeout = "20s"
drain_grace = "15s"
connections_max = 100
requests_max = 50
documentation = "https://api.example/keys"
tenant_tokens = { acme = "${ACME}", beta = ["fedcba9876543210", "1111111111111111"] }
repeated_for = { "the web shop" = "6h" }
ask_every = ["1s", "10s"]
asks_max = 7
give_up_after = "2h"
need = "optional"
keep = "all"
headers = ["x-charge"]
lease = "30s"
run_max = "2m"
settles_within = "45s"
retention = "12h"
tombstone = "3d"
wait = "2s"
request_bytes_max = 4096
answer_bytes_max = 8192
body_timeout = "5s"
stream_after = "3s"
verify = "http://127.0.0.1:3000/outcome"

[[proxy.route]]
method = "POST"
path = "/payments/{id}"
need = "required"
keep = "final"
wait = "0s"
asks_max = 3

[[proxy.route]]
path = "/{*rest}"
retention = "1d"
verify = "http://127.0.0.1:3000/other"
"#;

#[test]
fn every_key_is_read_and_routes_keep_what_they_do_not_change() {
    let section = loads(WHOLE);
    assert_eq!(section.upstream.as_ref().unwrap(), "http://127.0.0.1:3000");
    let options = section.guard_options(worker());
    assert_eq!(
        (options.guarded_max, options.horizons[0].lasts),
        (50, s(6 * 3600))
    );
    assert_eq!(
        options.problems.documentation.as_ref().unwrap(),
        "<https://api.example/keys>; rel=\"describedby\""
    );
    let other = &options.routes.other;
    assert_eq!(
        (other.need, other.run_max, other.wait),
        (Need::Optional, s(120), s(2))
    );
    assert_eq!(
        (other.body_bytes_max, other.request.body_bytes_max),
        (4096, 8192)
    );
    assert_eq!((other.body_timeout, other.stream_after), (s(5), s(3)));
    assert!(other.request.headers.allows("x-charge"));
    assert!(other.request.headers.allows("content-type"));
    let clocks = other.request.clocks;
    assert_eq!((clocks.lease, clocks.settles_within), (s(30), s(45)));
    assert_eq!(
        (clocks.retention, clocks.tombstone),
        (s(12 * 3600), s(3 * 86_400))
    );

    let [first, second] = &options.routes.rules[..] else {
        panic!("{:?}", options.routes.rules);
    };
    assert_eq!(
        (first.method.as_ref(), first.route.as_str()),
        (Some(&Method::POST), "/payments/{id}")
    );
    assert_eq!(
        (first.policy.need, first.policy.request.keep),
        (Need::Required, Keep::Final)
    );
    assert_eq!((first.policy.wait, first.policy.run_max), (s(0), s(120)));
    assert_eq!(
        (&second.method, second.policy.request.keep),
        (&None, Keep::All)
    );
    assert_eq!(second.policy.request.clocks.retention, s(86_400));

    let proxy = section.proxy_options();
    assert_eq!(
        (proxy.connect_timeout, proxy.upstream_timeout),
        (s(1), s(20))
    );
    assert_eq!((proxy.grace, proxy.connections_max), (s(15), 100));
    let plan = section.reconciler_options().plan;
    assert_eq!((plan.asks_max, plan.give_up_after), (7, s(7200)));
    assert_eq!(other.asks.as_ref(), Some(&plan));
    let own = first.policy.asks.as_ref().unwrap();
    assert_eq!((own.asks_max, own.give_up_after), (3, s(7200)));
    assert_eq!(own.backoff, plan.backoff);
    assert_eq!(second.policy.asks.as_ref(), Some(&plan));
    let Some(TenantKeys::Tokens(tokens)) = &section.tenants else {
        panic!("{:?}", section.tenants);
    };
    assert_eq!(tokens.len(), 3);
    let shown = format!("{section:?}");
    assert!(
        !shown.contains("0123456789abcdef") && !shown.contains("fedcba"),
        "{shown}"
    );
}

#[test]
fn without_keys_the_defaults_are_those_of_the_guard() {
    let section = loads("[proxy]\nupstream = \"http://127.0.0.1:3000\"\n");
    let options = section.guard_options(worker());
    assert_eq!(options.routes.other, RoutePolicy::default());
    assert_eq!(options.routes.rules, []);
    assert_eq!(section.address().to_string(), "127.0.0.1:8080");
    let tenants = section.tenants.unwrap_or_default();
    assert_eq!(tenants, TenantKeys::One(Tenant::single()));
}

#[test]
fn a_run_may_take_as_long_as_the_lease_and_the_service_unless_something_else_is_said() {
    let run_max = |keys: &str| {
        let text = format!("[proxy]\nupstream = \"http://127.0.0.1:3000\"\n{keys}\n");
        loads(&text).guard_options(worker()).routes.other.run_max
    };
    assert_eq!(run_max(""), s(300));
    assert_eq!(run_max("lease = \"10m\""), s(600));
    assert_eq!(run_max("upstream_timeout = \"20m\""), s(1200));
    assert_eq!(run_max("run_max = \"90s\""), s(90));
}

/// What the command line says stands in the place of `[proxy]`, and a route that says something itself keeps it.
#[test]
fn what_is_said_first_counts_and_routes_stay() {
    let flags = ProxySection {
        upstream_timeout: Some(s(5)),
        all: RouteKeys {
            lease: Some(s(40)),
            keep: Some(Keep::UnlessNothingHappened),
            ..RouteKeys::default()
        },
        tenants: Some(TenantKeys::One(Tenant::new("me").unwrap())),
        ..ProxySection::default()
    };
    let section = flags.over(loads(WHOLE));
    let options = section.guard_options(worker());
    let [first, second] = &options.routes.rules[..] else {
        panic!("{:?}", options.routes.rules);
    };
    assert_eq!(first.policy.request.clocks.lease, s(40));
    assert_eq!(first.policy.request.keep, Keep::Final);
    assert_eq!(second.policy.request.keep, Keep::UnlessNothingHappened);
    assert_eq!(section.proxy_options().upstream_timeout, s(5));
    assert_eq!(section.address().to_string(), "127.0.0.1:8081");
    assert_eq!(section.tenants.unwrap().words(), "one for all, me");
}

#[test]
fn every_fault_is_told_at_once_with_its_place_and_its_remedy() {
    refused(
        r#"
[proxy]
listen = "localhost"
need = "always"
keep = "some"
headers = ["set-cookie"]
lease = "0s"
wait = "soon"
verify = "https://127.0.0.1/"
request_bytes_max = 0
tenant_tokens = { acme = "${SHORT}", "a b" = 5 }
repeated_for = { shop = "2" }
lese = "1s"

[[proxy.route]]
method = "post"

[[proxy.route]]
path = "payments"

[[proxy.route]]
path = "/a/{*rest}/b"
"#,
        &[
            "f:2:2: [proxy] has no upstream; add the service to stand in front of, such as upstream = \"http://127.0.0.1:3000\"",
            "f:3:10: listen \"localhost\" is no address; write an IP address and a port, such as 127.0.0.1:7070",
            "f:4:8: need \"always\" is unknown; give \"required\", \"optional\" or \"off\"",
            "f:5:8: keep \"some\" is unknown; give one of \"all\", \"unless_nothing_happened\", \"final\"",
            "f:6:11: proxy.headers: set-cookie is never replayed, for it belongs to one session or one connection; leave it out",
            "f:7:9: lease is zero; give a time above zero",
            "f:8:8: wait \"soon\" has \"soon\" where a number must stand; write for example \"250ms\", \"10s\", \"2m\", \"42m30s\", \"1h\", \"7d\"",
            "f:9:10: verify is no http:// address; write for example http://127.0.0.1:3000/outcome",
            "f:10:21: request_bytes_max is 0; give a whole number from 1 to 16777216",
            "f:11:26: proxy.tenant_tokens.acme: the token is shorter than 16 bytes; make one with: openssl rand -hex 24",
            "f:11:46: a b is a whole number; give a text in quotes, or a list of them",
            "f:12:25: proxy.repeated_for.shop: \"2\" has no unit after 2; write 2ms, 2s, 2m, 2h or 2d",
            "f:13:1: unknown key \"lese\" in [proxy]; did you mean \"lease\"?",
            "f:15:1: [proxy.route] has no path; add a path, such as path = \"/payments/{id}\"",
            "f:16:10: \"post\" is no method; write it in capitals, such as POST",
            "f:19:8: path \"payments\" does not begin with /; write for example /payments/{id}",
            "f:22:8: path has the segment \"{*rest}\"; write a name, {name} for any one, or {*name} at the end for all that follow",
        ],
    );
}

#[test]
fn contradictions_stand_where_the_key_is_that_they_are_about() {
    refused(
        r#"
[proxy]
upstream = "http://127.0.0.1:3000"
retention = "1d"
tombstone = "2d"
connect_timeout = "2m"
upstream_timeout = "1m"
give_up_after = "30s"
repeated_for = { "the web shop" = "36h" }

[[proxy.route]]
path = "/slow"
run_max = "30s"

[[proxy.route]]
path = "/fast"
tombstone = "1h"
"#,
        &[
            "f:4:13: the web shop repeats for 129600s and answers are kept for 86400s, so the last repetition could get no answer; raise the retention or end the repetitions earlier",
            "f:6:19: connecting may take 120s and the whole answer 60s; lower connect_timeout",
            "f:8:17: give_up_after 30s is not longer than settles_within 60s, so \"did not happen\" could never count; raise give_up_after",
            "f:13:11: run_max is 30s and the lease holds 60s; raise run_max or shorten the lease",
            "f:13:11: a run may take 30s and the service 1m to begin its answer; raise run_max or lower upstream_timeout",
            "f:17:13: a key stays taken for 3600s and its answer is kept for 86400s, so the answer would go with its key; raise the tombstone to the retention or above",
            "f:17:13: the web shop repeats for 129600s and a key stays taken for 3600s, so the last repetition could run a second time; raise the tombstone or end the repetitions earlier",
        ],
    );
}

/// What a route says of its questions is checked against its own clocks, and there is somebody to ask.
#[test]
fn a_plan_of_questions_that_does_not_fit_its_route_is_refused_where_it_stands() {
    refused(
        r#"
[proxy]
upstream = "http://127.0.0.1:3000"
give_up_after = "2h"

[[proxy.route]]
path = "/slow"
settles_within = "3h"

[[proxy.route]]
path = "/short"
retention = "1h"

[[proxy.route]]
path = "/own"
verify = "http://127.0.0.1:3000/outcome"
settles_within = "3h"
give_up_after = "1h"

[[proxy.route]]
path = "/nobody"
asks_max = 3
"#,
        &[
            "f:8:18: give_up_after 7200s is not longer than settles_within 10800s, so \"did not happen\" could never count; raise give_up_after",
            "f:12:13: what became of a request is asked for 7200s and answers are kept for 3600s, so whoever repeats it as long as answers are kept might never be told; lower give_up_after or raise the retention",
            "f:18:17: give_up_after 3600s is not longer than settles_within 10800s, so \"did not happen\" could never count; raise give_up_after",
            "f:22:12: asks_max says how to ask and there is nobody to ask, so a person would decide at once; add verify = \"http://HOST:PORT/PATH\" here or to [proxy], or remove it",
        ],
    );
    // Where nothing is said, the default asks for a day.
    refused(
        "[proxy]\nupstream = \"http://127.0.0.1:3000\"\nsettles_within = \"2d\"\n",
        &[
            "f:3:18: give_up_after 86400s is not longer than settles_within 172800s, so \"did not happen\" could never count; raise give_up_after",
        ],
    );
    // Nor does what is not said contradict what is.
    let section = loads(
        "[proxy]\nupstream = \"http://127.0.0.1:3000\"\nretention = \"1h\"\nasks_max = 5\nverify = \"http://127.0.0.1:1/\"\n",
    );
    assert_eq!(section.reconciler_options().plan.give_up_after, s(3600));
}

#[test]
fn one_address_cannot_be_both() {
    refused(
        "[proxy]\nupstream = \"http://127.0.0.1:3000\"\nlisten = \"127.0.0.1:7000\"\nadmin = \"127.0.0.1:7000\"\n",
        &[
            "f:4:9: admin and listen are both 127.0.0.1:7000, so one of them could not be served; give admin another port",
        ],
    );
}

#[test]
fn a_route_that_is_never_used_is_a_slip() {
    refused(
        "[proxy]\nupstream = \"http://127.0.0.1:3000\"\n[[proxy.route]]\npath = \"/a\"\n[[proxy.route]]\nmethod = \"POST\"\npath = \"/a\"\n",
        &[
            "f:5:1: the route /a is never used, for one before it takes its requests; remove it, or move it up",
        ],
    );
}

#[test]
fn problems_lead_to_a_page_or_nowhere() {
    let text = |page: &str| {
        format!("[proxy]\nupstream = \"http://127.0.0.1:3000\"\ndocumentation = {page:?}\n")
    };
    for page in [
        "https://api.example/keys",
        "http://api.example/#keys",
        "/keys",
    ] {
        let problems = loads(&text(page)).guard_options(worker()).problems;
        let link = problems.documentation.unwrap();
        assert_eq!(link, format!("<{page}>; rel=\"describedby\""));
        assert_eq!(problems.base, "urn:surefoot:problem:");
    }
    for page in ["", "keys", "javascript:x", "/a b", "/a>;rel=\"x"] {
        let expected = format!(
            "f:3:17: proxy.documentation: {page:?} is no address of a page; write https://HOST/PATH, or /PATH of the service"
        );
        refused(&text(page), &[&expected]);
    }
    let bare = loads("[proxy]\nupstream = \"http://127.0.0.1:3000\"\n");
    assert_eq!(bare.guard_options(worker()).problems.documentation, None);
}

#[test]
fn tenants_are_told_apart_in_one_way() {
    let table = [
        (
            "tenant = \"a\"\ntenant_tokens = { a = \"${ACME}\" }",
            "f:4:17: tenants are told apart in two ways; keep one of tenant, tenant_tokens and tenant_header",
        ),
        (
            "tenant_header = \"x-tenant\"",
            "f:3:17: tenant_header is believed from nobody; add the addresses of the proxies that write it: trusted_proxies = [\"10.0.0.7\"]",
        ),
        (
            "trusted_proxies = [\"10.0.0.7\"]",
            "f:3:19: trusted_proxies are named and no header that they write; add tenant_header = \"x-tenant\", or remove trusted_proxies",
        ),
        (
            "tenant_tokens = {}",
            "f:3:17: tenant_tokens names no tenant, so nobody could use a key; add one, such as { acme = \"${ACME_TOKEN}\" }, or remove it",
        ),
        (
            "tenant_tokens = { a = \"${ACME}\", b = \"${ACME}\" }",
            "f:3:38: the tenants a and b have the same token; give each its own",
        ),
        (
            "tenant_header = \"x-tenant\"\ntrusted_proxies = [\"proxy\"]",
            "f:4:19: proxy.trusted_proxies: \"proxy\" is no IP address; write for example 10.0.0.7",
        ),
    ];
    for (keys, expected) in table {
        refused(
            &format!("[proxy]\nupstream = \"http://127.0.0.1:3000\"\n{keys}\n"),
            &[expected],
        );
    }
}

#[test]
fn what_other_machines_reach_asks_for_a_token() {
    refused(
        "[proxy]\nupstream = \"http://127.0.0.1:3000\"\nadmin = \"0.0.0.0:7071\"\n",
        &[
            "f:3:9: 0.0.0.0:7071 can be reached from other machines and there is no token; add admin_tokens = { ops = \"${OPS_TOKEN}\" }, with a token from: openssl rand -hex 24",
        ],
    );
    loads(
        "[proxy]\nupstream = \"http://127.0.0.1:3000\"\nadmin = \"0.0.0.0:7071\"\nadmin_tokens = { ops = \"${ACME}\" }\n",
    );
}

//! How each route is guarded, and which one a request is for. It reads a method and a path; it never looks at a body.

use std::borrow::Cow;
use std::time::Duration;

use axum::extract::MatchedPath;
use http::Method;
use http::request::Parts;
use surefoot_core::effect::VerifyPlan;
use surefoot_core::request::{BODY_BYTES_MAX, Clocks, Horizon, Operation, RequestPolicy};

/// The route of requests that no rule and no router names.
pub const ANY_ROUTE: &str = "*";

/// The most rules.
pub const ROUTES_MAX: usize = 1000;

/// How a route is guarded.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutePolicy {
    /// Whether it takes a key. Default: where one is sent.
    pub need: Need,
    /// What is kept of its answers, and for how long.
    pub request: RequestPolicy,
    /// How long a run may take in all. While it runs its lease is extended; when this is over the outcome is unknown until
    /// its handler or a witness says what became of it. Not below the lease. Default 5 min.
    pub run_max: Duration,
    /// How long a repetition waits for the answer of the run that is under way before it is told 409. Default 0.
    pub wait: Duration,
    /// The largest body of a request that carries a key, in bytes, at most [`BODY_BYTES_MAX`]. Default 1 MiB.
    pub body_bytes_max: usize,
    /// How long such a body may take to arrive. Default 30 s.
    pub body_timeout: Duration,
    /// How long the body of an answer may take before it counts as a stream, which passes and is not kept. Default 10 s.
    pub stream_after: Duration,
    /// What to do when the store does not answer. Default: refuse.
    pub store_away: StoreAway,
    /// How often to ask what became of a request of it whose outcome nobody knows, and when a person decides. It asks for
    /// longer than `settles_within` and not for longer than answers are kept. Default: as the reconciler does
    /// ([`ReconcilerOptions::plan`](crate::ReconcilerOptions::plan)).
    pub asks: Option<VerifyPlan>,
}

/// Whether a route takes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A request without one is refused.
    Required,
    /// A request with one runs once, a request without one is served as if there were no guard.
    Optional,
    /// A key is ignored, and the answer says so.
    Off,
}

/// What to do with a request that carries a key when the store does not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreAway {
    /// Answer 503. Nothing runs that cannot be remembered.
    Refuse,
    /// Run it all the same. It may run twice: only for routes whose effect may happen twice.
    RunUnguarded {
        /// Why that is acceptable here, in words; not empty.
        waiver: String,
    },
}

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// The method; `None` for all.
    pub method: Option<Method>,
    /// The path, segment by segment: `{name}` is any one segment, `{*name}` at the end all that follow. Under axum it is
    /// the pattern of the route.
    pub route: String,
    /// How it is guarded.
    pub policy: RoutePolicy,
}

/// The rules of a service; the first that fits counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routes {
    /// What holds where no rule fits.
    pub other: RoutePolicy,
    /// At most [`ROUTES_MAX`].
    pub rules: Vec<Rule>,
}

impl Default for RoutePolicy {
    fn default() -> Self {
        Self {
            need: Need::Optional,
            request: RequestPolicy::default(),
            run_max: Duration::from_secs(5 * 60),
            wait: Duration::ZERO,
            body_bytes_max: 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            stream_after: Duration::from_secs(10),
            store_away: StoreAway::Refuse,
            asks: None,
        }
    }
}

impl RoutePolicy {
    /// Every contradiction, each with its remedy; empty when the policy is sound.
    #[must_use]
    pub fn validate(&self, horizons: &[Horizon]) -> Vec<String> {
        let mut faults = self.request.validate(None, horizons);
        let lease = self.request.clocks.lease;
        if self.run_max < lease {
            faults.push(format!(
                "run_max is {:?} and the lease holds {lease:?}; raise run_max or shorten the lease",
                self.run_max
            ));
        }
        if self.request.clocks.retention <= self.run_max {
            faults.push(format!(
                "a run may take {:?} and its answer is kept for {:?}; raise the retention or lower run_max",
                self.run_max, self.request.clocks.retention
            ));
        }
        if self.body_bytes_max > BODY_BYTES_MAX {
            faults.push(format!(
                "body_bytes_max is {}, above {BODY_BYTES_MAX}; lower it",
                self.body_bytes_max
            ));
        }
        if self.body_timeout.is_zero() {
            faults.push("body_timeout is 0, so no body could arrive; set 1 s or more".to_owned());
        }
        match &self.store_away {
            StoreAway::RunUnguarded { waiver } if waiver.trim().is_empty() => faults.push(
                "requests may run twice while the store is away and nothing says why that is acceptable; write a waiver, or \
                 refuse them"
                    .to_owned(),
            ),
            StoreAway::RunUnguarded { .. } | StoreAway::Refuse => {}
        }
        if let Some(plan) = &self.asks {
            faults.extend(self.contradicting(plan));
        }
        faults
    }

    /// Why its own plan of questions does not fit it.
    fn contradicting(&self, plan: &VerifyPlan) -> Vec<String> {
        let Clocks {
            settles_within,
            retention,
            ..
        } = self.request.clocks;
        let mut faults = plan.validate(settles_within);
        if plan.give_up_after > retention {
            faults.push(format!(
                "what became of a request is asked for {:?} and answers are kept for {retention:?}, so whoever repeats it as \
                 long as answers are kept might never be told; lower give_up_after or raise the retention",
                plan.give_up_after
            ));
        }
        faults
    }
}

impl Routes {
    /// The same policy for all routes.
    #[must_use]
    pub const fn all(policy: RoutePolicy) -> Self {
        Self {
            other: policy,
            rules: Vec::new(),
        }
    }

    /// Every contradiction with the route that it concerns; empty when all are sound.
    #[must_use]
    pub fn validate(&self, horizons: &[Horizon]) -> Vec<String> {
        let mut faults = self.other.validate(horizons);
        for rule in &self.rules {
            let method = rule.method.as_ref().map_or("any", Method::as_str);
            if let Err(error) = Operation::new(method, &rule.route) {
                faults.push(error.to_string());
            }
            let found = rule.policy.validate(horizons);
            faults.extend(
                found
                    .into_iter()
                    .map(|fault| format!("{}: {fault}", rule.route)),
            );
        }
        if self.rules.len() > ROUTES_MAX {
            faults.push(format!(
                "{} rules, at most {ROUTES_MAX} are taken; use patterns",
                self.rules.len()
            ));
        }
        faults
    }

    /// Why `plan` does not fit the routes that have no plan of their own, each fault once and with the first route that it
    /// concerns.
    pub(crate) fn contradicting(&self, plan: &VerifyPlan) -> Vec<String> {
        let rules = self
            .rules
            .iter()
            .map(|rule| (rule.route.as_str(), &rule.policy));
        let mut told = Vec::new();
        let mut faults = Vec::new();
        for (route, policy) in [("", &self.other)].into_iter().chain(rules) {
            if policy.asks.is_some() {
                continue;
            }
            for fault in plan.validate(policy.request.clocks.settles_within) {
                if told.contains(&fault) {
                    continue;
                }
                faults.push(match route {
                    "" => fault.clone(),
                    route => format!("{route}: {fault}"),
                });
                told.push(fault);
            }
        }
        faults
    }

    /// The policies of all routes.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &RoutePolicy> {
        let rules = self.rules.iter().map(|rule| &rule.policy);
        rules.chain([&self.other])
    }

    /// How requests of an operation are guarded, as [`of`](Self::of) said when they came. An operation that no rule names, such
    /// as one from before a change of the rules, is guarded as all others are.
    #[must_use]
    pub fn of_operation(&self, operation: &Operation) -> &RoutePolicy {
        let fits = |rule: &&Rule| {
            let method = rule.method.as_ref().map(Method::as_str);
            rule.route == operation.route() && method.is_none_or(|name| name == operation.method())
        };
        let rule = self.rules.iter().find(fits);
        rule.map_or(&self.other, |rule| &rule.policy)
    }

    /// The route of a request and how it is guarded. The route is axum's pattern where it matched one, else that of the
    /// rule, else [`ANY_ROUTE`]: the path itself is in the fingerprint anyway.
    #[must_use]
    pub fn of(&self, head: &Parts) -> (String, &RoutePolicy) {
        let matched = head
            .extensions
            .get::<MatchedPath>()
            .map(MatchedPath::as_str);
        let path = normal(head.uri.path());
        let fits = |rule: &&Rule| {
            rule.method
                .as_ref()
                .is_none_or(|method| *method == head.method)
                && match matched {
                    Some(matched) => matched == rule.route,
                    None => covers(&rule.route, &path),
                }
        };
        let rule = self.rules.iter().find(fits);
        let route = matched
            .or(rule.map(|rule| rule.route.as_str()))
            .unwrap_or(ANY_ROUTE);
        (
            route.to_owned(),
            rule.map_or(&self.other, |rule| &rule.policy),
        )
    }
}

/// The path as most services read it, whose rules must not be got round by another spelling of it: `%70` is `p`, `.` and `..`
/// are resolved (RFC 3986, section 6.2.2), and several slashes are one. It serves to find a rule: the path that goes on, and
/// that the fingerprint is of, stays as it was sent.
fn normal(path: &str) -> Cow<'_, str> {
    if !path.contains(['%', '.']) && !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let path = unescaped(path);
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let last = path.rsplit('/').next().unwrap_or_default();
    let end = if matches!(last, "" | "." | "..") && !segments.is_empty() {
        "/"
    } else {
        ""
    };
    Cow::Owned(format!("/{}{end}", segments.join("/")))
}

/// The path with the escapes taken off that need none (RFC 3986, section 2.3).
fn unescaped(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('%') {
        plain.push_str(before);
        let byte = after
            .get(..2)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        let unreserved = byte.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte));
        match unreserved {
            Some(byte) => {
                plain.push(char::from(byte));
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                plain.push('%');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn covers(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    for part in pattern.split('/') {
        if part.starts_with("{*") && part.ends_with('}') {
            return segments.next().is_some();
        }
        let is_any = part.starts_with('{') && part.ends_with('}');
        match segments.next() {
            Some(segment) if segment == part || (is_any && !segment.is_empty()) => {}
            Some(_) | None => return false,
        }
    }
    segments.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_whole_segments() {
        for (pattern, path, expected) in [
            ("/payments", "/payments", true),
            ("/payments", "/payments/", false),
            ("/payments/{id}", "/payments/7", true),
            ("/payments/{id}", "/payments/", false),
            ("/payments/{id}", "/payments/7/refund", false),
            ("/v1/{*rest}", "/v1/a/b", true),
            ("/v1/{*rest}", "/v1", false),
            ("/v1/{*rest}", "/v2/a", false),
        ] {
            assert_eq!(covers(pattern, path), expected, "{pattern} {path}");
        }
    }

    /// A rule that asks for a key would mean nothing if `/%70ayments/7` were another path to it and the same to the service.
    #[test]
    fn a_rule_is_not_got_round_by_another_spelling_of_its_path() {
        for (path, expected) in [
            ("/payments/7", "/payments/7"),
            ("/%70ayments/7", "/payments/7"),
            ("/payments/%37", "/payments/7"),
            ("//payments//7", "/payments/7"),
            ("/x/../payments/./7", "/payments/7"),
            ("/x/%2e%2E/payments/7", "/payments/7"),
            ("/../../payments/7", "/payments/7"),
            ("/payments/7/", "/payments/7/"),
            ("/payments/a.b", "/payments/a.b"),
            ("/payments//", "/payments/"),
            ("/payments/7/..", "/payments/"),
            ("/payments/a%2Fb%", "/payments/a%2Fb%"),
            ("/payments/%zz%e2%82%ac%", "/payments/%zz%e2%82%ac%"),
            ("/.", "/"),
            ("//", "/"),
            ("/", "/"),
            ("*", "*"),
        ] {
            assert_eq!(normal(path), expected, "{path}");
        }
    }

    /// A rule that is told by how long its requests wait.
    fn rule(method: Option<Method>, route: &str, wait: u64) -> Rule {
        Rule {
            method,
            route: route.to_owned(),
            policy: RoutePolicy {
                wait: Duration::from_secs(wait),
                ..RoutePolicy::default()
            },
        }
    }

    #[test]
    fn the_first_rule_that_fits_counts() {
        let routes = Routes {
            rules: vec![
                rule(Some(Method::POST), "/a/{id}", 1),
                rule(None, "/a/{id}", 2),
            ],
            ..Routes::default()
        };
        for (method, path, route, wait) in [
            (Method::POST, "/a/7", "/a/{id}", 1),
            (Method::PUT, "/a/7", "/a/{id}", 2),
            (Method::PUT, "/b", "*", 0),
        ] {
            let request = http::Request::builder().method(method).uri(path).body(());
            let (found, policy) = routes.of(&request.unwrap().into_parts().0);
            assert_eq!(
                (found.as_str(), policy.wait),
                (route, Duration::from_secs(wait))
            );
        }
    }

    #[test]
    fn an_operation_is_guarded_as_its_requests_were() {
        let routes = Routes {
            rules: vec![
                rule(Some(Method::POST), "/a/{id}", 1),
                rule(None, "/a/{id}", 2),
                rule(None, "/{any}/7", 3),
            ],
            ..Routes::default()
        };
        for (method, path) in [
            (Method::POST, "/a/7"),
            (Method::PUT, "/a/7"),
            (Method::PUT, "/b/7"),
            (Method::PUT, "/b"),
        ] {
            let request = http::Request::builder()
                .method(&method)
                .uri(path)
                .body(())
                .unwrap();
            let (route, policy) = routes.of(&request.into_parts().0);
            let operation = Operation::new(method.as_str(), route).unwrap();
            assert_eq!(routes.of_operation(&operation), policy, "{operation}");
        }
    }

    /// A plan of questions fits the clocks of its own route, and that of all others the routes that have none.
    #[test]
    fn a_plan_of_questions_is_checked_against_its_route() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let plan = |give_up_after| VerifyPlan {
            give_up_after,
            ..VerifyPlan::default()
        };
        let policy = |settles_within, asks| {
            let mut policy = RoutePolicy {
                asks,
                ..RoutePolicy::default()
            };
            policy.request.clocks.settles_within = settles_within;
            policy
        };
        let own = |settles_within, give_up_after| policy(settles_within, Some(plan(give_up_after)));
        for (policy, expected) in [
            (own(hours(1), hours(2)), None),
            (own(hours(1), hours(24)), None),
            (
                own(hours(2), hours(2)),
                Some("/a: give_up_after 7200s is not longer than settles_within 7200s"),
            ),
            (
                own(hours(1), hours(25)),
                Some(
                    "/a: what became of a request is asked for 90000s and answers are kept for 86400s",
                ),
            ),
        ] {
            let routes = Routes {
                rules: vec![Rule {
                    method: None,
                    route: "/a".to_owned(),
                    policy,
                }],
                ..Routes::default()
            };
            let told = routes.validate(&[]);
            assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
            for (told, expected) in told.iter().zip(expected) {
                assert!(told.starts_with(expected) && told.contains("; "), "{told}");
            }
            assert_eq!(routes.contradicting(&plan(hours(1))), [""; 0]);
        }
        let rule = |route: &str, policy| Rule {
            method: None,
            route: route.to_owned(),
            policy,
        };
        let routes = Routes {
            rules: vec![
                rule("/slow", policy(hours(3), None)),
                rule("/as-slow", policy(hours(3), None)),
                rule("/own", own(hours(3), hours(4))),
            ],
            ..Routes::default()
        };
        let told = routes.contradicting(&plan(hours(2)));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].starts_with("/slow: give_up_after 7200s is not longer"),
            "{told:?}"
        );
    }

    #[test]
    fn contradictions_are_told_with_their_route() {
        let mut routes = Routes::default();
        assert_eq!(routes.validate(&[]), [""; 0]);
        routes.rules.push(Rule {
            method: None,
            route: "/a".to_owned(),
            policy: RoutePolicy {
                run_max: Duration::from_secs(1),
                body_bytes_max: BODY_BYTES_MAX + 1,
                body_timeout: Duration::ZERO,
                store_away: StoreAway::RunUnguarded {
                    waiver: " ".to_owned(),
                },
                ..RoutePolicy::default()
            },
        });
        let begins = [
            "/a: run_max is 1s",
            "/a: body_bytes_max is",
            "/a: body_timeout is 0",
            "/a: requests may run twice",
        ];
        let told = routes.validate(&[]);
        assert_eq!(told.len(), begins.len(), "{told:?}");
        for (told, begins) in told.iter().zip(begins) {
            assert!(told.starts_with(begins), "{told}");
        }
    }
}

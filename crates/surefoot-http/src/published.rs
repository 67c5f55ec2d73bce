//! What a client must know to use keys here: which routes take one, how it is written, and how long it counts. The draft asks
//! every resource to publish this (sections 2.1 and 2.6); it is read off the rules that are in force, so it cannot be wrong.

use serde_json::{Value, json};
use surefoot_core::request::{FINGERPRINT_VERSION, Keep};

use crate::guard::Guard;
use crate::route::{ANY_ROUTE, Need, RoutePolicy};

impl Guard {
    /// The rules of this guard for its clients, as a JSON object. Serve it where `documentation` of
    /// [`ProblemTypes`](crate::problem::ProblemTypes) points to, or put it into an OpenAPI document. The binary `surefoot`
    /// serves it as `GET /v1/front-door`.
    ///
    /// Times are in seconds. `routes` are in the order in which they count, and end with what holds for all others.
    #[must_use]
    pub fn published(&self) -> Value {
        let routes = &self.options().routes;
        let rules = routes.rules.iter().map(|rule| {
            let method = rule.method.as_ref().map(|method| method.as_str());
            route(method, &rule.route, &rule.policy)
        });
        let mut all: Vec<_> = rules.collect();
        all.push(route(None, ANY_ROUTE, &routes.other));
        json!({
            "header": "Idempotency-Key",
            "format": "1 to 255 visible ASCII characters, as a quoted string or bare; a UUID or as much randomness",
            "scope": "tenant",
            "fingerprint": {
                "version": FINGERPRINT_VERSION,
                "of": ["method", "route", "path", "query", "body"],
                "headers": "not compared",
            },
            "routes": all,
        })
    }
}

fn route(method: Option<&str>, route: &str, policy: &RoutePolicy) -> Value {
    let need = match policy.need {
        Need::Required => "required",
        Need::Optional => "optional",
        Need::Off => "ignored",
    };
    let clocks = &policy.request.clocks;
    json!({
        "method": method,
        "route": route,
        "key": need,
        "kept_s": clocks.retention.as_secs(),
        "taken_s": clocks.tombstone.as_secs(),
        "kept": match policy.request.keep {
            Keep::All => "every answer",
            Keep::UnlessNothingHappened => "every answer, unless nothing happened",
            Keep::Final => "final answers: none of 408, 425, 429 and 5xx",
        },
        "body_bytes_max": policy.body_bytes_max,
        "run_max_s": policy.run_max.as_secs(),
    })
}

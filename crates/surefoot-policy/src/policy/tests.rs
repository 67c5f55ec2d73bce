//! A policy is checked as a whole, survives its text form, and says what it amounts to.

use std::time::Duration;

use super::*;
use crate::breaker::BreakerMode;
use crate::fallback::{FallbackKind, FallbackOptions};
use crate::meta::Criticality;

#[test]
fn the_default_policy_is_sound_and_has_no_warning() {
    assert_eq!(Policy::default().validate(), Vec::<String>::new());
    assert_eq!(Policy::default().explain().warnings, Vec::<String>::new());
    assert_eq!(toml::from_str::<Policy>("").unwrap(), Policy::default());
}

#[test]
fn a_policy_survives_its_text_form() {
    let text = r#"
        criticality = "optional"
        timeout = { connect = "250ms", attempt = "2s", total = "7s" }
        retry = { attempts_max = 4, backoff = { base = "50ms" } }
        rate = { calls = 100, per = "1s", burst = 10 }
        breaker = { slow_after = "800ms", mode = "metrics_only" }
        hedge = { after = "300ms" }
        adaptive = { limit_max = 200 }
        fallback = { kind = "stale" }
        fault = { errors = 0.1 }
    "#;
    let policy: Policy = toml::from_str(text).unwrap();
    assert_eq!(policy.validate(), Vec::<String>::new());
    assert_eq!(
        toml::from_str::<Policy>(&toml::to_string(&policy).unwrap()).unwrap(),
        policy
    );
    let json = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
    assert!(
        toml::from_str::<Policy>("timeuot = {}").is_err(),
        "unknown fields are refused"
    );
}

#[test]
fn every_fault_between_the_parts_is_told_at_once() {
    let mut policy = Policy {
        criticality: Criticality::Optional,
        ..Policy::default()
    };
    policy.timeout.attempt = Duration::from_secs(20);
    policy.breaker.window = Duration::from_secs(30);
    policy.breaker.slow_after = Some(Duration::from_secs(25));
    policy.hedge = toml::from_str("after = \"21s\"").unwrap();
    policy.bulkhead.limit = 0;
    policy.budget.ratio = f64::NAN;
    let faults = policy.validate();
    assert_eq!(faults.len(), 7, "{faults:#?}");
    policy.fallback = Some(FallbackOptions::of(FallbackKind::Value));
    assert_eq!(policy.clone().checked().unwrap_err().faults.len(), 6);
}

#[test]
fn the_worst_case_is_said() {
    let mut policy = Policy::default();
    let explained = policy.explain();
    assert_eq!(
        (explained.sends_max, explained.time_max),
        (3, Duration::from_millis(15_300))
    );
    assert!((explained.sends_per_hundred - 110.0).abs() < 1e-9);
    policy.budget.enabled = false;
    policy.breaker.mode = BreakerMode::Disabled;
    policy.timeout.total = Duration::from_secs(6);
    let explained = policy.explain();
    assert_eq!(explained.time_max, Duration::from_secs(6));
    assert!((explained.sends_per_hundred - 300.0).abs() < 1e-9);
    assert_eq!(explained.warnings.len(), 3, "{explained}");
    assert!(explained.to_string().contains("budget: none"));
}

#[test]
fn what_guards_the_calls_is_said_as_it_is() {
    let mut policy: Policy =
        toml::from_str("breaker = { slow_after = \"800ms\" }\nadaptive = { limit_max = 200 }")
            .unwrap();
    let mut guards = |mode, row| {
        policy.breaker.mode = mode;
        policy.breaker.consecutive_failures = row;
        policy.explain().order
    };
    for (mode, row, line) in [
        (
            BreakerMode::On,
            10,
            "breaker: opens at 50 % of 20 calls within 10s; at 80 % that take 800ms or longer; at 10 failures in a row",
        ),
        (
            BreakerMode::MetricsOnly,
            0,
            "breaker: only says that it would open at 50 % of 20 calls within 10s; at 80 % that take 800ms or longer",
        ),
        (BreakerMode::Disabled, 10, "breaker: off"),
    ] {
        let guards = guards(mode, row);
        assert!(guards.contains(&line.to_owned()), "{guards:#?}");
        assert!(
            guards
                .iter()
                .any(|guard| guard.starts_with("bulkhead: 4 to 200 out as the latency allows, ")),
            "{guards:#?}"
        );
    }
}

//! The policy in outages: the retry storm that the budget prevents, and how soon calls come back.

use std::sync::Arc;
use std::time::Duration;

use surefoot_policy::breaker::BreakerMode;
use surefoot_policy::clock::{Clock, Moment, SeededDice};
use surefoot_policy::meaning::Meaning;
use surefoot_policy::{Dependency, Meta, Policy};
use surefoot_testkit::outage::{Met, Outage, OutageReport, ScriptedDependency, Weather};
use tokio::time::Instant;

/// The runtime's virtual time, counted from the begin of the outage: windows and buckets begin alike in each run.
struct FromZero(Instant);

impl Clock for FromZero {
    fn now(&self) -> Moment {
        Moment::from_nanos(1 << 44).after(self.0.elapsed())
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A hundred calls a second through the whole script, behind a policy.
fn outage(policy: Policy, script: &[(Duration, Weather)], seed: u64) -> OutageReport {
    let outage = Outage {
        script: script.to_vec(),
        seed: seed ^ 0xABCD,
        calls_per_second: 100,
    };
    let protect = || {
        let (clock, dice) = (FromZero(Instant::now()), SeededDice::new(seed));
        Dependency::with_sources("psp", policy, Some(Arc::new(clock)), Some(Arc::new(dice)))
            .unwrap()
    };
    let call = |dependency: Dependency, scripted: Arc<ScriptedDependency>| async move {
        let sends = |_| async {
            match scripted.send().await {
                Met::Answered => Ok(()),
                Met::Refused => Err(Meaning::NOT_SENT),
                Met::Failed => Err(Meaning::TRANSIENT),
            }
        };
        dependency.call(&Meta::idempotent(), sends).await.is_ok()
    };
    outage.run(protect, call).unwrap()
}

fn policy(budget: bool, breaker: bool) -> Policy {
    let mut policy: Policy = toml::from_str(
        r#"
        timeout = { connect = "100ms", attempt = "1s", total = "6s" }
        retry = { attempts_max = 4, backoff = { base = "50ms", cap = "500ms" } }
        bulkhead = { limit = 2000 }
        breaker = { open_for = "1s", open_for_max = "5s", ramp = "1s" }
        "#,
    )
    .unwrap();
    policy.budget.enabled = budget;
    policy.breaker.mode = if breaker {
        BreakerMode::On
    } else {
        BreakerMode::Disabled
    };
    policy
}

const SCRIPTS: [&[(Duration, Weather)]; 4] = [
    &[
        (Duration::from_secs(5), Weather::Fair),
        (Duration::from_secs(20), Weather::Blackhole),
    ],
    &[
        (Duration::from_secs(5), Weather::Fair),
        (Duration::from_secs(20), Weather::Down),
    ],
    &[
        (Duration::from_secs(5), Weather::Fair),
        (
            Duration::from_secs(20),
            Weather::Brownout { per_second: 60 },
        ),
    ],
    &[
        (Duration::from_secs(5), Weather::Fair),
        (Duration::from_secs(20), Weather::Flapping),
    ],
];

#[test]
fn the_same_seed_gives_the_same_report() {
    for script in SCRIPTS {
        assert_eq!(
            outage(policy(true, true), script, 7),
            outage(policy(true, true), script, 7),
            "{script:?}"
        );
    }
    assert_ne!(
        outage(policy(true, true), SCRIPTS[3], 7),
        outage(policy(true, true), SCRIPTS[3], 8)
    );
}

#[test]
fn without_a_budget_there_is_a_retry_storm_and_with_it_there_is_none() {
    for script in [SCRIPTS[1], SCRIPTS[2]] {
        let storm = outage(policy(false, false), script, 1);
        let calm = outage(policy(true, false), script, 1);
        assert!(storm.amplification() > 2.0, "{storm:?}");
        assert!(calm.amplification() < 1.12, "{calm:?}");
        println!("{script:?}\n  without {storm:?}\n  with    {calm:?}");
    }
}

#[test]
fn in_a_brownout_the_budget_keeps_what_the_dependency_can_do() {
    let storm = outage(policy(false, false), SCRIPTS[2], 2);
    let calm = outage(policy(true, false), SCRIPTS[2], 2);
    assert!(calm.sends * 2 < storm.sends, "{calm:?} {storm:?}");
    assert!(calm.recovery <= storm.recovery, "{calm:?} {storm:?}");
}

#[test]
fn the_breaker_spares_a_dead_dependency_and_calls_come_back_soon() {
    for script in [SCRIPTS[0], SCRIPTS[1]] {
        let report = outage(policy(true, true), script, 3);
        assert!(report.sends < report.calls, "{report:?}");
        assert!(
            report.recovery.is_some_and(|after| after <= secs(7)),
            "{report:?}"
        );
    }
}

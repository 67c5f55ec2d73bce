//! Outages in virtual time: seeded callers, a scripted dependency, and a report that is the same for the same
//! seed. It shows the retry storm that the budget prevents.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use surefoot_policy::breaker::BreakerMode;
use surefoot_policy::clock::{Clock, Dice, Moment, SeededDice};
use surefoot_policy::meaning::Meaning;
use surefoot_policy::{Dependency, Meta, Policy};
use tokio::time::Instant;

/// What the dependency does for a while.
#[derive(Clone, Copy, Debug)]
enum Weather {
    /// It answers in 20 ms, seldom in 200 ms.
    Fair,
    /// It answers nothing.
    Blackhole,
    /// It refuses each connection.
    Down,
    /// It can do so many calls per second and fails the rest, late.
    Brownout { per_second: usize },
    /// It changes between fair and down every second.
    Flapping,
}

/// A dependency that follows a script.
struct Scripted {
    script: Vec<(Duration, Weather)>,
    started: Instant,
    dice: SeededDice,
    /// When each send arrived.
    sends: Mutex<Vec<Duration>>,
}

impl Scripted {
    async fn answer(&self) -> Result<(), Meaning> {
        let now = self.started.elapsed();
        let recent = {
            let mut sends = self.sends.lock().unwrap();
            sends.push(now);
            sends
                .iter()
                .rev()
                .take_while(|at| now.saturating_sub(**at) < Duration::from_secs(1))
                .count()
        };
        let usual = if self.dice.roll().fraction() < 0.02 {
            200
        } else {
            20
        };
        match self.weather(now) {
            Weather::Fair => {
                tokio::time::sleep(Duration::from_millis(usual)).await;
                Ok(())
            }
            Weather::Blackhole => std::future::pending().await,
            Weather::Down => Err(Meaning::NOT_SENT),
            Weather::Brownout { per_second } => {
                let fails = recent > per_second;
                tokio::time::sleep(Duration::from_millis(if fails { 300 } else { usual })).await;
                if fails {
                    Err(Meaning::TRANSIENT)
                } else {
                    Ok(())
                }
            }
            Weather::Flapping if now.as_secs().is_multiple_of(2) => Err(Meaning::NOT_SENT),
            Weather::Flapping => Ok(()),
        }
    }

    fn weather(&self, now: Duration) -> Weather {
        let mut end = Duration::ZERO;
        for (lasts, weather) in &self.script {
            end += *lasts;
            if now < end {
                return *weather;
            }
        }
        Weather::Fair
    }
}

/// The runtime's virtual time, counted from the begin of the outage: windows and buckets begin alike in each run.
struct FromZero(Instant);

impl Clock for FromZero {
    fn now(&self) -> Moment {
        Moment::from_nanos(1 << 44).after(self.0.elapsed())
    }
}

/// What an outage did.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Report {
    calls: usize,
    succeeded: usize,
    sends: usize,
    /// From the end of the script until nine of ten calls within a second succeed.
    recovery: Option<Duration>,
}

impl Report {
    fn amplification(&self) -> f64 {
        self.sends as f64 / self.calls as f64
    }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A hundred calls a second through the whole script and ten seconds of fair weather after it.
fn outage(policy: Policy, script: &[(Duration, Weather)], seed: u64) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (clock, dice) = (FromZero(Instant::now()), SeededDice::new(seed));
        let dependency =
            Dependency::with_sources("psp", policy, Some(Arc::new(clock)), Some(Arc::new(dice)))
                .unwrap();
        let ends: Duration = script.iter().map(|(lasts, _)| *lasts).sum();
        let scripted = Arc::new(Scripted {
            script: script.to_vec(),
            started: Instant::now(),
            dice: SeededDice::new(seed ^ 0xABCD),
            sends: Mutex::default(),
        });
        let total = (ends + secs(10)).as_millis() as usize / 10;
        let mut callers = Vec::new();
        for _ in 0..total {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let (dependency, scripted) = (dependency.clone(), Arc::clone(&scripted));
            callers.push(tokio::spawn(async move {
                let began = scripted.started.elapsed();
                let made = dependency
                    .call(&Meta::idempotent(), |_| scripted.answer())
                    .await;
                (began, made.is_ok())
            }));
        }
        let mut ended = Vec::new();
        for caller in callers {
            ended.push(caller.await.unwrap());
        }
        let sends = scripted.sends.lock().unwrap().len();
        let succeeded = ended.iter().filter(|(_, ok)| *ok).count();
        Report {
            calls: total,
            succeeded,
            sends,
            recovery: recovery(&ended, ends),
        }
    })
}

fn recovery(ended: &[(Duration, bool)], ends: Duration) -> Option<Duration> {
    (0..100_u32)
        .map(|step| ends + Duration::from_millis(100) * step)
        .find_map(|from| {
            let within: Vec<bool> = ended
                .iter()
                .filter(|(began, _)| (from..from + secs(1)).contains(began))
                .map(|(_, ok)| *ok)
                .collect();
            let good = within.iter().filter(|ok| **ok).count();
            (within.len() >= 90 && good * 10 >= within.len() * 9).then(|| from.saturating_sub(ends))
        })
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

//! Every time and address, from the environment. Two times are told, the longest that a charge and that the widget may take; all
//! others follow from them, so their order stays: the call below the effect, that below the attempt, that below the lease.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use surefoot::checklist::{Answers, Checklist, EffectAnswers, VerifyFacts};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::effect::EffectRecovery;
use surefoot::{JobPolicy, Recovery, VerifyPlan};
use surefoot_policy::fallback::{FallbackKind, FallbackOptions};
use surefoot_policy::{Criticality, Policy};

use crate::charge::{self, Charge};
use crate::exports::Export;
use crate::{Fault, provider, recommendations};

/// How often a charge that was refused for the moment is tried before a person looks.
const CHARGES_MAX: u32 = 10;
/// How often the provider is asked what became of a charge before a person looks.
const ASKS_MAX: u32 = 100;
/// How many pages may wait for the widget at once; the others are served without it.
const WIDGETS_AT_ONCE: u32 = 20;

/// What the service is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `SHOP_DATABASE`: the SQLite file of jobs, requests, messages and orders. Default `shop.db`.
    pub database: PathBuf,
    /// `SHOP_EXPORTS`: the folder of the exported files. Default `exports`.
    pub exports: PathBuf,
    /// `SHOP_LISTEN`: where customers are served. Default 127.0.0.1:8080; 0 chooses a port.
    pub listen: SocketAddr,
    /// `SHOP_OPERATORS`: where operators see and steer; loopback, for it asks for no token. Default 127.0.0.1:8081.
    pub operators: SocketAddr,
    /// `SHOP_CUSTOMERS`: who may buy, as `ada=token,bob=token`. Default: whoever is on this machine, as one customer.
    pub customers: Vec<(String, String)>,
    /// `SHOP_PROVIDER`: the payment provider. Default `http://127.0.0.1:8090`, the stand-in.
    pub provider: String,
    /// `SHOP_RECOMMENDATIONS`: the recommendation service. Default `http://127.0.0.1:8090`, the stand-in.
    pub recommendations: String,
    /// `SHOP_CHARGE_SECONDS`: the longest that one call of the provider may take. Default 10.
    pub charge: Duration,
    /// `SHOP_WIDGET_SECONDS`: the longest that a page waits for the widget. Default 0.15.
    pub widget: Duration,
}

impl Settings {
    /// What the environment says.
    ///
    /// # Errors
    /// A variable that cannot be read, by its name.
    pub fn read() -> Result<Self, Fault> {
        let customers: String = parsed("SHOP_CUSTOMERS", "")?;
        let customer = |pair: &str| {
            let (name, token) = pair
                .split_once('=')
                .ok_or("SHOP_CUSTOMERS is no name=token")?;
            Ok::<_, Fault>((name.to_owned(), token.to_owned()))
        };
        let pairs = customers.split(',').filter(|pair| !pair.is_empty());
        Ok(Self {
            database: parsed("SHOP_DATABASE", "shop.db")?,
            exports: parsed("SHOP_EXPORTS", "exports")?,
            listen: parsed("SHOP_LISTEN", "127.0.0.1:8080")?,
            operators: parsed("SHOP_OPERATORS", "127.0.0.1:8081")?,
            customers: pairs.map(customer).collect::<Result<_, _>>()?,
            provider: parsed("SHOP_PROVIDER", "http://127.0.0.1:8090")?,
            recommendations: parsed("SHOP_RECOMMENDATIONS", "http://127.0.0.1:8090")?,
            charge: seconds("SHOP_CHARGE_SECONDS", "10")?,
            widget: seconds("SHOP_WIDGET_SECONDS", "0.15")?,
        })
    }

    /// How the provider is called: once for each attempt of the job, which is the one layer that tries again.
    #[must_use]
    pub fn provider_policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.retry.attempts_max = 1;
        policy.timeout.connect = policy.timeout.connect.min(self.charge / 2);
        policy.timeout.attempt = self.charge;
        policy.timeout.total = self.charge;
        policy.breaker.window = policy.breaker.window.max(self.charge.saturating_mul(4));
        policy.breaker.probe_lease = policy.breaker.probe_lease.max(self.charge);
        policy
    }

    /// How the recommendation service is called: never for long, never by many, and the page does without it.
    #[must_use]
    pub fn widget_policy(&self) -> Policy {
        let mut policy = Policy {
            criticality: Criticality::Optional,
            fallback: Some(FallbackOptions::of(FallbackKind::Stale)),
            ..Policy::default()
        };
        policy.retry.attempts_max = 1;
        policy.timeout.connect = self.widget / 2;
        policy.timeout.attempt = self.widget;
        policy.timeout.total = self.widget;
        policy.bulkhead.limit = WIDGETS_AT_ONCE;
        policy.bulkhead.queue_max = 0;
        policy.breaker.consecutive_failures = 5;
        policy
    }

    /// The longest that the charge may take as an effect.
    #[must_use]
    pub fn effect_timeout(&self) -> Duration {
        self.charge.saturating_add(self.charge / 4)
    }

    /// The longest that one question may take.
    #[must_use]
    pub fn ask_timeout(&self) -> Duration {
        self.charge / 2
    }

    /// How long after a call left the provider may still take the money: what its contract says, above its time-out.
    #[must_use]
    pub fn settles_within(&self) -> Duration {
        self.charge.saturating_mul(4)
    }

    /// How the provider is asked.
    #[must_use]
    pub fn ask_plan(&self) -> VerifyPlan {
        VerifyPlan {
            backoff: self.backoff(),
            asks_max: ASKS_MAX,
            ..VerifyPlan::default()
        }
    }

    /// How an order is charged. An attempt has room for a question and a call.
    #[must_use]
    pub fn charge_job(&self) -> JobPolicy {
        JobPolicy {
            timeout: self.charge.saturating_mul(2),
            lease: self.charge.saturating_mul(3),
            attempts_max: CHARGES_MAX,
            backoff: self.backoff(),
            ..JobPolicy::default()
        }
    }

    /// How an export is written. A second run writes the same file.
    #[must_use]
    pub fn export_job(&self) -> JobPolicy {
        JobPolicy {
            recovery: Some(Recovery::Repeatable),
            ..JobPolicy::default()
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::Exponential {
            base: self.charge / 10,
            factor: 2.0,
            cap: self.charge.saturating_mul(30),
            jitter: Jitter::Full,
        }
    }

    /// What is asked before anything runs (`shop check`): the answers for both kinds and all dependencies.
    ///
    /// # Errors
    /// A kind whose name does not fit.
    pub fn checklist(&self) -> Result<Checklist, Fault> {
        let policy = self.provider_policy();
        let recovery = EffectRecovery::Verify {
            settles_within: self.settles_within(),
        };
        let charge = Answers {
            side_effect: Some("takes the money of an order".to_owned()),
            effects: vec![EffectAnswers {
                name: charge::EFFECT.to_owned(),
                recovery,
                verify: Some(VerifyFacts {
                    what: "GET /charges/{key}".to_owned(),
                    plan: self.ask_plan(),
                }),
                call: Some(policy.call_facts(provider::NAME, recovery)),
            }],
            alert: Some(
                "pages the payments team, by surefoot_dead_letters at the operators' port"
                    .to_owned(),
            ),
            waivers: Vec::new(),
        };
        let export = Answers {
            side_effect: Some("writes a file that is called after the job".to_owned()),
            effects: Vec::new(),
            alert: Some(
                "the shop team, by surefoot_dead_letters at the operators' port".to_owned(),
            ),
            waivers: Vec::new(),
        };
        let list = Checklist::new()
            .job::<Charge>(self.charge_job(), charge)?
            .job::<Export>(self.export_job(), export)?;
        Ok(list
            .dependency(policy.facts(provider::NAME))
            .dependency(policy.facts(provider::QUESTIONS))
            .dependency(self.widget_policy().facts(recommendations::NAME)))
    }
}

fn seconds(name: &str, default: &str) -> Result<Duration, Fault> {
    let seconds: f64 = parsed(name, default)?;
    Duration::try_from_secs_f64(seconds).map_err(|error| format!("{name}: {error}").into())
}

fn parsed<T>(name: &str, default: &str) -> Result<T, Fault>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    let text = std::env::var(name).unwrap_or_else(|_| default.to_owned());
    text.parse()
        .map_err(|error| format!("{name} is {text:?}: {error}").into())
}

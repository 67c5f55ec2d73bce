//! Every time and address, from the environment, and what follows from them. The times keep one order whatever they are: HTTP
//! below the attempt of the job, and that below its lease.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use surefoot::checklist::{Answers, Checklist, EffectAnswers, FaultName, VerifyFacts, Waiver};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::effect::EffectRecovery;
use surefoot::{JobPolicy, VerifyPlan};
use surefoot_policy::Policy;

use crate::message::{Class, Message};
use crate::{Fault, provider};

/// How often a temporary fault may end an attempt before a person looks.
const TRIES_MAX: u32 = 5;

/// What the service is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `MAIL_DATABASE`: the SQLite file. Default `mail.db`.
    pub database: PathBuf,
    /// `MAIL_LISTEN`: where callers are served. Default 127.0.0.1:8080; port 0 chooses one.
    pub listen: SocketAddr,
    /// `MAIL_PROVIDER`: where the provider is. Default `http://127.0.0.1:8090`, the stand-in.
    pub provider: String,
    /// `MAIL_HTTP_SECONDS`: the longest that one call may take. Default 10.
    pub http: Duration,
    /// `MAIL_JOB_SECONDS`: the longest that one attempt may take. Default 20.
    pub job: Duration,
    /// `MAIL_LEASE_SECONDS`: how long a worker that went silent is waited for. Default 30.
    pub lease: Duration,
    /// `MAIL_SETTLES_SECONDS`: how long after a call the provider may still send. Default 120.
    pub settles: Duration,
    /// `MAIL_WAIT_SECONDS`: the wait after the first temporary fault; each further one is four times as long. Default 30.
    pub wait: Duration,
}

impl Settings {
    /// What the environment says.
    ///
    /// # Errors
    /// A variable that cannot be read, by its name.
    pub fn read() -> Result<Self, Fault> {
        Ok(Self {
            database: parsed("MAIL_DATABASE", "mail.db")?,
            listen: parsed("MAIL_LISTEN", "127.0.0.1:8080")?,
            provider: parsed("MAIL_PROVIDER", "http://127.0.0.1:8090")?,
            http: seconds("MAIL_HTTP_SECONDS", "10")?,
            job: seconds("MAIL_JOB_SECONDS", "20")?,
            lease: seconds("MAIL_LEASE_SECONDS", "30")?,
            settles: seconds("MAIL_SETTLES_SECONDS", "120")?,
            wait: seconds("MAIL_WAIT_SECONDS", "30")?,
        })
    }

    /// How messages are sent. Each effect says what its loss means, so the job needs no recovery of its own: a worker that
    /// dies before it came to the effect has sent nothing.
    #[must_use]
    pub fn job_policy(&self) -> JobPolicy {
        JobPolicy {
            timeout: self.job,
            lease: self.lease,
            attempts_max: TRIES_MAX,
            backoff: self.backoff(),
            ..JobPolicy::default()
        }
    }

    /// How the provider is asked about a receipt.
    #[must_use]
    pub fn plan(&self) -> VerifyPlan {
        VerifyPlan {
            backoff: self.backoff(),
            ..VerifyPlan::default()
        }
    }

    /// How the provider is called: once for each attempt of the job.
    #[must_use]
    pub fn provider_policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.retry.attempts_max = 1;
        policy.timeout.connect = policy.timeout.connect.min(self.http / 2);
        policy.timeout.attempt = self.http;
        policy.timeout.total = self.http;
        policy.breaker.window = policy.breaker.window.max(self.http.saturating_mul(4));
        policy.breaker.probe_lease = policy.breaker.probe_lease.max(self.http);
        policy
    }

    /// What is asked before anything runs (`mail check`): a message comes to one of three effects.
    ///
    /// # Errors
    /// A kind whose name does not fit.
    pub fn checklist(&self) -> Result<Checklist, Fault> {
        let policy = self.provider_policy();
        let effect = |class: Class| {
            let recovery = class.recovery(self);
            let (what, plan) = ("GET /messages/{key}".to_owned(), self.plan());
            EffectAnswers {
                name: class.effect().to_owned(),
                recovery,
                verify: matches!(recovery, EffectRecovery::Verify { .. })
                    .then_some(VerifyFacts { what, plan }),
                call: Some(policy.call_facts(provider::NAME, recovery)),
            }
        };
        let answers = Answers {
            side_effect: Some("sends a message to a person".to_owned()),
            effects: Class::ALL.map(effect).into(),
            alert: Some("the team on call, by surefoot_dead_letters".to_owned()),
            waivers: vec![Waiver {
                fault: FaultName::AtMostOnceRetries,
                reason: "a code that the provider refused, or that never left, is tried again"
                    .to_owned(),
            }],
        };
        let list = Checklist::new().job::<Message>(self.job_policy(), answers)?;
        Ok(list.dependency(policy.facts(provider::NAME)))
    }

    fn backoff(&self) -> Backoff {
        Backoff::Exponential {
            base: self.wait,
            factor: 4.0,
            cap: self.wait.saturating_mul(64),
            jitter: Jitter::Equal,
        }
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

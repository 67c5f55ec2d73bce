//! Every time and address, from the environment. The times keep one order whatever they are: HTTP below the attempt of the
//! job, and that below its lease.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use surefoot::checklist::{Answers, Checklist, EffectAnswers};
use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::effect::EffectRecovery;
use surefoot::{JobPolicy, Recovery};
use surefoot_policy::Policy;

use crate::grading::{self, Grade};
use crate::{Fault, model};

/// How often a temporary fault may end an attempt before the work waits for a person.
const TRIES_MAX: u32 = 3;
/// How much longer than the last wait the one before it is not.
const SLOWER: u32 = 3;

/// What the service is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `AI_JUDGE_DATABASE`: the SQLite file of jobs and grades. Default `ai-judge.db`.
    pub database: PathBuf,
    /// `AI_JUDGE_LISTEN`: where students are served. Default 127.0.0.1:8080; 0 chooses a port.
    pub listen: SocketAddr,
    /// `AI_JUDGE_OPERATORS`: where operators see and steer the jobs; loopback, for it asks for no token. Default
    /// 127.0.0.1:8081.
    pub operators: SocketAddr,
    /// `AI_JUDGE_MODEL`: where the model answers to `POST`. Default `http://127.0.0.1:8090/grade`, the stand-in.
    pub model: String,
    /// `AI_JUDGE_MODEL_TOKEN`: sent as a bearer token. Default: none.
    pub token: Option<String>,
    /// `AI_JUDGE_HTTP_SECONDS`: the longest that one call of the model may take. Default 120.
    pub http: Duration,
    /// `AI_JUDGE_JOB_SECONDS`: the longest that one attempt may take. Default 150.
    pub job: Duration,
    /// `AI_JUDGE_LEASE_SECONDS`: how long a worker that went silent is waited for. Default 170.
    pub lease: Duration,
    /// `AI_JUDGE_WAIT_SECONDS`: the wait after the first temporary fault; the next one is three times as long. Default 10.
    pub wait: Duration,
}

impl Settings {
    /// What the environment says.
    ///
    /// # Errors
    /// A variable that cannot be read, by its name.
    pub fn read() -> Result<Self, Fault> {
        Ok(Self {
            database: parsed("AI_JUDGE_DATABASE", "ai-judge.db")?,
            listen: parsed("AI_JUDGE_LISTEN", "127.0.0.1:8080")?,
            operators: parsed("AI_JUDGE_OPERATORS", "127.0.0.1:8081")?,
            model: parsed("AI_JUDGE_MODEL", "http://127.0.0.1:8090/grade")?,
            token: std::env::var("AI_JUDGE_MODEL_TOKEN").ok(),
            http: seconds("AI_JUDGE_HTTP_SECONDS", "120")?,
            job: seconds("AI_JUDGE_JOB_SECONDS", "150")?,
            lease: seconds("AI_JUDGE_LEASE_SECONDS", "170")?,
            wait: seconds("AI_JUDGE_WAIT_SECONDS", "10")?,
        })
    }

    /// How the job is run. The job is what tries again, and nothing below it does.
    #[must_use]
    pub fn job_policy(&self) -> JobPolicy {
        JobPolicy {
            timeout: self.job,
            lease: self.lease,
            attempts_max: TRIES_MAX,
            backoff: Backoff::List {
                delays: vec![self.wait, self.wait.saturating_mul(SLOWER)],
                jitter: Jitter::Equal,
            },
            // A worker that dies while the model thinks costs one more question; see `grading`.
            recovery: Some(Recovery::Repeatable),
            ..JobPolicy::default()
        }
    }

    /// How the model is called: once for each attempt of the job.
    #[must_use]
    pub fn model_policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.retry.attempts_max = 1;
        policy.timeout.connect = policy.timeout.connect.min(self.http / 2);
        policy.timeout.attempt = self.http;
        policy.timeout.total = self.http;
        policy.breaker.window = policy.breaker.window.max(self.http.saturating_mul(4));
        policy.breaker.probe_lease = policy.breaker.probe_lease.max(self.http);
        policy
    }

    /// What is asked before anything runs (`ai-judge check`): the answers of the service for its one kind and its one dependency.
    ///
    /// # Errors
    /// A kind whose name does not fit.
    pub fn checklist(&self) -> Result<Checklist, Fault> {
        let (policy, recovery) = (self.model_policy(), EffectRecovery::Repeatable);
        let answers = Answers {
            side_effect: Some("asks the model, which bills each question".to_owned()),
            effects: vec![EffectAnswers {
                name: grading::EFFECT.to_owned(),
                recovery,
                verify: None,
                call: Some(policy.call_facts(model::NAME, recovery)),
            }],
            alert: Some(
                "the course team, by surefoot_dead_letters at the operators' port".to_owned(),
            ),
            waivers: Vec::new(),
        };
        let list = Checklist::new().job::<Grade>(self.job_policy(), answers)?;
        Ok(list.dependency(policy.facts(model::NAME)))
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

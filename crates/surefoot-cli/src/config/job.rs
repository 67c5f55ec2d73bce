//! `[job.KIND]`: how a kind is run, and for kinds with a dependency what the engine calls. It joins the time limits of
//! both and asks core whether they can work together.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use reqwest::header::HeaderMap;
use surefoot_core::policy::JobPolicy;
use surefoot_core::timeouts::TimeoutLadder;

use super::answers::{self, Answers};
use super::backoff;
use super::dependency::{Dependency, headers};
use super::environment::Environment;
use super::fault::Span;
use super::recovery::{self, CallRecovery};
use super::section::{Field, Section};

/// Room between the time of the call and the job's time-out when the latter is not given: the time-out of the call,
/// which says more, fires first.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(1);
/// The most attempts and crashes that may be asked for.
pub(super) const TRIES_MAX: u32 = 1000;
/// The highest concurrency that may be asked for.
pub(super) const CONCURRENCY_MAX: u32 = 100_000;
/// The methods that carry the payload as a body.
pub(super) const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

/// A kind that the file declares.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JobKind {
    /// How it is run.
    pub(crate) policy: JobPolicy,
    /// What the engine calls; `None` for a kind that pull workers run.
    pub(crate) request: Option<Request>,
    /// What its author answers in words.
    pub(crate) answers: Answers,
}

/// What the engine calls for a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// The service.
    pub(crate) dependency: Arc<Dependency>,
    /// The method, one of POST, PUT, PATCH and DELETE.
    pub(crate) method: Method,
    /// The path, with its query if it has one; starts with a slash.
    pub(crate) path: String,
    /// Sent with each call, over those of the dependency.
    pub(crate) headers: HeaderMap,
    /// What an unknown outcome allows.
    pub(crate) recovery: CallRecovery,
    /// The longest that one call may take, with everything that its policy makes of it: within the attempt of the job.
    pub(crate) call_max: Duration,
}

/// Dependencies by name; `None` for one that is declared but wrong.
pub(super) type Dependencies = BTreeMap<String, Option<Arc<Dependency>>>;

/// Reads one kind; `None` when something of it is wrong.
pub(super) fn read(
    section: &Section<'_>,
    dependencies: &Dependencies,
    environment: Environment<'_>,
) -> Option<JobKind> {
    let dependency = dependency(section, dependencies);
    let calls = dependency != Field::Absent;
    let request = request(section, calls, environment);
    let (of_request, of_workers) = if calls {
        (recovery::of_request(section), Field::Absent)
    } else {
        (Field::Absent, recovery::of_workers(section))
    };
    let backoff = backoff::read(section);
    let limits = Limits::read(section);
    let counts = Counts::read(section);
    let answers = answers::of_kind(section);
    section.finish();

    let dependency = dependency.optional()?;
    let (timeout, lease) = limits.resolve(section, dependency.as_deref())?;
    let counts = counts?;
    let policy = JobPolicy {
        timeout,
        lease,
        attempts_max: counts.attempts_max,
        crashes_max: counts.crashes_max,
        backoff: backoff?,
        // What a call leaves in doubt is on record as an effect, which knows its own recovery.
        recovery: of_workers.optional()?,
        deadline: limits.deadline.clone().optional()?,
        concurrency_max: counts.concurrency,
        concurrency_per_key_max: counts.concurrency_per_key,
    };
    limits.check_policy(section, &policy)?;
    let request = match (dependency, request?, of_request) {
        (Some(dependency), Some((method, path, headers)), Field::Given(recovery, span)) => {
            let call_max = dependency.policy.timeout.total.min(policy.timeout);
            recovery::check(section, &span, &recovery, call_max, &policy)?;
            Some(Request {
                dependency,
                method,
                path,
                headers,
                recovery,
                call_max,
            })
        }
        (Some(_), Some(_), Field::Absent | Field::Faulty) => return None,
        (Some(_), None, _) | (None, _, _) => None,
    };
    Some(JobKind {
        policy,
        request,
        answers: answers?,
    })
}

fn dependency(section: &Section<'_>, dependencies: &Dependencies) -> Field<Arc<Dependency>> {
    let (name, span) = match section.text("dependency") {
        Field::Absent => return Field::Absent,
        Field::Faulty => return Field::Faulty,
        Field::Given(name, span) => (name, span),
    };
    match dependencies.get(name) {
        Some(Some(dependency)) => Field::Given(Arc::clone(dependency), span),
        Some(None) => Field::Faulty,
        None => {
            let known: Vec<&str> = dependencies.keys().map(String::as_str).collect();
            let remedy = match known.as_slice() {
                [] => format!("add a section [dependency.{name}]"),
                known => format!(
                    "add a section [dependency.{name}], or use one of: {}",
                    known.join(", ")
                ),
            };
            section
                .faults
                .note(span, format!("there is no dependency {name:?}"), remedy);
            Field::Faulty
        }
    }
}

type RequestLine = (Method, String, HeaderMap);

/// The outer `None` when it is wrong, the inner one for a kind that calls nothing.
fn request(
    section: &Section<'_>,
    calls: bool,
    environment: Environment<'_>,
) -> Option<Option<RequestLine>> {
    let declared = section.value("request").is_some();
    let Some(table) = section.section("request") else {
        if calls && !declared {
            section.missing(
                "request",
                "add for example request = { method = \"POST\", path = \"/send\" }",
            );
        }
        return (!calls && !declared).then_some(None);
    };
    if !calls {
        let what = format!(
            "[{}] has a request and no dependency to send it to",
            section.name
        );
        section.faults.note(
            table.header.clone(),
            what,
            "add dependency = \"NAME\", or remove the request",
        );
    }
    let method = table
        .text("method")
        .check(section.faults, method)
        .or(Method::POST);
    let path = table.text("path").check(section.faults, path);
    let headers = headers(&table, environment);
    if path == Field::Absent {
        table.missing("path", "add for example path = \"/send\"");
    }
    table.finish();
    Some(Some((method?, path.optional()??, headers?)))
}

fn method(text: &str) -> Result<Method, String> {
    match METHODS.iter().find(|method| **method == text) {
        Some(method) => {
            Method::from_bytes(method.as_bytes()).map_err(|refusal| refusal.to_string())
        }
        None => Err(format!(
            "method {text:?} cannot carry the payload as a body; use one of: {}",
            METHODS.join(", ")
        )),
    }
}

pub(super) fn path(text: &str) -> Result<String, String> {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if text.starts_with('/') && visible && !text.contains(['#', '\\']) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "path {text:?} is no path; begin it with / and write other characters as %XX"
        ))
    }
}

/// The time limits of a kind, as given.
struct Limits {
    timeout: Field<Duration>,
    lease: Field<Duration>,
    deadline: Field<Duration>,
}

impl Limits {
    fn read(section: &Section<'_>) -> Self {
        Self {
            timeout: section.duration("timeout"),
            lease: section.duration("lease"),
            deadline: section.duration("deadline"),
        }
    }

    /// The job's time-out and lease, checked against those of the dependency.
    fn resolve(
        &self,
        section: &Section<'_>,
        dependency: Option<&Dependency>,
    ) -> Option<(Duration, Duration)> {
        let standard = match dependency {
            Some(dependency) => call_max(dependency).saturating_add(TIMEOUT_MARGIN),
            None => JobPolicy::default().timeout,
        };
        let timeout = self.timeout.clone().or(standard)?;
        let lease = self
            .lease
            .clone()
            .or(timeout.saturating_add(JobPolicy::LEASE_MARGIN))?;
        let ladder = TimeoutLadder {
            connect: dependency.map(|dependency| dependency.policy.timeout.connect),
            attempt: dependency.map(call_max),
            job: timeout,
            lease,
        };
        let faults = ladder.validate();
        faults
            .iter()
            .for_each(|fault| section.faults.note_text(self.place(section), fault));
        faults.is_empty().then_some((timeout, lease))
    }

    /// What core finds in the whole, beyond the ladder that was checked before.
    fn check_policy(&self, section: &Section<'_>, policy: &JobPolicy) -> Option<()> {
        let faults = policy.validate();
        let place = self.deadline.span().unwrap_or_else(|| self.place(section));
        faults
            .iter()
            .for_each(|fault| section.faults.note_text(place.clone(), fault));
        faults.is_empty().then_some(())
    }

    fn place(&self, section: &Section<'_>) -> Span {
        self.timeout
            .span()
            .or(self.lease.span())
            .unwrap_or_else(|| section.header.clone())
    }
}

/// How long the calls of one attempt may take: one, or all that the dependency's policy makes of it.
fn call_max(dependency: &Dependency) -> Duration {
    let timeout = &dependency.policy.timeout;
    if dependency.repeats() {
        timeout.total
    } else {
        timeout.attempt
    }
}

/// The counts of a kind.
struct Counts {
    attempts_max: u32,
    crashes_max: u32,
    concurrency: Option<u32>,
    concurrency_per_key: Option<u32>,
}

impl Counts {
    fn read(section: &Section<'_>) -> Option<Self> {
        let standard = JobPolicy::default();
        let attempts_max = section
            .count("attempts_max", 1..=TRIES_MAX)
            .or(standard.attempts_max);
        let crashes_max = section
            .count("crashes_max", 1..=TRIES_MAX)
            .or(standard.crashes_max);
        let concurrency = section.count("concurrency", 1..=CONCURRENCY_MAX).optional();
        let concurrency_per_key = section
            .count("concurrency_per_key", 1..=CONCURRENCY_MAX)
            .optional();
        Some(Self {
            attempts_max: attempts_max?,
            crashes_max: crashes_max?,
            concurrency: concurrency?,
            concurrency_per_key: concurrency_per_key?,
        })
    }
}

//! Pages of jobs, by key and not by offset: a page costs the same however far back it lies, and jobs that come in
//! meanwhile move nothing.

use serde::{Deserialize, Serialize};
use surefoot_core::id::{JobId, Key, Kind, Queue};
use surefoot_core::job::{Job, StateName};
use surefoot_core::port::JobFilter;
use surefoot_core::text::ErrorFingerprint;
use utoipa::{IntoParams, ToSchema};

use super::job::{JobSummary, View};
use super::word::StateWord;
use crate::problem::Problem;

/// The entries on one page unless the request names a number.
const LIMIT_STANDARD: u32 = 50;
/// The most entries on one page: below the port's own limit, for each job is read with its payload.
const LIMIT_MAX: u32 = 200;

/// Which jobs to show; every parameter that is set must match.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// How many jobs, 1 to 200. Default 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// Jobs before this one: `next` of the page before.
    #[param(format = "uuid")]
    before: Option<String>,
    /// In this state.
    #[param(inline, value_type = Option<StateWord>)]
    state: Option<String>,
    /// Of this kind.
    kind: Option<String>,
    /// In this queue.
    queue: Option<String>,
    /// With this key.
    key: Option<String>,
    /// Dead letters with this error fingerprint: 16 hex digits.
    fingerprint: Option<String>,
}

/// A checked query.
pub(crate) struct Page {
    pub(crate) filter: JobFilter,
    pub(crate) before: Option<JobId>,
    pub(crate) limit: u32,
}

impl PageQuery {
    pub(crate) fn into_page(self) -> Result<Page, Problem> {
        let limit = limit(self.limit)?;
        let state = self.state.map(|text| {
            let words = || {
                format!(
                    "state is {text:?}, give one of {}",
                    StateName::ALL.map(StateName::as_str).join(", ")
                )
            };
            StateName::parse(&text).ok_or_else(|| Problem::parameter("state", words()))
        });
        Ok(Page {
            filter: JobFilter {
                tenant: None,
                state: state.transpose()?,
                kind: parsed("kind", self.kind, Kind::new)?,
                queue: parsed("queue", self.queue, Queue::new)?,
                key: parsed("key", self.key, Key::new)?,
                fingerprint: parsed("fingerprint", self.fingerprint, |text| {
                    text.parse::<ErrorFingerprint>()
                })?,
            },
            before: parsed("before", self.before, |text| text.parse::<JobId>())?,
            limit,
        })
    }
}

/// How many entries a page has.
pub(super) fn limit(given: Option<u32>) -> Result<u32, Problem> {
    let limit = given.unwrap_or(LIMIT_STANDARD);
    if (1..=LIMIT_MAX).contains(&limit) {
        Ok(limit)
    } else {
        let detail = format!("limit is {limit}, give 1 to {LIMIT_MAX}");
        Err(Problem::parameter("limit", detail))
    }
}

/// A parameter, if it is given.
pub(super) fn parsed<T, E: std::fmt::Display>(
    parameter: &str,
    text: Option<String>,
    parse: impl Fn(String) -> Result<T, E>,
) -> Result<Option<T>, Problem> {
    text.map(parse)
        .transpose()
        .map_err(|error| Problem::parameter(parameter, error.to_string()))
}

/// A page of jobs, the latest enqueued first.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobPage {
    /// The jobs.
    jobs: Vec<JobSummary>,
    /// What to give as `before` for the next page; `null` on the last one.
    #[schema(required, format = "uuid")]
    next: Option<String>,
}

impl JobPage {
    /// The first `limit` of `jobs`; that there are more says that there is a next page.
    pub(crate) fn new(jobs: &[Job], limit: u32, view: View) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let shown = &jobs[..jobs.len().min(limit)];
        let last = shown.last().filter(|_| jobs.len() > limit);
        Self {
            jobs: shown
                .iter()
                .map(|job| JobSummary::new(job, job.counts.unknown > 0, view))
                .collect(),
            next: last.map(|job| job.id.to_string()),
        }
    }
}

//! What became of a request that was to become a job: the job says so. That it is not there says something only while it
//! cannot have been done and dropped since; it must never be taken for "did not happen" after that.

use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use http::header::{CONTENT_TYPE, LOCATION};
use surefoot_core::id::JobId;
use surefoot_core::request::{Kept, Request, RequestVerdict};

use super::{Accept, AcceptRefused, document};
use crate::context::job_key;
use crate::reconcile::Reconcile;

/// Looks for the jobs of requests whose outcome nobody knows.
#[derive(Clone, Debug)]
pub struct JobLookup {
    accept: Accept,
    jobs_kept: Duration,
}

impl Accept {
    /// The [`Reconcile`] of its routes. `jobs_kept` is how long finished jobs are kept, the
    /// [`keep`](surefoot::EngineOptions::keep) of the engines, the shortest where they differ. There is no default: a request
    /// whose job is not found may run again while no job of it can have been dropped, and waits for a person after that.
    ///
    /// # Errors
    /// [`AcceptRefused::JobsKept`] where that time is over before what a request does is settled, on every route.
    pub fn reconcile(&self, jobs_kept: Duration) -> Result<JobLookup, AcceptRefused> {
        let settled = self.inner.guard.options().routes.policies().map(|policy| {
            let settles_within = policy.request.clocks.settles_within;
            policy.run_max.saturating_add(settles_within)
        });
        let settled_after = settled.min().unwrap_or_default();
        if jobs_kept <= settled_after {
            return Err(AcceptRefused::JobsKept {
                jobs_kept,
                settled_after,
            });
        }
        Ok(JobLookup {
            accept: self.clone(),
            jobs_kept,
        })
    }
}

#[async_trait]
impl Reconcile for JobLookup {
    /// Whether the request's job is there.
    async fn ask(&self, request: &Request) -> RequestVerdict {
        let unknown = RequestVerdict::StillUnknown { ask_again_in: None };
        let inner = &self.accept.inner;
        let Ok(key) = job_key(request.id, &inner.kind) else {
            return unknown;
        };
        let tenant = &request.identity.tenant;
        match inner.client.find(tenant, &inner.kind, &key).await {
            Ok(Some(job)) => self.accepted(job),
            // No job of it is older than its first claim.
            Ok(None) if inner.client.now() < request.claimed_at.after(self.jobs_kept) => {
                RequestVerdict::DidNotHappen
            }
            Ok(None) => RequestVerdict::NeedsHuman(
                format!(
                    "its job is not there, and may have been done and dropped: jobs are kept for {:?}",
                    self.jobs_kept
                )
                .into(),
            ),
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a request's job could not be looked up"
                );
                unknown
            }
        }
    }
}

impl JobLookup {
    /// It happened, and this is what its client is told.
    fn accepted(&self, job: JobId) -> RequestVerdict {
        let location = format!("{}/{job}", self.accept.inner.path);
        let body = document::accepted(job, &location).into_bytes();
        let headers = vec![
            (CONTENT_TYPE.to_string(), b"application/json".to_vec()),
            (LOCATION.to_string(), location.into_bytes()),
        ];
        match Kept::told(StatusCode::ACCEPTED.as_u16(), headers, Some(body)) {
            Ok(kept) => RequestVerdict::Happened(kept),
            Err(refused) => RequestVerdict::NeedsHuman(refused.to_string().into()),
        }
    }
}

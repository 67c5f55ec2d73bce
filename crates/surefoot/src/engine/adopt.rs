//! Finds the jobs that this node claimed under an answer that was lost, so that they start at once and are not taken
//! for crashed when their lease ends.

use surefoot_core::error::StoreError;
use surefoot_core::id::JobId;
use surefoot_core::job::{LeasedJob, StateName};
use surefoot_core::port::{JobFilter, PAGE_MAX};

use super::node::Node;

/// How many pages of running jobs are looked through; what lies beyond is left to the sweep.
const PAGES_MAX: usize = 20;

/// What was found.
pub(super) struct Found {
    pub(super) jobs: Vec<LeasedJob>,
    /// There were more than asked for.
    pub(super) more: bool,
}

/// At most `max` jobs that run in this node's name and never started.
pub(super) async fn lost(node: &Node, max: u32) -> Result<Found, StoreError> {
    let filter = JobFilter {
        state: Some(StateName::Running),
        ..JobFilter::default()
    };
    let mut found = Found {
        jobs: Vec::new(),
        more: false,
    };
    let mut before: Option<JobId> = None;
    for _ in 0..PAGES_MAX {
        let page = node.client.store().jobs(&filter, before, PAGE_MAX).await?;
        let last = page.len() < PAGE_MAX as usize;
        before = page.last().map(|job| job.id);
        for job in page {
            let Ok(job) = job.into_leased() else { continue };
            if !node.never_started(&job) || !node.handlers.contains_key(&job.kind) {
                continue;
            }
            if found.jobs.len() >= max as usize {
                found.more = true;
                return Ok(found);
            }
            found.jobs.push(job);
        }
        if last {
            break;
        }
    }
    Ok(found)
}

//! Finds what nobody holds any more: lost leases and passed deadlines. It runs on every node, over and over and right
//! at the start; each step is fenced, so it does no harm to run it twice. A page of jobs that cannot be settled does
//! not keep it from those behind.

use std::collections::HashSet;
use std::sync::Arc;

use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{ExpiredJob, Settled};
use surefoot_core::settle::{Report, Settlement, settle};
use tokio::time::sleep;

use super::node::Node;
use crate::effect::{present, tell_left_open};
use crate::observe::Event;
use crate::settled::tell_settled;

/// How many jobs are looked at in one call at first.
const PAGE: u32 = 100;
/// How many jobs are looked at in one call when all that came before could not be settled.
const PAGE_LONGEST: u32 = 12_800;
/// How many calls one sweep makes for either of its tasks; the next sweep goes on.
const ROUNDS_MAX: usize = 200;

/// Sweeps until it is stopped.
pub(super) async fn run(node: Arc<Node>) {
    loop {
        if let Err(error) = sweep(&node).await {
            tracing::warn!(%error, "the sweep broke off, the next one goes on");
        }
        sleep(node.client.dice().around(node.options.sweep)).await;
    }
}

async fn sweep(node: &Node) -> Result<(), StoreError> {
    let reaped = reap(node).await;
    expire(node).await?;
    reaped
}

async fn expire(node: &Node) -> Result<(), StoreError> {
    for _ in 0..ROUNDS_MAX {
        let expired = node.client.store().expire(node.client.now(), PAGE).await?;
        for ExpiredJob { job, kind, reason } in &expired {
            tracing::warn!(%job, %kind, reason = reason.as_str(), "a dead letter");
            node.client.observer().on(&Event::DeadLetter {
                job: *job,
                kind,
                reason: *reason,
            });
            node.client.local().changed(*job);
        }
        if expired.len() < PAGE as usize {
            break;
        }
    }
    Ok(())
}

async fn reap(node: &Node) -> Result<(), StoreError> {
    let mut seen: HashSet<(JobId, Epoch)> = HashSet::new();
    let mut limit = PAGE;
    for _ in 0..ROUNDS_MAX {
        let lapsed = node.client.store().lapsed(node.client.now(), limit).await?;
        let last = lapsed.len() < limit as usize;
        let fresh: Vec<LeasedJob> = lapsed
            .into_iter()
            .filter(|job| seen.insert((job.id, job.state.epoch)))
            .collect();
        if fresh.is_empty() {
            if last {
                break;
            }
            if limit >= PAGE_LONGEST {
                tracing::error!(
                    limit,
                    "so many lost leases cannot be settled that the sweep sees nothing else"
                );
                break;
            }
            limit = (limit * 2).min(PAGE_LONGEST);
            continue;
        }
        settle_all(node, fresh).await?;
        if last {
            break;
        }
    }
    Ok(())
}

/// Settles jobs whose leases ended; those that run on this node are left to its heartbeat.
async fn settle_all(node: &Node, lapsed: Vec<LeasedJob>) -> Result<(), StoreError> {
    let lost: Vec<LeasedJob> = lapsed
        .into_iter()
        .filter(|job| !runs_here(node, job))
        .collect();
    for page in lost.chunks(PAGE as usize) {
        match settle_page(node, page).await {
            Ok(()) => {}
            Err(error) if error.is_transient() => return Err(error),
            // One of them cannot be written: each by itself, so that it does not keep the others.
            Err(_) => {
                for job in page {
                    settle_alone(node, job).await?;
                }
            }
        }
    }
    Ok(())
}

async fn settle_alone(node: &Node, job: &LeasedJob) -> Result<(), StoreError> {
    match settle_page(node, std::slice::from_ref(job)).await {
        Err(error) if !error.is_transient() => {
            tracing::error!(job = %job.id, epoch = %job.state.epoch, %error, "a lost lease cannot be settled");
            Ok(())
        }
        answer => answer,
    }
}

async fn settle_page(node: &Node, page: &[LeasedJob]) -> Result<(), StoreError> {
    if page.is_empty() {
        return Ok(());
    }
    let ids: Vec<JobId> = page.iter().map(|job| job.id).collect();
    let effects = node.client.store().effects(&ids).await?;
    let settlements: Vec<Settlement> = page
        .iter()
        .map(|job| decided(node, job, &effects))
        .collect();
    let advanced = node
        .client
        .store()
        .advance(&settlements, None, node.client.now())
        .await?;
    for ((job, settlement), settled) in page.iter().zip(&settlements).zip(advanced.settled) {
        match settled {
            Settled::Applied | Settled::Already => {
                tell_settled(&node.client, job, settlement, settled);
                let own = of_job(job, &effects);
                tell_left_open(&node.client, &job.kind, &settlement.next, &own);
            }
            // It was extended, settled or reaped by another node meanwhile.
            Settled::Stale => {}
        }
    }
    node.client.local().work.notify_one();
    Ok(())
}

fn of_job(job: &LeasedJob, all: &[Effect]) -> Vec<Effect> {
    let own = all.iter().filter(|effect| effect.job == job.id);
    present(own.cloned().collect(), job.generation)
}

fn decided(node: &Node, job: &LeasedJob, all: &[Effect]) -> Settlement {
    let effects = of_job(job, all);
    let report = if node.never_started(job) {
        Report::Released("the answer to its claim was lost, so it never started".into())
    } else {
        Report::Lost
    };
    let policy = node.client.policies().policy(&job.kind);
    settle(
        job,
        &effects,
        report,
        policy,
        node.client.now(),
        node.client.dice().roll(),
    )
}

fn runs_here(node: &Node, job: &LeasedJob) -> bool {
    let running = node.client.local().running.get(job.id, job.state.epoch);
    running.is_some_and(|running| !running.is_abandoned())
}

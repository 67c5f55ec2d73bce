//! The verbs of the port, each one operation of the writer or one view of a reader.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Job, LeasedJob};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Advanced, Announcements, BATCH_MAX, Beat, By, Cancelled, Claim, DeadGroup, Depth, EffectWrite,
    EffectWritten, Enqueued, ExpiredJob, Extended, Extension, Heart, JobFilter, JobRecord,
    Maintained, NewJob, Pause, Replay, Steered, Store,
};
use surefoot_core::settle::Settlement;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;

use super::ledger::Ledger;
use super::mailbox::Urgency::{Ordinary, Urgent};
use super::store::{SqliteStore, call};
use super::writer::Inbox;
use super::{
    cancel, claim, dead_groups, depth, effect, enqueue, expire, late, lease, list, maintain, pause,
    record, settle, steer,
};

#[async_trait]
impl Store for SqliteStore {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError> {
        bounded(jobs.len())?;
        let jobs = jobs.to_vec();
        self.call("enqueue", jobs.len(), Ordinary, move |ledger| {
            jobs.iter()
                .map(|job| enqueue::enqueue(ledger, job, now))
                .collect()
        })
        .await
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError> {
        bounded(settlements.len())?;
        let (settlements, claim) = (settlements.to_vec(), claim.cloned());
        let weight = settlements.len() + claim.as_ref().map_or(0, |claim| claim.max as usize);
        self.call("advance", weight, Ordinary, move |ledger| {
            advance(ledger, &settlements, claim.as_ref(), now)
        })
        .await
    }

    async fn extend(
        &self,
        leases: &[Extension],
        _now: Timestamp,
    ) -> Result<Vec<Extended>, StoreError> {
        extend(&self.inbox(), leases).await
    }

    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError> {
        Ok(Box::new(SqliteHeart {
            inbox: self.inbox(),
        }))
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Result<bool, StoreError> {
        let said = said.clone();
        self.call("late", 1, Ordinary, move |ledger| {
            late::late(ledger, job, epoch, &said)
        })
        .await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError> {
        self.read("lapsed", move |view| lease::lapsed(view, now, limit))
            .await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<ExpiredJob>, StoreError> {
        self.call("expire", limit as usize, Ordinary, move |ledger| {
            expire::expire(ledger, now, limit)
        })
        .await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        _now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        bounded(writes.len())?;
        let writes: Vec<_> = writes
            .iter()
            .map(effect::Prepared::of)
            .collect::<Result<_, _>>()?;
        self.call("write_effects", writes.len(), Ordinary, move |ledger| {
            writes
                .iter()
                .map(|write| effect::write(ledger, write))
                .collect()
        })
        .await
    }

    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        bounded(jobs.len())?;
        let jobs = jobs.to_vec();
        self.read("effects", move |view| effect::effects(view, &jobs))
            .await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
        self.call("hasten", 1, Ordinary, move |ledger| {
            effect::hasten(ledger, job, now)
        })
        .await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError> {
        let by = by.clone();
        self.call("cancel", 1, Ordinary, move |ledger| {
            cancel::cancel(ledger, job, &by, now)
        })
        .await
    }

    async fn replay(
        &self,
        job: JobId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        let replay = replay.clone();
        self.call("replay", 1, Ordinary, move |ledger| {
            steer::replay(ledger, job, &replay, now)
        })
        .await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError> {
        let by = by.clone();
        self.call("ignore", 1, Ordinary, move |ledger| {
            steer::ignore(ledger, job, &by, now)
        })
        .await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        let (payload, by) = (payload.clone(), by.clone());
        self.call("edit", 1, Ordinary, move |ledger| {
            steer::edit(ledger, job, &payload, &by, now)
        })
        .await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError> {
        let (queue, by) = (queue.clone(), by.clone());
        self.call("pause", 1, Ordinary, move |ledger| {
            pause::pause(ledger, &queue, &by, now)
        })
        .await
    }

    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError> {
        let queue = queue.clone();
        self.call("resume", 1, Ordinary, move |ledger| {
            pause::resume(ledger, &queue)
        })
        .await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        self.read("pauses", pause::pauses).await
    }

    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.read("job", move |view| record::record(view, job))
            .await
    }

    async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError> {
        let (tenant, kind, key) = (tenant.clone(), kind.clone(), key.clone());
        self.read("find", move |view| {
            enqueue::find(view, &tenant, &kind, &key)
        })
        .await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        let filter = filter.clone();
        self.read("jobs", move |view| list::jobs(view, &filter, before, limit))
            .await
    }

    async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError> {
        self.read("dead_groups", dead_groups::dead_groups).await
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, StoreError> {
        self.read("depth", move |view| depth::depth(view, now))
            .await
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Result<Maintained, StoreError> {
        self.call("maintain", BATCH_MAX, Ordinary, move |ledger| {
            maintain::maintain(ledger, keep, now)
        })
        .await
    }

    /// The clock of the host, for a file has none of its own; without the steps that it makes while this process runs.
    async fn database_now(&self) -> Result<Timestamp, StoreError> {
        Ok(host_now())
    }

    /// Does nothing: a file carries no announcements, so other processes find work by polling.
    async fn announce(&self, _queues: &[Queue]) -> Result<(), StoreError> {
        Ok(())
    }

    async fn announcements(&self) -> Result<Option<Box<dyn Announcements>>, StoreError> {
        Ok(None)
    }
}

fn advance(
    ledger: &Ledger<'_>,
    settlements: &[Settlement],
    claim: Option<&Claim>,
    now: Timestamp,
) -> Result<Advanced, StoreError> {
    let settled: Result<_, _> = settlements
        .iter()
        .map(|settlement| settle::settle(ledger, settlement))
        .collect();
    let settled = settled?;
    let Some(claim) = claim else {
        return Ok(Advanced {
            settled,
            ..Advanced::default()
        });
    };
    let claimed = claim::claim(ledger, claim, now)?;
    Ok(Advanced {
        settled,
        leased: claimed.leased,
        next_due: claimed.next_due,
    })
}

/// Extends leases in a hurry: the writer does it before anything else that waits.
async fn extend(inbox: &Inbox, leases: &[Extension]) -> Result<Vec<Extended>, StoreError> {
    bounded(leases.len())?;
    let leases = leases.to_vec();
    call(inbox, "extend", leases.len(), Urgent, move |ledger| {
        leases
            .iter()
            .map(|extension| lease::extend(ledger, extension))
            .collect()
    })
    .await
}

/// A heartbeat: it waits on the writer thread alone, so it beats in any runtime.
struct SqliteHeart {
    inbox: Arc<Inbox>,
}

#[async_trait]
impl Heart for SqliteHeart {
    async fn beat(&mut self, leases: &[Extension], _now: Timestamp) -> Result<Beat, StoreError> {
        let extended = extend(&self.inbox, leases).await?;
        Ok(Beat {
            extended,
            database_now: host_now(),
        })
    }
}

/// The host's clock as it stood when this process first asked, and on from there by the monotonic clock: when somebody sets
/// the host's clock, no lease ends early and no provider is taken to have settled what it has not.
fn host_now() -> Timestamp {
    static FIRST: OnceLock<(Instant, Timestamp)> = OnceLock::new();
    let (asked, time) = FIRST.get_or_init(|| {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let time = Timestamp::MIN.after(since_1970.unwrap_or_default());
        (Instant::now(), time)
    });
    time.after(asked.elapsed())
}

/// Refuses a batch that no store takes.
fn bounded(items: usize) -> Result<(), StoreError> {
    if items > BATCH_MAX {
        let fault = format!("a batch of {items}, at most {BATCH_MAX} are taken; split it");
        return Err(StoreError::Refused(fault.into()));
    }
    Ok(())
}

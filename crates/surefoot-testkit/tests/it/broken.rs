//! Stores that are broken on purpose: the contract and the programs must tell each of them from a sound one.

mod effect;
mod shown;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use shown::Shown;
use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId, Key, Kind, Queue, Tenant};
use surefoot_core::job::{Job, JobState, LeasedJob};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Advanced, Announcements, Beat, By, Cancelled, Claim, DeadGroup, Depth, EffectWrite,
    EffectWritten, Enqueued, ExpiredJob, Extended, Extension, Heart, JobFilter, JobRecord,
    Maintained, NewJob, Pause, Replay, ReplayEffect, Settled, Steered, Store,
};
use surefoot_core::settle::Settlement;
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use surefoot_testkit::program::same_as_model;
use surefoot_testkit::{ManualClock, MemoryStore, contract};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    /// Settlements apply under any epoch.
    SettleWithoutEpoch,
    /// A lease is lost whether it lapsed or not.
    LoseWithoutLapse,
    /// `extend` asks for no epoch.
    ExtendWithoutEpoch,
    /// The heart asks for no epoch.
    BeatWithoutEpoch,
    /// A settlement that was applied before is called stale.
    RepeatIsStale,
    /// Another payload under a key is taken for the same.
    ConflictIsExisting,
    /// Queue limits are not looked at.
    NoQueueLimits,
    /// Limits of kinds are not looked at.
    NoKindLimits,
    /// Limits of concurrency keys are not looked at.
    NoKeyLimits,
    /// Pausing does nothing.
    NoPause,
    /// What is claimed comes in another order.
    ClaimBackwards,
    /// A page begins with the job that the page before ended with.
    PageOverlaps,
    /// A replay of an unknown outcome needs no choice.
    ReplayWithoutChoice,
    /// History goes at once.
    ForgetsAtOnce,
    /// A holder's write of an effect asks for no epoch.
    WriteWithoutEpoch,
    /// A write of an effect asks for no version.
    WriteWithoutVersion,
    /// A repeated write is told as one that somebody else came before.
    RepeatedWriteIsChanged,
    /// A witness writes only while the job runs.
    WitnessNeedsLease,
    /// A write extends no lease.
    WriteExtendsNothing,
    /// A write that is refused extends the lease all the same.
    RefusedWriteExtends,
    /// One refused write stops those behind it.
    RefusedWriteSpoils,
    /// Effects come by place and job.
    EffectsByPlace,
    /// A result loses the space around it.
    ResultTrimmed,
    /// Disputes are not kept.
    NoDisputes,
    /// News of an effect make a retrying job due, too.
    HastenRetrying,
    /// News of an effect that come late put its job off.
    HastenPutsOff,
    /// An order to cancel a verifying job is taken, and forgotten.
    CancelForgets,
    /// The next holder of a verifying job is not told that it is to stop.
    ClaimTellsNothing,
    /// A verifying job whose deadline passed is made dead.
    ExpireVerifying,
    ExpireSaysDeadline,
    /// A verifying job is not claimed after its deadline.
    NoClaimAfterDeadline,
    /// Verifying jobs are not counted.
    DepthWithoutVerifying,
    /// A late word takes the place of an earlier one.
    LastWordStays,
    /// A late word is kept whatever came of the attempt.
    LateOfAnyOutcome,
    /// A replay leaves a deadline that passed.
    ReplayKeepsDeadline,
}

#[derive(Clone)]
struct Broken {
    inner: MemoryStore,
    how: Break,
    shown: Arc<Mutex<Shown>>,
}

impl Broken {
    fn store(how: Break) -> Arc<dyn Store> {
        let clock = ManualClock::new(Timestamp::MIN);
        Arc::new(Self {
            inner: MemoryStore::new(Arc::new(clock)),
            how,
            shown: Arc::default(),
        })
    }

    /// The epoch that the job runs under, or the given one when it does not run.
    async fn present(&self, job: JobId, given: Epoch) -> Result<Epoch, StoreError> {
        let state = self.inner.job(job).await?.map(|record| record.job.state);
        Ok(match state {
            Some(JobState::Running(run)) => run.epoch,
            _ => given,
        })
    }

    async fn settlements(&self, given: &[Settlement]) -> Result<Vec<Settlement>, StoreError> {
        let mut settlements = given.to_vec();
        for settlement in &mut settlements {
            if self.how == Break::SettleWithoutEpoch {
                settlement.fence.epoch =
                    self.present(settlement.job, settlement.fence.epoch).await?;
            }
            if self.how == Break::LoseWithoutLapse {
                settlement.fence.lapsed_before = None;
            }
        }
        Ok(settlements)
    }

    fn claim(&self, given: &Claim) -> Claim {
        let mut claim = given.clone();
        if self.how == Break::NoQueueLimits {
            claim.queue_limits.clear();
        }
        for terms in &mut claim.kinds {
            if self.how == Break::NoKindLimits {
                terms.concurrency_max = None;
            }
            if self.how == Break::NoKeyLimits {
                terms.concurrency_per_key_max = None;
            }
        }
        claim
    }

    async fn extensions(
        &self,
        given: &[Extension],
        broken: bool,
    ) -> Result<Vec<Extension>, StoreError> {
        let mut extensions = given.to_vec();
        for extension in extensions.iter_mut().filter(|_| broken) {
            extension.epoch = self.present(extension.job, extension.epoch).await?;
        }
        Ok(extensions)
    }
}

#[async_trait]
impl Store for Broken {
    async fn enqueue(&self, jobs: &[NewJob], now: Timestamp) -> Result<Vec<Enqueued>, StoreError> {
        let mut answers = self.inner.enqueue(jobs, now).await?;
        for answer in &mut answers {
            if let (Enqueued::Conflict(id), Break::ConflictIsExisting) = (*answer, self.how) {
                *answer = Enqueued::Existing(id);
            }
        }
        Ok(answers)
    }

    async fn advance(
        &self,
        settlements: &[Settlement],
        claim: Option<&Claim>,
        now: Timestamp,
    ) -> Result<Advanced, StoreError> {
        let settlements = self.settlements(settlements).await?;
        let claim = claim.map(|claim| self.claim(claim));
        let mut advanced = self
            .inner
            .advance(&settlements, claim.as_ref(), now)
            .await?;
        for settled in &mut advanced.settled {
            if *settled == Settled::Already && self.how == Break::RepeatIsStale {
                *settled = Settled::Stale;
            }
        }
        if self.how == Break::ClaimBackwards {
            advanced.leased.reverse();
        }
        self.spoil_claimed(&mut advanced.leased, now);
        Ok(advanced)
    }

    async fn extend(
        &self,
        leases: &[Extension],
        now: Timestamp,
    ) -> Result<Vec<Extended>, StoreError> {
        let leases = self
            .extensions(leases, self.how == Break::ExtendWithoutEpoch)
            .await?;
        self.inner.extend(&leases, now).await
    }

    async fn heart(&self) -> Result<Box<dyn Heart>, StoreError> {
        Ok(Box::new(BrokenHeart {
            inner: self.inner.heart().await?,
            store: self.clone(),
        }))
    }

    async fn replay(
        &self,
        job: JobId,
        replay: &Replay,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        let mut replay = replay.clone();
        if self.how == Break::ReplayWithoutChoice {
            replay.effect = replay.effect.or(Some(ReplayEffect::Same));
        }
        self.keep_deadline(job).await?;
        self.inner.replay(job, &replay, now).await
    }

    async fn pause(&self, queue: &Queue, by: &By, now: Timestamp) -> Result<(), StoreError> {
        if self.how == Break::NoPause {
            return Ok(());
        }
        self.inner.pause(queue, by, now).await
    }

    async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        let mut page = self.inner.jobs(filter, before, limit).await?;
        if let (Some(before), Break::PageOverlaps, false) = (before, self.how, page.is_empty()) {
            let overlap = self.inner.job(before).await?;
            page.splice(0..0, overlap.map(|record| record.job));
            page.truncate(limit as usize);
        }
        Ok(page)
    }

    async fn maintain(&self, keep: Duration, now: Timestamp) -> Result<Maintained, StoreError> {
        let keep = if self.how == Break::ForgetsAtOnce {
            Duration::ZERO
        } else {
            keep
        };
        self.inner.maintain(keep, now).await
    }

    async fn late(&self, job: JobId, epoch: Epoch, said: &ErrorText) -> Result<bool, StoreError> {
        self.spoilt_late(job, epoch, said).await
    }

    async fn lapsed(&self, now: Timestamp, limit: u32) -> Result<Vec<LeasedJob>, StoreError> {
        self.inner.lapsed(now, limit).await
    }

    async fn expire(&self, now: Timestamp, limit: u32) -> Result<Vec<ExpiredJob>, StoreError> {
        self.spoilt_expire(now, limit).await
    }

    async fn write_effects(
        &self,
        writes: &[EffectWrite],
        now: Timestamp,
    ) -> Result<Vec<EffectWritten>, StoreError> {
        self.spoilt_write(writes, now).await
    }

    async fn effects(&self, jobs: &[JobId]) -> Result<Vec<Effect>, StoreError> {
        self.spoilt_effects(jobs).await
    }

    async fn hasten(&self, job: JobId, now: Timestamp) -> Result<bool, StoreError> {
        self.spoilt_hasten(job, now).await
    }

    async fn cancel(&self, job: JobId, by: &By, now: Timestamp) -> Result<Cancelled, StoreError> {
        self.spoilt_cancel(job, by, now).await
    }

    async fn ignore(&self, job: JobId, by: &By, now: Timestamp) -> Result<Steered, StoreError> {
        self.inner.ignore(job, by, now).await
    }

    async fn edit(
        &self,
        job: JobId,
        payload: &Payload,
        by: &By,
        now: Timestamp,
    ) -> Result<Steered, StoreError> {
        self.inner.edit(job, payload, by, now).await
    }

    async fn resume(&self, queue: &Queue) -> Result<bool, StoreError> {
        self.inner.resume(queue).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>, StoreError> {
        self.inner.pauses().await
    }

    async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.spoilt_job(job).await
    }

    async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError> {
        self.inner.find(tenant, kind, key).await
    }

    async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError> {
        self.inner.dead_groups().await
    }

    async fn depth(&self, now: Timestamp) -> Result<Depth, StoreError> {
        self.spoilt_depth(now).await
    }

    async fn database_now(&self) -> Result<Timestamp, StoreError> {
        self.inner.database_now().await
    }

    async fn announce(&self, queues: &[Queue]) -> Result<(), StoreError> {
        self.inner.announce(queues).await
    }

    async fn announcements(&self) -> Result<Option<Box<dyn Announcements>>, StoreError> {
        self.inner.announcements().await
    }
}

struct BrokenHeart {
    inner: Box<dyn Heart>,
    store: Broken,
}

#[async_trait]
impl Heart for BrokenHeart {
    async fn beat(&mut self, leases: &[Extension], now: Timestamp) -> Result<Beat, StoreError> {
        let leases = self
            .store
            .extensions(leases, self.store.how == Break::BeatWithoutEpoch)
            .await?;
        self.inner.beat(&leases, now).await
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Asserts that each of the cases fails over a store that is broken so.
macro_rules! fails {
    ($how:expr, $($family:ident::$case:ident),+ $(,)?) => {
        $(
            let run = || runtime().block_on(contract::$family::$case(Broken::store($how)));
            let case = concat!(stringify!($family), "::", stringify!($case));
            assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{case} does not see {:?}", $how);
        )+
    };
}

#[test]
fn the_contract_sees_what_is_broken() {
    fails!(
        Break::SettleWithoutEpoch,
        fence::a_stale_settlement_changes_nothing,
        fence::epochs_rise_over_replays,
        fence::a_settlement_repeated_after_the_next_claim_changes_nothing,
    );
    fails!(
        Break::LoseWithoutLapse,
        fence::a_held_lease_is_not_settled_as_lost,
        lapse::an_extended_lease_is_not_settled_as_lost,
    );
    fails!(
        Break::ExtendWithoutEpoch,
        extend::a_lost_lease_is_told,
        extend::many_leases_are_extended_in_order
    );
    fails!(
        Break::BeatWithoutEpoch,
        extend::a_heart_beats_as_extend_does
    );
    fails!(
        Break::RepeatIsStale,
        fence::a_repeated_settlement_is_already
    );
    fails!(
        Break::ConflictIsExisting,
        enqueue::a_key_is_one_job,
        enqueue::keys_count_within_one_batch,
        enqueue::a_key_is_held_in_every_state,
        enqueue::the_payload_as_first_enqueued_counts,
    );
    fails!(
        Break::NoQueueLimits,
        limits::a_queue_has_its_limit,
        limits::all_limits_hold_at_once,
        limits::concurrent_claimers_keep_a_queue_limit,
    );
    fails!(
        Break::NoKindLimits,
        limits::a_kind_has_its_limit,
        limits::concurrent_claimers_keep_a_kind_limit
    );
    fails!(
        Break::NoKeyLimits,
        limits::a_concurrency_key_has_its_limit,
        limits::concurrent_claimers_keep_a_key_limit,
    );
    fails!(
        Break::NoPause,
        pause::a_paused_queue_starts_nothing,
        pause::the_first_pause_stays_until_it_is_resumed,
    );
    fails!(
        Break::ClaimBackwards,
        claim::higher_priority_then_due_time_then_age,
        serve::fair_over_queues,
    );
    fails!(
        Break::PageOverlaps,
        list::pages_are_stable_while_jobs_arrive,
        list::a_page_is_bounded
    );
    fails!(
        Break::ReplayWithoutChoice,
        replay::an_unknown_outcome_needs_a_choice
    );
    fails!(
        Break::ForgetsAtOnce,
        maintain::nothing_leaves_before_its_time
    );
}

#[test]
fn the_contract_sees_what_is_broken_about_effects() {
    fails!(
        Break::WriteWithoutEpoch,
        effects::a_stale_write_changes_nothing,
        effects::one_refused_write_spoils_no_other,
        effects::what_does_not_apply_extends_no_lease,
        effect_contend::a_write_and_a_lapse_at_once_have_one_winner,
    );
    fails!(
        Break::WriteWithoutVersion,
        effects::a_write_follows_on_the_one_on_record,
        effects::a_witness_needs_no_lease,
        effects::writes_of_one_batch_follow_on_one_another,
        effect_contend::one_of_many_concurrent_witnesses_applies,
        effect_contend::a_witness_and_the_holder_at_once_have_one_winner,
        effect_contend::one_first_record_of_many_applies,
    );
    fails!(
        Break::RepeatedWriteIsChanged,
        effects::a_repeated_write_is_already,
        effect_contend::concurrent_repeats_of_one_write_apply_once,
        effect_contend::overlapping_writes_in_opposite_orders,
        effect_stay::a_full_batch_of_effects_is_written,
    );
    fails!(Break::WitnessNeedsLease, effects::a_witness_needs_no_lease);
    fails!(
        Break::WriteExtendsNothing,
        effects::a_write_extends_the_lease_and_never_shortens_it,
        effects::a_lapsed_holder_that_nobody_settled_may_write,
    );
    fails!(
        Break::RefusedWriteExtends,
        effects::a_stale_write_changes_nothing,
        effects::what_does_not_apply_extends_no_lease,
    );
    fails!(
        Break::RefusedWriteSpoils,
        effects::one_refused_write_spoils_no_other
    );
    fails!(
        Break::EffectsByPlace,
        effect_stay::effects_come_by_job_and_place
    );
    fails!(Break::ResultTrimmed, effect_record::every_field_is_kept);
    fails!(
        Break::NoDisputes,
        effect_record::every_field_is_kept,
        effect_record::every_field_is_kept_by_a_change,
        effect_record::the_whole_way_of_an_effect_is_kept,
    );
}

#[test]
fn the_contract_sees_what_is_broken_about_verifying() {
    fails!(
        Break::HastenRetrying,
        hasten::only_what_is_verifying_is_hastened
    );
    fails!(Break::HastenPutsOff, hasten::it_is_never_put_off);
    fails!(
        Break::CancelForgets,
        cancel::each_state_has_its_answer,
        withdraw::a_request_is_told_with_the_next_claim,
        withdraw::a_request_cancels_what_would_run_again,
        withdraw::a_hastened_job_keeps_what_was_asked_of_it,
    );
    fails!(
        Break::ClaimTellsNothing,
        withdraw::a_request_is_told_with_the_next_claim,
        withdraw::a_request_stays_while_it_is_verifying,
    );
    fails!(
        Break::ExpireVerifying,
        verifying::it_is_asked_about_whatever_its_deadline,
        expire::what_runs_or_is_settled_does_not_expire,
    );
    fails!(
        Break::ExpireSaysDeadline,
        expire::an_unknown_outcome_does_not_expire_as_a_failure,
    );
    fails!(
        Break::NoClaimAfterDeadline,
        verifying::it_is_asked_about_whatever_its_deadline
    );
    fails!(
        Break::DepthWithoutVerifying,
        verifying::it_is_listed_and_counted,
        depth::each_queue_kind_and_state_is_counted,
    );
    fails!(
        Break::LastWordStays,
        late::the_first_late_word_stays,
        late::one_of_many_late_words_at_once_stays,
    );
    fails!(
        Break::LateOfAnyOutcome,
        late::only_a_lost_attempt_takes_a_late_word
    );
    fails!(
        Break::ReplayKeepsDeadline,
        replay::a_deadline_ahead_is_kept_and_one_that_passed_is_taken_away
    );
}

#[test]
fn the_programs_see_what_is_broken() {
    let seen_by_programs = [
        Break::SettleWithoutEpoch,
        Break::LoseWithoutLapse,
        Break::ExtendWithoutEpoch,
        Break::BeatWithoutEpoch,
        Break::RepeatIsStale,
        Break::ConflictIsExisting,
        Break::NoQueueLimits,
        Break::NoKindLimits,
        Break::NoKeyLimits,
        Break::NoPause,
        Break::ClaimBackwards,
        Break::PageOverlaps,
        Break::ReplayWithoutChoice,
        Break::WriteWithoutEpoch,
        Break::WriteWithoutVersion,
        Break::RepeatedWriteIsChanged,
        Break::WriteExtendsNothing,
        Break::NoDisputes,
        Break::CancelForgets,
        Break::NoClaimAfterDeadline,
        Break::LastWordStays,
    ];
    let runtime = runtime();
    for how in seen_by_programs {
        let compare = || same_as_model(&runtime, 1, 300, || async move { Broken::store(how) });
        let Err(told) = catch_unwind(AssertUnwindSafe(compare)) else {
            panic!("{how:?} is not told from the model")
        };
        let told = told.downcast_ref::<String>().unwrap();
        assert!(
            told.contains("of the transcript differs") && told.contains("program: ["),
            "{told}"
        );
        assert!(
            told.matches("Advance {").count() < 12,
            "it is shrunk to what matters: {told}"
        );
    }
}

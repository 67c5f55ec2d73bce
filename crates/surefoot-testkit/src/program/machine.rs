//! Carries out operations and writes down what was answered.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::failure::Failure;
use surefoot_core::id::{Actor, Epoch, JobId};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{
    By, Claim, EffectWrite, Extension, Heart, JobFilter, NewJob, Replay, ReplayEffect, Store,
};
use surefoot_core::settle::{Report, Settlement, settle};
use surefoot_core::text::ErrorText;
use surefoot_core::time::{Roll, Timestamp};
use surefoot_core::timeouts::TimeoutKind;

use super::draft::{Draft, kind, name, payload, queue};
use super::op::{End, How, Op, Take};

/// When every program begins: 2026-03-01T12:00:00Z.
const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);
const DAY: Duration = Duration::from_secs(86_400);
/// More than any program makes in one place.
const LIMIT: u32 = 1000;
/// The most steps that dropping a program's history may take.
const STEPS_MAX: usize = 1000;

/// So far ahead that no program's claims come to it. (An epoch that was given to another lease would settle that
/// lease with the counts of this one, which no caller does.)
pub(super) const NEVER_GIVEN: i64 = 1_000_000;

pub(super) struct Machine {
    pub(super) store: Arc<dyn Store>,
    heart: Option<Box<dyn Heart>>,
    pub(super) now: Timestamp,
    batches: Vec<Vec<NewJob>>,
    pub(super) jobs: Vec<JobId>,
    pub(super) leases: Vec<LeasedJob>,
    pub(super) writes: Vec<Vec<EffectWrite>>,
    latest: Option<(Vec<Settlement>, Option<Claim>)>,
    transcript: Vec<String>,
}

impl Machine {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            heart: None,
            now: START,
            batches: Vec::new(),
            jobs: Vec::new(),
            leases: Vec::new(),
            writes: Vec::new(),
            latest: None,
            transcript: Vec::new(),
        }
    }

    pub(super) async fn step(&mut self, op: &Op) {
        // No two operations at one instant, so that what is the latest is never open.
        self.now = self.now.after(Duration::from_micros(1));
        match op {
            Op::Enqueue(drafts) => self.enqueue(drafts).await,
            Op::EnqueueAgain { batch } => {
                if let Some(batch) = slot(&self.batches, *batch).cloned() {
                    self.hand_in(&batch).await;
                }
            }
            Op::Advance { ends, claim } => {
                let claim = claim.as_ref().map(Take::claim);
                self.settle_and_claim(ends, claim).await;
            }
            Op::AdvanceAgain => {
                if let Some((ends, claim)) = self.latest.clone() {
                    self.advance(ends, claim).await;
                }
            }
            Op::Extend {
                leases,
                seconds,
                by_heart,
            } => self.extend(leases, *seconds, *by_heart).await,
            Op::Hear(news) => self.hear(news).await,
            Op::TimeOut { lease } => self.time_out(*lease).await,
            Op::HearAgain { batch } => {
                if let Some(writes) = slot(&self.writes, *batch).cloned() {
                    self.write_effects(writes).await;
                }
            }
            Op::Hasten { job } => {
                if let Some(job) = slot(&self.jobs, *job).copied() {
                    self.hasten(job).await;
                }
            }
            Op::Late { lease, word } => self.late(*lease, *word).await,
            Op::Reap => self.reap().await,
            Op::Expire => {
                let mut expired = answered(self.store.expire(self.now, LIMIT).await);
                expired.sort_by_key(|expired| expired.job);
                self.write("expire", &expired);
            }
            Op::Pass { seconds } => {
                self.now = self.now.after(Duration::from_secs((*seconds).into()))
            }
            Op::Forget => self.forget().await,
            Op::Look => self.look().await,
            Op::Pause { queue: number } => {
                let queue = queue(*number);
                answered(self.store.pause(&queue, &by("pause"), self.now).await);
            }
            Op::Resume { queue: number } => {
                let was_paused = answered(self.store.resume(&queue(*number)).await);
                self.write("resume", &was_paused);
            }
            Op::Cancel { job }
            | Op::Replay { job, .. }
            | Op::Ignore { job }
            | Op::Edit { job, .. } => {
                if let Some(job) = slot(&self.jobs, *job).copied() {
                    self.steer(job, op).await;
                }
            }
        }
    }

    /// Everything on record, and the whole transcript with ids by number.
    pub(super) async fn finish(mut self) -> Vec<String> {
        self.look().await;
        for id in self.jobs.clone() {
            let record = answered(self.store.job(id).await);
            self.write("job", &record);
        }
        let names: Vec<_> = self
            .jobs
            .iter()
            .enumerate()
            .map(|(n, id)| (id.to_string(), n + 1))
            .collect();
        for line in &mut self.transcript {
            for (id, number) in &names {
                if line.contains(id) {
                    *line = line.replace(id, &format!("j{number}"));
                }
            }
        }
        self.transcript
    }

    async fn enqueue(&mut self, drafts: &[Draft]) {
        let batch: Vec<_> = drafts
            .iter()
            .map(|draft| {
                let id = scrambled_id(self.jobs.len());
                self.jobs.push(id);
                draft.job(id, self.now)
            })
            .collect();
        self.hand_in(&batch).await;
        self.batches.push(batch);
    }

    async fn hand_in(&mut self, batch: &[NewJob]) {
        let answers = answered(self.store.enqueue(batch, self.now).await);
        self.write("enqueue", &answers);
    }

    pub(super) async fn settle_and_claim(&mut self, ends: &[End], claim: Option<Claim>) {
        let mut settlements = Vec::new();
        for end in ends {
            if let Some(lease) = recent(&self.leases, end.lease) {
                let effects = self.known(lease.id).await;
                settlements.push(self.settlement(end, lease, &effects));
            }
        }
        self.advance(settlements, claim).await;
    }

    fn settlement(&self, end: &End, lease: &LeasedJob, effects: &[Effect]) -> Settlement {
        let report = match end.how {
            How::Success => {
                Report::Succeeded(Payload::from_store(format!("{{\"roll\":{}}}", end.roll)))
            }
            How::Transient => Report::Failed(Failure::transient("try again")),
            How::Permanent => Report::Failed(Failure::permanent("no such account")),
            How::Unknown => Report::Failed(Failure::unknown("no answer")),
            How::StillUnknown => Report::StillUnknown("no answer yet".into()),
            How::Stopped => Report::Failed(Failure::cancelled("stopped")),
            How::PutOff => {
                Report::Failed(Failure::rate_limited(Duration::from_secs(20), "slow down"))
            }
            How::TimedOut => Report::TimedOut(TimeoutKind::Job),
            How::Released => Report::Released(ErrorText::from("drain")),
            How::Lost => Report::Lost,
        };
        let mut settlement = settle(lease, effects, report, &policy(), self.now, Roll(end.roll));
        settlement.fence.epoch =
            Epoch(settlement.fence.epoch.0 + i64::from(end.epoch_off) * NEVER_GIVEN);
        settlement
    }

    async fn advance(&mut self, ends: Vec<Settlement>, claim: Option<Claim>) {
        let advanced = answered(self.store.advance(&ends, claim.as_ref(), self.now).await);
        self.write("advance", &advanced);
        self.leases.extend(advanced.leased);
        self.latest = Some((ends, claim));
    }

    async fn extend(&mut self, leases: &[u8], seconds: u8, by_heart: bool) {
        let until = self.now.after(Duration::from_secs(seconds.into()));
        let mut extensions: Vec<Extension> = Vec::new();
        for lease in leases.iter().filter_map(|lease| slot(&self.leases, *lease)) {
            if extensions.iter().all(|extension| extension.job != lease.id) {
                extensions.push(Extension {
                    job: lease.id,
                    epoch: lease.state.epoch,
                    until,
                });
            }
        }
        let answers = if by_heart {
            let heart = match &mut self.heart {
                Some(heart) => heart,
                none => none.insert(answered(self.store.heart().await)),
            };
            answered(heart.beat(&extensions, self.now).await).extended
        } else {
            answered(self.store.extend(&extensions, self.now).await)
        };
        self.write("extend", &answers);
    }

    async fn reap(&mut self) {
        let mut lapsed = answered(self.store.lapsed(self.now, LIMIT).await);
        lapsed.sort_by_key(|job| (job.state.lease_until, job.id));
        self.write("lapsed", &lapsed);
        let mut ends = Vec::new();
        for job in &lapsed {
            let effects = self.known(job.id).await;
            let end = settle(job, &effects, Report::Lost, &policy(), self.now, Roll(0));
            ends.push(end);
        }
        let advanced = answered(self.store.advance(&ends, None, self.now).await);
        self.write("reap", &advanced.settled);
    }

    async fn steer(&mut self, job: JobId, op: &Op) {
        let now = self.now;
        match op {
            Op::Cancel { .. } => {
                let answer = answered(self.store.cancel(job, &by("cancel"), now).await);
                self.write("cancel", &(job, answer));
            }
            Op::Replay { effect, .. } => {
                let effect = [None, Some(ReplayEffect::Same), Some(ReplayEffect::New)]
                    [usize::from(*effect) % 3];
                let replay = Replay {
                    effect,
                    by: by("replay"),
                };
                let answer = answered(self.store.replay(job, &replay, now).await);
                self.write("replay", &(job, answer));
            }
            Op::Ignore { .. } => {
                let answer = answered(self.store.ignore(job, &by("ignore"), now).await);
                self.write("ignore", &(job, answer));
            }
            Op::Edit {
                payload: number, ..
            } => {
                let answer = answered(
                    self.store
                        .edit(job, &payload(*number), &by("edit"), now)
                        .await,
                );
                self.write("edit", &(job, answer));
            }
            Op::Enqueue(_)
            | Op::EnqueueAgain { .. }
            | Op::Advance { .. }
            | Op::AdvanceAgain
            | Op::Extend { .. }
            | Op::Hear(_)
            | Op::TimeOut { .. }
            | Op::HearAgain { .. }
            | Op::Hasten { .. }
            | Op::Late { .. }
            | Op::Reap
            | Op::Expire
            | Op::Pause { .. }
            | Op::Resume { .. }
            | Op::Pass { .. }
            | Op::Forget
            | Op::Look => {}
        }
    }

    async fn forget(&mut self) {
        self.now = self.now.after(DAY * 100);
        let mut dropped = 0;
        for _ in 0..STEPS_MAX {
            let step = answered(self.store.maintain(DAY, self.now).await);
            dropped += step.jobs_dropped;
            if !step.more {
                break;
            }
        }
        self.write("maintain", &dropped);
    }

    async fn look(&mut self) {
        self.look_at_effects().await;
        let depth = answered(self.store.depth(self.now).await);
        self.write("depth", &depth);
        let groups = answered(self.store.dead_groups().await);
        self.write("dead_groups", &groups);
        let pauses = answered(self.store.pauses().await);
        self.write("pauses", &pauses);
        let mut before = None;
        // One page more than there can be, so that a store whose pages never end is told from a sound one.
        for _ in 0..=self.jobs.len() {
            let page = answered(self.store.jobs(&JobFilter::default(), before, 5).await);
            self.write("jobs", &page);
            let Some(last) = page.last() else { break };
            before = Some(last.id);
        }
        for number in 0..3 {
            let filter = JobFilter {
                kind: Some(kind(number)),
                queue: Some(queue(0)),
                ..JobFilter::default()
            };
            let page = answered(self.store.jobs(&filter, None, LIMIT).await);
            self.write(
                "filtered",
                &page.iter().map(|job| job.id).collect::<Vec<_>>(),
            );
        }
    }

    pub(super) fn write(&mut self, verb: &str, answer: &dyn Debug) {
        self.transcript.push(format!("{verb} -> {answer:?}"));
    }
}

/// Few attempts, so that programs of some dozen operations see every end.
fn policy() -> JobPolicy {
    JobPolicy {
        attempts_max: 2,
        crashes_max: 2,
        ..JobPolicy::default()
    }
}

fn by(reason: &str) -> By {
    By {
        actor: name(Actor::new("ada")),
        reason: ErrorText::from(reason),
    }
}

/// An id that sorts unlike its place in the order of arrival.
fn scrambled_id(place: usize) -> JobId {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&(place as u64).reverse_bits().rotate_right(8).to_be_bytes());
    JobId::new(START, random)
}

pub(super) fn slot<T>(all: &[T], number: u8) -> Option<&T> {
    all.get(usize::from(number) % all.len().max(1))
}

/// One of the latest four, by half of the numbers, or any.
pub(super) fn recent<T>(all: &[T], number: u8) -> Option<&T> {
    let skipped = if number < 128 {
        all.len().saturating_sub(4)
    } else {
        0
    };
    slot(&all[skipped..], number)
}

pub(super) fn answered<T>(answer: Result<T, StoreError>) -> T {
    match answer {
        Ok(answer) => answer,
        Err(error) => panic!(
            "a verb of a sound store answers: {error}: {:?}",
            std::error::Error::source(&error)
        ),
    }
}

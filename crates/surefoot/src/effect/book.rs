//! What one attempt knows of its job's effects: what was on record when it began, and what it wrote since. It holds a
//! [`Page`] behind a lock and a [`Desk`] to write at; at the end of the attempt it says what is in doubt.

use std::sync::{Arc, Mutex, PoisonError};

use surefoot_core::effect::{EFFECTS_MAX, Effect};
use surefoot_core::failure::Failure;
use surefoot_core::job::LeasedJob;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::EffectWrite;
use surefoot_core::settle::{Report, Settlement};
use surefoot_core::text::ErrorText;
use surefoot_core::time::{Roll, Timestamp};
use tokio::time::Instant;

use super::desk::Desk;
use super::pace::Refusal;
use super::page::Page;
use super::tell;
use super::write::Written;
use crate::checklist::EffectAnswers;
use crate::client::Client;
use crate::cx::CancelCause;
use crate::observe::Event;
use crate::running::Running;

/// See the module.
#[derive(Debug)]
pub(crate) struct Book {
    job: Arc<LeasedJob>,
    running: Arc<Running>,
    desk: Desk,
    page: Mutex<Page>,
}

impl Book {
    pub(crate) fn new(client: Client, job: Arc<LeasedJob>, running: Arc<Running>) -> Self {
        Self::at(Desk::Store(client), job, running)
    }

    /// A book that is written nowhere.
    pub(crate) fn alone(job: Arc<LeasedJob>, running: Arc<Running>) -> Self {
        Self::at(Desk::alone(job.state.started_at), job, running)
    }

    fn at(desk: Desk, job: Arc<LeasedJob>, running: Arc<Running>) -> Self {
        Self {
            job,
            running,
            desk,
            page: Mutex::default(),
        }
    }

    fn page<T>(&self, visit: impl FnOnce(&mut Page) -> T) -> T {
        visit(&mut self.page.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn job(&self) -> &Arc<LeasedJob> {
        &self.job
    }

    pub(crate) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    pub(crate) fn policy(&self) -> &JobPolicy {
        self.desk.policy(&self.job.kind)
    }

    /// The effects that the job's kind is held to, where it is.
    pub(super) fn answered_for(&self) -> Option<&[EffectAnswers]> {
        self.client()?.policies().effects(&self.job.kind)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.desk.now()
    }

    pub(crate) fn roll(&self) -> Roll {
        self.desk.roll()
    }

    pub(super) fn client(&self) -> Option<&Client> {
        self.desk.client()
    }

    /// Takes in what is on record.
    pub(crate) fn load(&self, effects: Vec<Effect>) {
        self.page(|page| page.load(effects));
    }

    /// The place of the effect that the handler comes to.
    pub(crate) fn next_place(&self) -> u32 {
        self.page(Page::next_place)
    }

    pub(super) fn known(&self, place: u32) -> Option<Effect> {
        self.page(|page| page.known.get(&place).cloned())
    }

    /// What somebody else wrote.
    pub(super) fn learn(&self, place: u32, on_record: Option<Effect>) {
        self.page(|page| page.learn(place, on_record));
    }

    /// Whether this attempt may do anything more, at this place.
    pub(super) fn admits(&self, place: u32) -> Result<(), Failure> {
        if place >= EFFECTS_MAX {
            let text = format!("the job comes to more than {EFFECTS_MAX} effects and steps");
            return Err(self.park(Failure::permanent(text).not_sent()));
        }
        match self.page(|page| page.parked.clone()) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Writes an effect down, and takes it in when it is on record.
    pub(super) async fn write(
        &self,
        effect: &Effect,
        lease_until: Option<Timestamp>,
        until: Instant,
    ) -> Written {
        let write = EffectWrite {
            effect: effect.clone(),
            fence: Some(self.job.state.epoch),
            lease_until,
        };
        let written = self.desk.write(write, until).await;
        if let Written::Done = written {
            let before = self.page(|page| page.known.insert(effect.place, effect.clone()));
            if let Some(client) = self.client() {
                tell::tell_changed(client, &self.job.kind, before.as_ref(), effect);
            }
        }
        written
    }

    pub(super) fn sends(&self) {
        self.page(|page| page.sent = true);
    }

    /// Nobody knows what became of an effect.
    pub(super) fn doubts(&self, error: &ErrorText) -> Failure {
        self.page(|page| page.doubted = Some(error.clone()));
        Failure::unknown(error.clone())
    }

    /// Nothing more is done in this attempt.
    pub(super) fn park(&self, failure: Failure) -> Failure {
        self.page(|page| page.parked.get_or_insert(failure).clone())
    }

    /// Nothing is sent, and nothing is in doubt.
    pub(super) fn refuses(&self, refusal: Refusal) -> Failure {
        self.page(|page| page.too_late |= refusal == Refusal::Deadline);
        refusal.failure()
    }

    /// The job runs under another lease, if at all. What this attempt has to say is kept with it.
    pub(super) fn loses(&self, said: ErrorText) -> Failure {
        self.page(|page| page.lost.get_or_insert_with(|| said.clone()).clone());
        let (job, kind, epoch) = (self.job.id, &self.job.kind, self.job.state.epoch);
        if self.running.abandon() {
            tracing::warn!(%job, %kind, %epoch, "the lease was lost");
            if let Some(client) = self.client() {
                client.observer().on(&Event::LeaseLost { job, kind, epoch });
            }
        }
        self.running.cancel(CancelCause::LeaseLost);
        self.park(Failure::cancelled(said).not_sent())
    }

    /// What the attempt had to say when it found its lease lost; `None` where it did not.
    pub(crate) fn lost(&self) -> Option<ErrorText> {
        self.page(|page| page.lost.clone())
    }

    /// What was handed to the handler for its own transaction.
    pub(crate) fn hand(&self, settlement: Settlement) {
        self.page(|page| page.handed = Some(settlement));
    }

    pub(crate) fn handed(&self) -> Option<Settlement> {
        self.page(|page| page.handed.clone())
    }

    /// The job's effects as this attempt knows them, but for those that a person replaced by new ones.
    pub(crate) fn effects(&self) -> Vec<Effect> {
        self.page(|page| page.effects(self.job.generation))
    }

    /// What the attempt reports: what the handler said, unless an effect says otherwise.
    pub(crate) fn report(&self, said: Report) -> Report {
        let (generation, now) = (self.job.generation, self.now());
        self.page(|page| page.report(said, generation, now))
    }
}

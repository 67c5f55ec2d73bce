//! Carries out the operations on effects.

use surefoot_core::effect::Effect;
use surefoot_core::id::JobId;
use surefoot_core::port::EffectWrite;
use surefoot_core::text::ErrorText;

use super::machine::{Machine, NEVER_GIVEN, answered, recent, slot};
use super::news::News;
use super::op::{End, How};

impl Machine {
    /// What is on record of the effects of a job.
    pub(super) async fn known(&self, job: JobId) -> Vec<Effect> {
        answered(self.store.effects(&[job]).await)
    }

    /// Writes what follows from each piece of news on what was on record before all of them, so that two of one effect
    /// stand against one another.
    pub(super) async fn hear(&mut self, all: &[News]) {
        let mut writes = Vec::new();
        for news in all {
            let Some(lease) = recent(&self.leases, news.lease).cloned() else {
                continue;
            };
            let known = self.known(lease.id).await;
            match news.write(&known, &lease, NEVER_GIVEN, self.now) {
                Ok(write) => writes.push(write),
                Err(why) => self.write("nothing to write", &why),
            }
        }
        self.write_effects(writes.clone()).await;
        self.writes.push(writes);
    }

    /// The handler under this lease comes to an effect that can be asked about, and runs out of time.
    pub(super) async fn time_out(&mut self, lease: u8) {
        self.hear(&[News::of_a_call(lease)]).await;
        let end = End {
            lease,
            how: How::TimedOut,
            epoch_off: 0,
            roll: 0,
        };
        self.settle_and_claim(&[end], None).await;
    }

    pub(super) async fn write_effects(&mut self, writes: Vec<EffectWrite>) {
        let answers = answered(self.store.write_effects(&writes, self.now).await);
        self.write("write_effects", &answers);
    }

    pub(super) async fn hasten(&mut self, job: JobId) {
        let hastened = answered(self.store.hasten(job, self.now).await);
        let verb = if hastened { "hastened" } else { "not hastened" };
        self.write(verb, &job);
    }

    pub(super) async fn late(&mut self, lease: u8, word: u8) {
        let Some(lease) = slot(&self.leases, lease) else {
            return;
        };
        let (job, epoch) = (lease.id, lease.state.epoch);
        let said = ErrorText::from(format!("word {word}"));
        let kept = answered(self.store.late(job, epoch, &said).await);
        self.write("late", &(job, epoch, kept));
    }

    /// The effects of every job, in one call.
    pub(super) async fn look_at_effects(&mut self) {
        let effects = answered(self.store.effects(&self.jobs).await);
        self.write("effects", &effects);
    }
}

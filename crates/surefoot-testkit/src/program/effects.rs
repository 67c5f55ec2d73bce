//! Carries out the operations on effects.

use surefoot_core::effect::Effect;
use surefoot_core::id::JobId;
use surefoot_core::port::EffectWrite;
use surefoot_core::text::ErrorText;

use super::machine::{Machine, NEVER_GIVEN, answered, slot};
use super::news::News;

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

/// One of the latest four, by half of the numbers, or any.
fn recent<T>(all: &[T], number: u8) -> Option<&T> {
    let skipped = if number < 128 {
        all.len().saturating_sub(4)
    } else {
        0
    };
    slot(&all[skipped..], number)
}

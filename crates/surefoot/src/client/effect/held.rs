//! Who holds a job whose effect somebody writes about, and the write itself: under the epoch of the lease, or not at all.

use surefoot_core::effect::Effect;
use surefoot_core::error::StoreError;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{EffectWrite, EffectWritten};
use surefoot_core::time::Timestamp;

use crate::client::Client;
use crate::holder;

/// Who holds a job.
pub(super) enum Holder {
    /// This pull worker.
    Worker(Box<LeasedJob>),
    /// A node of the engine.
    Node,
    /// Somebody under another epoch, or nobody.
    Other,
    /// There is no such job.
    NoJob,
}

impl Client {
    pub(super) async fn held(&self, job: JobId, epoch: Epoch) -> Result<Holder, StoreError> {
        Ok(match self.leased(job, epoch).await? {
            None => Holder::NoJob,
            Some(Err(_)) => Holder::Other,
            Some(Ok(leased)) if holder::is_node(&leased.state.worker) => Holder::Node,
            Some(Ok(leased)) => Holder::Worker(Box::new(leased)),
        })
    }

    pub(super) async fn write_held(
        &self,
        job: &LeasedJob,
        effect: &Effect,
        lease_until: Option<Timestamp>,
    ) -> Result<EffectWritten, StoreError> {
        let write = EffectWrite {
            effect: effect.clone(),
            fence: Some(job.state.epoch),
            lease_until,
        };
        self.write_one(write).await
    }

    pub(in crate::client) async fn write_one(
        &self,
        write: EffectWrite,
    ) -> Result<EffectWritten, StoreError> {
        let mut answers = self.store.write_effects(&[write], self.now()).await?;
        answers
            .pop()
            .ok_or_else(|| StoreError::Broken("a write of an effect had no answer".to_owned()))
    }
}

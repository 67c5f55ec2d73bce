//! Looking. Nothing here changes anything.

use surefoot_core::error::StoreError;
use surefoot_core::id::{JobId, Key, Kind, Tenant};
use surefoot_core::job::Job;
use surefoot_core::port::{DeadGroup, Depth, JobFilter, JobRecord};

use super::Client;

impl Client {
    /// One job with its attempts, revisions and actions.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn job(&self, job: JobId) -> Result<Option<JobRecord>, StoreError> {
        self.store.job(job).await
    }

    /// The job that holds a key.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn find(
        &self,
        tenant: &Tenant,
        kind: &Kind,
        key: &Key,
    ) -> Result<Option<JobId>, StoreError> {
        self.store.find(tenant, kind, key).await
    }

    /// Jobs that match, the latest first, those before `before`, at most `limit` and
    /// [`PAGE_MAX`](surefoot_core::port::PAGE_MAX).
    ///
    /// # Errors
    /// What the store answered.
    pub async fn jobs(
        &self,
        filter: &JobFilter,
        before: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, StoreError> {
        self.store.jobs(filter, before, limit).await
    }

    /// Dead letters by kind, reason and error fingerprint, the largest group first.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn dead_groups(&self) -> Result<Vec<DeadGroup>, StoreError> {
        self.store.dead_groups().await
    }

    /// How much waits, runs and is dead.
    ///
    /// # Errors
    /// What the store answered.
    pub async fn depth(&self) -> Result<Depth, StoreError> {
        self.store.depth(self.now()).await
    }
}

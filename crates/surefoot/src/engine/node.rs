//! What the loops of one node share.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use surefoot_core::id::{Kind, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::KindTerms;
use surefoot_core::time::Timestamp;

use super::EngineOptions;
use super::health::LastTime;
use crate::client::Client;
use crate::clock::NodeClock;
use crate::handler::Handler;

/// One start of a node.
pub(super) struct Node {
    pub(super) client: Client,
    pub(super) clock: Arc<NodeClock>,
    pub(super) worker: Worker,
    pub(super) handlers: HashMap<Kind, Arc<dyn Handler>>,
    pub(super) options: EngineOptions,
    /// When the store last answered a claim, or no claim was needed.
    pub(super) claimed: LastTime,
    /// When the store last answered a heartbeat.
    pub(super) beat: LastTime,
    pub(super) lost_claims: LostClaims,
}

impl Node {
    /// The terms under which this node claims, one entry for each kind it has a handler for.
    pub(super) fn terms(&self) -> Vec<KindTerms> {
        let mut kinds: Vec<&Kind> = self.handlers.keys().collect();
        kinds.sort();
        kinds
            .into_iter()
            .map(|kind| self.client.policies().terms(kind))
            .collect()
    }

    /// The shortest lease among the kinds that run here.
    pub(super) fn lease_min(&self) -> Option<Duration> {
        self.handlers
            .keys()
            .map(|kind| self.client.policies().policy(kind).lease)
            .min()
    }

    /// Whether a running job was claimed by this node and never came to run here, because the answer to the claim was
    /// lost on its way.
    pub(super) fn never_started(&self, job: &LeasedJob) -> bool {
        let run = &job.state;
        run.worker == self.worker
            && self.lost_claims.holds(run.started_at)
            && self.client.local().running.get(job.id, run.epoch).is_none()
    }
}

/// The times of the claims whose answers were lost. A claim writes its time as the start of each attempt, so these
/// times tell the attempts that nobody began from those of an earlier process under the same name.
#[derive(Debug, Default)]
pub(super) struct LostClaims(Mutex<VecDeque<Timestamp>>);

impl LostClaims {
    /// The most that are remembered; what an earlier one took lapses.
    const MAX: usize = 64;

    pub(super) fn insert(&self, now: Timestamp) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.len() >= Self::MAX {
            times.pop_front();
        }
        times.push_back(now);
    }

    fn holds(&self, time: Timestamp) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&time)
    }
}

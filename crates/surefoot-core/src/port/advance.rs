//! Settling what ran and claiming what runs next.

use crate::id::{Kind, Queue, Worker};
use crate::job::LeasedJob;
use crate::policy::Recovery;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a worker would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who claims.
    pub worker: Worker,
    /// The kinds it can run, each with its terms. Jobs of other kinds are left alone.
    pub kinds: Vec<KindTerms>,
    /// Which queues it serves.
    pub queues: Queues,
    /// How many jobs of a queue may run at once over all nodes; a queue that is not named has no limit.
    pub queue_limits: BTreeMap<Queue, u32>,
    /// The most jobs to claim, at most [`BATCH_MAX`].
    pub max: u32,
}

/// Which queues a claim takes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Queues {
    /// Every queue there is.
    All,
    /// These.
    Only(Vec<Queue>),
}

/// The terms under which a kind is claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindTerms {
    /// Which kind.
    pub kind: Kind,
    /// How long the lease holds.
    pub lease: Duration,
    /// Written on the lease, for whoever finds it lost.
    pub recovery: Option<Recovery>,
    /// How many jobs of this kind run at once over all nodes.
    pub concurrency_max: Option<u32>,
    /// How many jobs of this kind and one concurrency key run at once over all nodes.
    pub concurrency_per_key_max: Option<u32>,
}

/// What [`Store::advance`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// For each settlement, what became of it.
    pub settled: Vec<Settled>,
    /// What was claimed: fair over queues; within a queue by priority, due time and age.
    pub leased: Vec<LeasedJob>,
    /// When the next job of the claimed kinds and queues becomes due, if one is waiting for its time.
    pub next_due: Option<Timestamp>,
}

/// What became of a settlement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// It was applied.
    Applied,
    /// It had been applied already: the same call, repeated.
    Already,
    /// The job is not running under this epoch (or not lapsed) any more. Nothing was written.
    Stale,
}

//! The routes, a file for each thing they are about. A route reads, asks the client and answers; it decides nothing.

pub(crate) mod dead;
pub(crate) mod dependencies;
pub(crate) mod effects;
pub(crate) mod events;
pub(crate) mod jobs;
pub(crate) mod leases;
pub(crate) mod messages;
pub(crate) mod probes;
pub(crate) mod queues;
pub(crate) mod requests;
pub(crate) mod steer;

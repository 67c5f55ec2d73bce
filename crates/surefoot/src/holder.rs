//! Who may hold a lease: a node of the engine, or a pull worker. The two must never be taken for one another, for a
//! node's handler may be in the middle of its call while somebody else reports how that call went.

use surefoot_core::id::{NameError, Worker};

/// What the name of every node begins with, and no name of a pull worker.
pub const NODE_PREFIX: &str = "node:";

/// Whether a lease under this name is held by a node of the engine.
pub(crate) fn is_node(worker: &Worker) -> bool {
    worker.as_str().starts_with(NODE_PREFIX)
}

/// A node's name: [`NODE_PREFIX`], and what it is called.
///
/// # Errors
/// The name is longer than a worker's may be, prefix and all.
pub(crate) fn node(name: &str) -> Result<Worker, NameError> {
    Worker::new(format!("{NODE_PREFIX}{name}"))
}

//! `queues`.

use surefoot_core::id::Queue;

use super::people::ByArgs;

/// What `queues` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum QueuesCommand {
    /// List queues with what waits, runs and is dead, and which are paused
    List,
    /// Stop claims from a queue on all nodes; what runs goes on. Who and why are kept until it is resumed
    Pause(PauseArgs),
    /// Let claims from a queue go on; the record of the pause ends with it
    Resume {
        /// Which queue
        queue: Queue,
    },
}

/// Arguments of `queues pause`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PauseArgs {
    /// Which queue
    pub(crate) queue: Queue,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

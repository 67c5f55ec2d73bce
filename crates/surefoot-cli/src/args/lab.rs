//! `lab`.

use super::experiments::{AmplificationArgs, JitterArgs, PlotArgs};

/// What `lab` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabCommand {
    /// How many calls reach a dead service when several layers retry
    Amplification(AmplificationArgs),
    /// How clients that failed together come back: all at once, or spread
    Jitter(JitterArgs),
    /// What a breaker does while a service is down and comes back
    Breaker(PlotArgs),
}

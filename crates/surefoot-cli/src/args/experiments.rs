//! The experiments of `lab` in simulated time.

use std::path::PathBuf;

use clap::ValueHint;

/// Where the plot goes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlotArgs {
    /// Draw a plot into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}

/// Arguments of `lab amplification`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AmplificationArgs {
    /// How many layers lie above the service
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=6))]
    pub(crate) layers: u32,
    /// How often each layer tries
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) tries: u32,
    #[command(flatten)]
    pub(crate) plot: PlotArgs,
}

/// Arguments of `lab jitter`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JitterArgs {
    /// How many clients fail at once
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) clients: u32,
    /// How many times each tries again
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) rounds: u32,
    /// How many runs with dice of their own; the figures are their mean
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) seeds: u32,
    #[command(flatten)]
    pub(crate) plot: PlotArgs,
}

//! `dead`.

use std::time::Duration;

use surefoot_core::id::{JobId, Kind};
use surefoot_core::port::ReplayEffect;
use surefoot_core::text::ErrorFingerprint;

use super::jobs::limit;
use super::people::ByArgs;
use super::value::{self, PayloadArgs};

/// What `dead` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum DeadCommand {
    /// List dead letters, grouped by kind, reason and error
    List(ListArgs),
    /// Show one dead letter with its attempts, edits and what people did
    Show {
        /// Which job, such as a LATEST JOB of `dead list`
        #[arg(value_parser = letter)]
        job: JobId,
    },
    /// Replace the payload of a dead letter; the earlier one is kept
    Edit(EditArgs),
    /// Run a dead letter again, or all with one fingerprint: one first as a canary, then the rest
    Replay(Box<ReplayArgs>),
    /// Set a dead letter aside for good
    Ignore(IgnoreArgs),
}

/// Arguments of `dead list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only this kind
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// The single letters with this fingerprint instead of groups
    #[arg(long)]
    pub(crate) fingerprint: Option<ErrorFingerprint>,
    /// Only letters enqueued before this job: the last one of the page before
    #[arg(long, value_name = "JOB", requires = "fingerprint")]
    pub(crate) before: Option<JobId>,
    /// How many at most, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = limit)]
    pub(crate) limit: u32,
}

/// Arguments of `dead edit`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EditArgs {
    /// Which job, such as a LATEST JOB of `dead list`
    #[arg(value_parser = letter)]
    pub(crate) job: JobId,
    #[command(flatten)]
    pub(crate) payload: PayloadArgs,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

/// Arguments of `dead replay`.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "which", required = true, multiple = false, args = ["job", "fingerprint"])]
pub(crate) struct ReplayArgs {
    /// Which job, such as a LATEST JOB of `dead list`
    #[arg(value_parser = letter)]
    pub(crate) job: Option<JobId>,
    /// All dead letters with this fingerprint, whatever their reason: one fault may end some jobs as exhausted and
    /// others as unknown, and those of unknown outcome are refused without --effect
    #[arg(long)]
    pub(crate) fingerprint: Option<ErrorFingerprint>,
    /// How many at most, the canary included
    #[arg(long, conflicts_with = "job", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max: Option<u32>,
    /// Replay all at once instead of waiting for the latest one to succeed first
    #[arg(long, conflicts_with = "job")]
    pub(crate) no_canary: bool,
    /// How long the canary may take, such as 90s or 1h
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = value::duration, conflicts_with = "job")]
    pub(crate) canary_wait: Duration,
    /// Whether the provider sees the same effect (the same key) or a new one; needed where the outcome is unknown
    #[arg(long)]
    pub(crate) effect: Option<EffectArg>,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

/// Whether a replay is the same effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum EffectArg {
    /// The same provider key as before
    Same,
    /// A new provider key: the provider may do it again
    New,
}

impl From<EffectArg> for ReplayEffect {
    fn from(effect: EffectArg) -> Self {
        match effect {
            EffectArg::Same => Self::Same,
            EffectArg::New => Self::New,
        }
    }
}

/// Arguments of `dead ignore`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct IgnoreArgs {
    /// Which job, such as a LATEST JOB of `dead list`
    #[arg(value_parser = letter)]
    pub(crate) job: JobId,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

/// A dead letter, named by its job. `dead list` shows the fingerprint of a group first, so who gives that one is told.
fn letter(text: &str) -> Result<JobId, String> {
    text.parse::<JobId>().map_err(|error| {
        if text.parse::<ErrorFingerprint>().is_ok() {
            format!(
                "that is the fingerprint of a group; see its letters with: surefoot dead list --fingerprint {text}"
            )
        } else {
            error.to_string()
        }
    })
}

//! `jobs`.

use std::time::Duration;

use surefoot_core::id::{ConcurrencyKey, JobId, Key, Kind, OrderKey, Queue, Tenant};
use surefoot_core::job::{PRIORITY_RANGE, StateName};
use surefoot_core::time::Timestamp;

use super::people::ByArgs;
use super::value::{self, PayloadArgs};

/// The most jobs on one page, as on one of the API.
const LIMIT_MAX: u32 = 200;

/// What `jobs` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum JobsCommand {
    /// Hand in a job; with a key, the same job is never handed in twice
    Enqueue(Box<EnqueueArgs>),
    /// List jobs, the latest first
    List(ListArgs),
    /// Show one job with its attempts
    Show {
        /// Which job
        job: JobId,
    },
    /// Withdraw a job: at once when it waits, by request when it runs
    Cancel(CancelArgs),
}

/// Arguments of `jobs enqueue`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct EnqueueArgs {
    /// What the job does
    pub(crate) kind: Kind,
    #[command(flatten)]
    pub(crate) payload: PayloadArgs,
    /// What makes it one intent
    #[arg(long)]
    pub(crate) key: Option<Key>,
    /// Where it waits
    #[arg(long, default_value = "default")]
    pub(crate) queue: Queue,
    /// The earliest time it runs, such as 2026-11-30T10:32:00Z
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) run_at: Option<Timestamp>,
    /// How long it waits before it runs, such as 90s, 15m or 2h30m
    #[arg(long = "in", value_name = "DURATION", value_parser = value::duration, conflicts_with = "run_at")]
    pub(crate) delay: Option<Duration>,
    /// A higher number runs earlier, -100 to 100
    #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_parser = priority)]
    pub(crate) priority: i16,
    /// Jobs of one order key run one at a time, first in first out
    #[arg(long, value_name = "KEY")]
    pub(crate) order_key: Option<OrderKey>,
    /// Jobs of one kind and concurrency key share the kind's limit per key
    #[arg(long, value_name = "KEY")]
    pub(crate) concurrency_key: Option<ConcurrencyKey>,
    /// After this no attempt starts, such as 2026-11-30T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = value::time)]
    pub(crate) deadline_at: Option<Timestamp>,
    /// Whose it is
    #[arg(long, default_value = "default")]
    pub(crate) tenant: Tenant,
}

fn priority(text: &str) -> Result<i16, String> {
    value::whole(text, PRIORITY_RANGE)
}

/// Arguments of `jobs list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only jobs in this state
    #[arg(long, value_parser = value::state())]
    pub(crate) state: Option<StateName>,
    /// Only jobs of this kind
    #[arg(long)]
    pub(crate) kind: Option<Kind>,
    /// Only jobs of this queue
    #[arg(long)]
    pub(crate) queue: Option<Queue>,
    /// Only jobs with this key
    #[arg(long)]
    pub(crate) key: Option<Key>,
    /// Only jobs of this tenant
    #[arg(long)]
    pub(crate) tenant: Option<Tenant>,
    /// Only jobs enqueued before this one: the last one of the page before
    #[arg(long, value_name = "JOB")]
    pub(crate) before: Option<JobId>,
    /// How many at most, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = limit)]
    pub(crate) limit: u32,
}

/// A page's size.
pub(super) fn limit(text: &str) -> Result<u32, String> {
    value::whole(text, 1..=LIMIT_MAX)
}

/// Arguments of `jobs cancel`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// Which job
    pub(crate) job: JobId,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

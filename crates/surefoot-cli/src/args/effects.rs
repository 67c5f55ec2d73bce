//! `effects`.

use surefoot_core::effect::Verdict;
use surefoot_core::id::JobId;
use surefoot_core::payload::Payload;

use super::people::ByArgs;
use super::value;

/// What `effects` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum EffectsCommand {
    /// List the effects of a job: what it did outside, or may have done
    List {
        /// Which job
        job: JobId,
    },
    /// Say what became of an effect that nobody knows the outcome of; its job goes on by it
    Resolve(Box<ResolveArgs>),
}

/// Arguments of `effects resolve`.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "verdict", required = true, multiple = false, args = ["happened", "did_not_happen"])]
pub(crate) struct ResolveArgs {
    /// The provider key, as `effects list` shows it
    pub(crate) key: String,
    /// It happened, with this result, one JSON value [default: null]
    #[arg(long, value_name = "JSON", num_args = 0..=1, default_missing_value = "null", value_parser = value::payload)]
    happened: Option<Payload>,
    /// It did not happen: it may be sent again, under the same key
    #[arg(long)]
    did_not_happen: bool,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

impl ResolveArgs {
    /// What was said.
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.happened {
            Some(result) => Verdict::Happened {
                result: result.clone(),
                cost: None,
            },
            None => Verdict::DidNotHappen,
        }
    }
}

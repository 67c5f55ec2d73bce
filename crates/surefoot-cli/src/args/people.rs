//! Who acts and why: both are kept with the job for good.

use surefoot_core::id::Actor;
use surefoot_core::port::By;
use surefoot_core::text::ErrorText;

use super::value;

/// Who acts and why.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ByArgs {
    /// Why; kept with the record
    #[arg(long, value_parser = value::reason)]
    reason: ErrorText,
    /// Who; kept with the record [default: $USER, $LOGNAME or $USERNAME]
    #[arg(long, env = "SUREFOOT_ACTOR")]
    actor: Option<Actor>,
}

/// Nobody is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not known who you are: none of $USER, $LOGNAME and $USERNAME is set")]
pub(crate) struct ActorUnknown;

impl ByArgs {
    /// Who and why; the user's name is taken from the environment when no actor is given.
    ///
    /// # Errors
    /// [`ActorUnknown`] when the environment has no name either.
    pub(crate) fn by(&self) -> Result<By, ActorUnknown> {
        let from_environment = || {
            let names = ["USER", "LOGNAME", "USERNAME"]
                .iter()
                .filter_map(|name| std::env::var(name).ok());
            names.filter_map(|name| Actor::new(name).ok()).next()
        };
        let actor = self
            .actor
            .clone()
            .or_else(from_environment)
            .ok_or(ActorUnknown)?;
        Ok(By {
            actor,
            reason: self.reason.clone(),
        })
    }
}

//! Writes one effect down, again and again while the store is away, and never longer than it was told. A repeated write is
//! harmless: the store answers that it has it.

use surefoot_core::port::{EffectWrite, EffectWritten};
use tokio::time::{Instant, sleep, timeout_at};

use crate::client::Client;
use crate::dice::Rest;

/// What became of a write.
pub(crate) enum Written {
    /// It is on record.
    Done,
    /// Somebody else wrote first; this is on record, or nothing is.
    Changed(Option<Box<surefoot_core::effect::Effect>>),
    /// The job does not run under this lease any more.
    Lost,
    /// The store did not answer in time: nobody knows whether it is on record.
    Unsure,
}

/// See the module.
pub(crate) async fn write(client: &Client, write: EffectWrite, until: Instant) -> Written {
    let mut rest = Rest::new();
    let writes = [write];
    loop {
        let answer = timeout_at(until, client.store().write_effects(&writes, client.now())).await;
        match answer {
            Err(_) => return Written::Unsure,
            Ok(Ok(mut answers)) => {
                return match answers.pop() {
                    Some(EffectWritten::Applied | EffectWritten::Already) => Written::Done,
                    Some(EffectWritten::Changed(on_record)) => Written::Changed(on_record),
                    Some(EffectWritten::Stale | EffectWritten::NotFound) => Written::Lost,
                    None => Written::Unsure,
                };
            }
            Ok(Err(error)) if error.is_transient() => {
                let pause = rest.after_failure(client.dice());
                if Instant::now() + pause >= until {
                    return Written::Unsure;
                }
                sleep(pause).await;
            }
            Ok(Err(error)) => {
                let effect = &writes[0].effect;
                tracing::error!(job = %effect.job, effect = %effect.name, %error, "an effect cannot be written");
                return Written::Unsure;
            }
        }
    }
}

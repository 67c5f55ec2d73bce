//! `effects`: what jobs did outside, and the word of a person on what nobody knows.

use serde::Serialize;
use serde_json::json;
use surefoot::{Client, Resolved};
use surefoot_core::effect::Witness;
use surefoot_core::id::JobId;
use surefoot_server::documents;

use super::database::{self, Place};
use crate::args::{EffectsCommand, ResolveArgs};
use crate::exit::{Code, Failed};
use crate::output::{Output, effects_text, utc};

pub(super) async fn run(
    place: &Place,
    command: EffectsCommand,
    output: Output,
) -> Result<(), Failed> {
    let client = place.existing_client().await?;
    match command {
        EffectsCommand::List { job } => list(&client, job, output).await,
        EffectsCommand::Resolve(args) => resolve(&client, *args, output).await,
    }
}

/// The effects of a job.
#[derive(Serialize)]
struct Effects<E> {
    job: String,
    effects: Vec<E>,
}

async fn list(client: &Client, job: JobId, output: Output) -> Result<(), Failed> {
    let record = database::job(client, job).await?;
    let effects = client.effects(record.job.id).await?;
    let documents: Vec<_> = effects.iter().map(documents::effect).collect();
    let document = Effects {
        job: job.to_string(),
        effects: documents,
    };
    output.answer(&document, || effects_text(&effects))?;
    Ok(())
}

async fn resolve(client: &Client, args: ResolveArgs, output: Output) -> Result<(), Failed> {
    let (key, verdict) = (args.key.as_str(), args.verdict());
    let said = verdict.as_str();
    let by = Witness::Person(args.by.by()?);
    let (job, settled) = match client.resolve(key, verdict, by).await? {
        Resolved::Settled { job, .. } => (job, true),
        Resolved::Same { job } => (job, false),
        Resolved::Disputed { job } => {
            return Err(Failed::new(
                Code::Refused,
                format!(
                    "somebody said otherwise of {key} before; what you said is on record as a dispute"
                ),
                format!("look at it with: surefoot effects list {job}"),
            ));
        }
        Resolved::TooEarly { until } => {
            return Err(Failed::new(
                Code::Refused,
                format!(
                    "the call under {key} may still take effect until {}",
                    utc(until)
                ),
                "say it again after that",
            ));
        }
        Resolved::NoVerdict => {
            return Err(Failed::new(
                Code::Refused,
                "this says nothing about what happened",
                "",
            ));
        }
        Resolved::NotFound => {
            return Err(Failed::new(
                Code::NotFound,
                format!("no effect is on record under {key}"),
                "list those of a job with: surefoot effects list JOB",
            ));
        }
    };
    client.flush().await;
    let document = json!({ "key": key, "job": job.to_string(), "said": said, "settled": settled });
    let text = if settled {
        format!("{said}: job {job} goes on by it")
    } else {
        format!("{said}: that was known before")
    };
    output.answer(&document, || text)?;
    Ok(())
}

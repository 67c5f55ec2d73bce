//! `dead`: what waits for a person, and what a person does about it.

use serde_json::json;
use surefoot::Client;
use surefoot_core::id::JobId;
use surefoot_core::job::{JobState, StateName};
use surefoot_core::port::{DeadGroup, JobFilter, PAGE_MAX, Steered};
use surefoot_server::documents;

use super::database::{self, Place, no_such_job, see};
use super::{jobs, replay};
use crate::args::{DeadCommand, DeadListArgs, EditArgs, IgnoreArgs};
use crate::exit::{Code, Failed};
use crate::output::{Output, Table, utc};

pub(super) async fn run(place: &Place, command: DeadCommand, output: Output) -> Result<(), Failed> {
    let client = place.existing_client().await?;
    match command {
        DeadCommand::List(args) => list(&client, args, output).await,
        DeadCommand::Show { job } => jobs::show(&client, job, output).await,
        DeadCommand::Edit(args) => edit(&client, args, output).await,
        DeadCommand::Replay(args) => replay::run(&client, *args, output).await,
        DeadCommand::Ignore(args) => ignore(&client, args, output).await,
    }
}

async fn list(client: &Client, args: DeadListArgs, output: Output) -> Result<(), Failed> {
    if let Some(fingerprint) = args.fingerprint {
        let filter = JobFilter {
            state: Some(StateName::Dead),
            kind: args.kind,
            fingerprint: Some(fingerprint),
            ..JobFilter::default()
        };
        return jobs::page(client, &filter, args.before, args.limit, output).await;
    }
    let mut groups = client.dead_groups().await?;
    let page_full = groups.len() >= usize::try_from(PAGE_MAX).unwrap_or(usize::MAX);
    groups.retain(|group| args.kind.as_ref().is_none_or(|kind| *kind == group.kind));
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    // Beyond a full page of the store nobody looked.
    let more = page_full || groups.len() > limit;
    groups.truncate(limit);
    let document = documents::dead_groups(&groups, more);
    output.answer(&document, || {
        let note = if more { MORE_GROUPS } else { "" };
        format!("{}{note}", groups_table(&groups))
    })?;
    Ok(())
}

/// The largest groups come first, so that the ones left out are the smallest.
const MORE_GROUPS: &str =
    "\n\nthere may be more groups, none of them larger: raise --limit, or narrow with --kind";

fn groups_table(groups: &[DeadGroup]) -> String {
    if groups.is_empty() {
        return "no dead letters".to_owned();
    }
    let mut table = Table::new([
        "fingerprint",
        "count",
        "kind",
        "reason",
        "oldest",
        "latest",
        "latest job",
        "error",
    ]);
    for group in groups {
        table.row([
            group.fingerprint.to_string(),
            group.count.to_string(),
            group.kind.to_string(),
            group.reason.as_str().to_owned(),
            utc(group.oldest_at),
            utc(group.latest_at),
            group.latest.to_string(),
            group.error.to_string(),
        ]);
    }
    table.text()
}

async fn edit(client: &Client, args: EditArgs, output: Output) -> Result<(), Failed> {
    let payload = args.payload.read()?.ok_or_else(|| {
        Failed::new(
            Code::Usage,
            "there is no payload",
            "give it with --payload JSON or --payload-file FILE",
        )
    })?;
    steered(
        args.job,
        client.edit(args.job, &payload, &args.by.by()?).await?,
    )?;
    let record = database::job(client, args.job).await?;
    let document = json!({ "job": args.job.to_string(), "state": StateName::Dead.as_str() });
    output.answer(&document, || {
        let how = how_to_replay(&record.job.state);
        format!(
            "replaced the payload of job {0}; run it with: surefoot dead replay {0} {how}",
            args.job
        )
    })?;
    Ok(())
}

/// What a replay needs after the payload was edited. A provider may refuse another payload under a key that it knows.
fn how_to_replay(state: &JobState) -> &'static str {
    match state {
        JobState::Dead(death) if death.reason.needs_effect_choice() => {
            "--reason ... --effect same|new\n\
             find out first whether the effect happened. same: the provider sees the new payload under the key that it \
             knows, and may refuse it. new: under another key, so that it may happen twice"
        }
        JobState::Dead(_)
        | JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Succeeded { .. }
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => {
            "--reason ...\n\
             the provider sees it under the same key; where it refuses another payload under a key that it knows, add: \
             --effect new"
        }
    }
}

async fn ignore(client: &Client, args: IgnoreArgs, output: Output) -> Result<(), Failed> {
    steered(args.job, client.ignore(args.job, &args.by.by()?).await?)?;
    let document = json!({ "job": args.job.to_string(), "state": StateName::Ignored.as_str() });
    output.answer(&document, || format!("set job {} aside", args.job))?;
    Ok(())
}

/// What became of an order, as success or failure.
pub(super) fn steered(job: JobId, answer: Steered) -> Result<(), Failed> {
    match answer {
        Steered::Done => Ok(()),
        Steered::Refused(state) => {
            let what = format!(
                "job {job} is {}; only a dead letter can be changed",
                state.as_str()
            );
            Err(Failed::new(Code::Refused, what, see(job)))
        }
        Steered::NeedsEffectChoice => Err(Failed::new(
            Code::Refused,
            format!("nobody knows whether the effect of job {job} happened"),
            "find out, then say with --effect same (the provider sees the same key) or --effect new (it may do it \
             again); if it happened, use: surefoot dead ignore",
        )),
        Steered::NotFound => Err(no_such_job(job)),
    }
}

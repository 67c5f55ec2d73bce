//! `jobs`: hand in, look, withdraw.

use serde_json::json;
use surefoot::{Client, Intent};
use surefoot_core::id::{JobId, Kind};
use surefoot_core::job::{Job, JobState, StateName};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Cancelled, Enqueued, JobFilter, Pause};
use surefoot_server::documents;

use super::database::{self, Place, no_such_job, see};
use super::queues;
use crate::args::{CancelArgs, EnqueueArgs, JobsCommand, ListArgs, Shared};
use crate::exit::{Code, Failed};
use crate::output::{Output, job_text, jobs_table};

pub(super) async fn run(
    shared: &Shared,
    command: JobsCommand,
    output: Output,
) -> Result<(), Failed> {
    let database = || Place::of_database(shared);
    match command {
        JobsCommand::Enqueue(args) => {
            let payload = args.payload.read()?.unwrap_or_else(Payload::null);
            // The deadline of a job is by the policy of its kind.
            enqueue(&Place::new(shared)?, *args, payload, output).await
        }
        JobsCommand::List(args) => list(&database()?.existing_client().await?, args, output).await,
        JobsCommand::Show { job } => show(&database()?.existing_client().await?, job, output).await,
        JobsCommand::Cancel(args) => {
            cancel(&database()?.existing_client().await?, args, output).await
        }
    }
}

async fn enqueue(
    place: &Place,
    args: EnqueueArgs,
    payload: Payload,
    output: Output,
) -> Result<(), Failed> {
    let client = place.existing_client().await?;
    let unconfigured = unconfigured(place, &args.kind);
    let intent = Intent {
        tenant: args.tenant,
        key: args.key,
        queue: args.queue,
        priority: args.priority,
        order_key: args.order_key,
        concurrency_key: args.concurrency_key,
        run_at: args
            .run_at
            .or(args.delay.map(|delay| client.now().after(delay))),
        deadline_at: args.deadline_at,
        ..Intent::new(args.kind, payload)
    };
    let enqueued = client.enqueue(intent).await?;
    client.flush().await;
    let (job, outcome) = match enqueued {
        Enqueued::Created(job) => (job, "created"),
        Enqueued::Existing(job) => (job, "existing"),
        Enqueued::Conflict(job) => {
            let what = format!(
                "the key belongs to job {job}, which has another payload; nothing was enqueued"
            );
            return Err(Failed::new(
                Code::Refused,
                what,
                format!("see it with: surefoot jobs show {job}"),
            ));
        }
    };
    let document = json!({ "outcome": outcome, "id": job.to_string() });
    output.answer(&document, || format!("{outcome} job {job}{unconfigured}"))?;
    Ok(())
}

/// A remark on a kind that the configuration does not know, as one with a typing error.
fn unconfigured(place: &Place, kind: &Kind) -> String {
    match &place.config_file {
        Some(file) if !place.config.kinds.contains_key(kind) => format!(
            "\n{} has no [job.{kind}]: it waits for a worker or a program that takes this kind",
            file.display()
        ),
        Some(_) | None => String::new(),
    }
}

async fn list(client: &Client, args: ListArgs, output: Output) -> Result<(), Failed> {
    let filter = JobFilter {
        tenant: args.tenant,
        state: args.state,
        kind: args.kind,
        queue: args.queue,
        key: args.key,
        fingerprint: None,
    };
    page(client, &filter, args.before, args.limit, output).await
}

/// Prints one page of jobs, and how to see the next one.
pub(super) async fn page(
    client: &Client,
    filter: &JobFilter,
    before: Option<JobId>,
    limit: u32,
    output: Output,
) -> Result<(), Failed> {
    let jobs = client.jobs(filter, before, limit + 1).await?;
    let pauses = client.pauses().await?;
    let shown = &jobs[..jobs.len().min(usize::try_from(limit).unwrap_or(usize::MAX))];
    let next = shown
        .last()
        .filter(|_| jobs.len() > shown.len())
        .map(|job| job.id);
    output.answer(&documents::jobs(&jobs, limit, client.now()), || {
        let more = next
            .map(|job| format!("\n\nmore with: --before {job}"))
            .unwrap_or_default();
        format!("{}{more}{}", jobs_table(shown), paused(shown, &pauses))
    })?;
    Ok(())
}

/// A remark for each paused queue in which one of these jobs waits.
fn paused(jobs: &[Job], pauses: &[Pause]) -> String {
    let waits = |pause: &&Pause| {
        jobs.iter()
            .any(|job| job.queue == pause.queue && waits_for_a_claim(&job.state))
    };
    let lines = pauses.iter().filter(waits).map(|pause| {
        let since = queues::since(pause);
        format!("\nqueue {} is paused {since}", pause.queue)
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        lines
    } else {
        format!("\n{lines}")
    }
}

const fn waits_for_a_claim(state: &JobState) -> bool {
    match state {
        JobState::Pending { .. } | JobState::Retrying { .. } | JobState::Verifying { .. } => true,
        JobState::Running(_)
        | JobState::Succeeded { .. }
        | JobState::Dead(_)
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => false,
    }
}

/// Prints one job with its records.
pub(super) async fn show(client: &Client, job: JobId, output: Output) -> Result<(), Failed> {
    let record = database::job(client, job).await?;
    let effects = client.effects(record.job.id).await?;
    let pauses = client.pauses().await?;
    let document = documents::job(&record, &effects, client.now());
    output.answer(&document, || {
        let paused = paused(std::slice::from_ref(&record.job), &pauses);
        format!("{}{paused}", job_text(&record, &effects))
    })?;
    Ok(())
}

async fn cancel(client: &Client, args: CancelArgs, output: Output) -> Result<(), Failed> {
    let job = args.job;
    let (state, requested, text) = match client.cancel(job, &args.by.by()?).await? {
        Cancelled::Done => (StateName::Cancelled, false, format!("cancelled job {job}")),
        Cancelled::Requested => (
            StateName::Running,
            true,
            format!("job {job} runs; its handler is asked to stop"),
        ),
        Cancelled::Refused(state) => {
            let what = format!("job {job} is {} and cannot be cancelled", state.as_str());
            let hint = match state {
                StateName::Dead => {
                    format!("set it aside with: surefoot dead ignore {job} --reason ...")
                }
                StateName::Pending
                | StateName::Running
                | StateName::Retrying
                | StateName::Verifying
                | StateName::Succeeded
                | StateName::Cancelled
                | StateName::Ignored => see(job),
            };
            return Err(Failed::new(Code::Refused, what, hint));
        }
        Cancelled::NotFound => return Err(no_such_job(job)),
    };
    let document =
        json!({ "job": job.to_string(), "state": state.as_str(), "cancel_requested": requested });
    output.answer(&document, || text)?;
    Ok(())
}

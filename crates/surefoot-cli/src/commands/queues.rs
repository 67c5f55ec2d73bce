//! `queues`: how much waits in each, and which are paused.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use surefoot::Client;
use surefoot_core::id::Queue;
use surefoot_core::job::StateName;
use surefoot_core::port::{Depth, Pause};
use surefoot_server::documents;

use super::database::Place;
use crate::args::{PauseArgs, QueuesCommand};
use crate::exit::Failed;
use crate::output::{Output, Table, utc};

pub(super) async fn run(
    place: &Place,
    command: QueuesCommand,
    output: Output,
) -> Result<(), Failed> {
    let client = place.existing_client().await?;
    match command {
        QueuesCommand::List => list(&client, output).await,
        QueuesCommand::Pause(args) => pause(&client, &args, output).await,
        QueuesCommand::Resume { queue } => resume(&client, &queue, output).await,
    }
}

async fn pause(client: &Client, args: &PauseArgs, output: Output) -> Result<(), Failed> {
    let (queue, by) = (&args.queue, args.by.by()?);
    let pauses = client.pauses().await?;
    let earlier = pauses.iter().find(|pause| pause.queue == *queue);
    client.pause(queue, &by).await?;
    let document = json!({
        "queue": queue.as_str(),
        "paused": true,
        "was_paused": earlier.is_some(),
    });
    output.answer(&document, || match earlier {
        Some(pause) => format!("queue {queue} was paused already, {}", since(pause)),
        None => format!("paused queue {queue}; what runs goes on"),
    })?;
    Ok(())
}

/// Since when a queue is paused, by whom and why.
pub(super) fn since(pause: &Pause) -> String {
    format!(
        "since {} by {}: {}",
        utc(pause.at),
        pause.by.actor,
        pause.by.reason
    )
}

async fn resume(client: &Client, queue: &Queue, output: Output) -> Result<(), Failed> {
    let was_paused = client.resume(queue).await?;
    client.flush().await;
    let document = json!({ "queue": queue.as_str(), "paused": false, "was_paused": was_paused });
    output.answer(&document, || {
        if was_paused {
            format!("resumed queue {queue}")
        } else {
            format!("queue {queue} was not paused")
        }
    })?;
    Ok(())
}

async fn list(client: &Client, output: Output) -> Result<(), Failed> {
    let (depth, pauses) = (client.depth().await?, client.pauses().await?);
    output.answer(&documents::queues(&depth, &pauses), || {
        table(&depth, &pauses)
    })?;
    Ok(())
}

fn table(depth: &Depth, pauses: &[Pause]) -> String {
    let mut counts: BTreeMap<(&Queue, StateName), u64> = BTreeMap::new();
    for line in &depth.counts {
        *counts.entry((&line.queue, line.state)).or_default() += line.count;
    }
    let of_jobs = depth.counts.iter().map(|line| &line.queue);
    let queues: BTreeSet<&Queue> = of_jobs
        .chain(pauses.iter().map(|pause| &pause.queue))
        .collect();
    if queues.is_empty() {
        return "no queue has jobs or is paused".to_owned();
    }
    let mut table = Table::new([
        "queue",
        "pending",
        "running",
        "retrying",
        "verifying",
        "dead",
        "paused",
    ]);
    for queue in queues {
        let count = |state| {
            counts
                .get(&(queue, state))
                .copied()
                .unwrap_or_default()
                .to_string()
        };
        let pause = pauses.iter().find(|pause| pause.queue == *queue);
        table.row([
            queue.to_string(),
            count(StateName::Pending),
            count(StateName::Running),
            count(StateName::Retrying),
            count(StateName::Verifying),
            count(StateName::Dead),
            pause.map(since).unwrap_or_default(),
        ]);
    }
    table.text()
}

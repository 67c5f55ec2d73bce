//! Jobs for people.

use surefoot_core::effect::Effect;
use surefoot_core::job::{Attempt, Job, JobState};
use surefoot_core::port::{Action, JobRecord, Revision};

use super::effect::effects_table;
use super::table::{Table, plain};
use super::time::utc;

/// A line for each job.
pub(crate) fn jobs_table(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "no jobs".to_owned();
    }
    let mut table = Table::new([
        "job", "kind", "key", "queue", "state", "enqueued", "when", "what",
    ]);
    for job in jobs {
        let (when, what) = state_in_words(&job.state);
        table.row([
            job.id.to_string(),
            job.kind.to_string(),
            job.key
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            job.queue.to_string(),
            job.state.name().as_str().to_owned(),
            utc(job.enqueued_at),
            when,
            what,
        ]);
    }
    table.text()
}

/// What a state's time is, and what there is to say about it.
fn state_in_words(state: &JobState) -> (String, String) {
    match state {
        JobState::Pending { due_at } => (format!("due {}", utc(*due_at)), String::new()),
        JobState::Running(run) => (
            format!("since {}", utc(run.started_at)),
            run.worker.to_string(),
        ),
        JobState::Retrying { due_at, error } | JobState::Verifying { due_at, error } => {
            (format!("due {}", utc(*due_at)), error.to_string())
        }
        JobState::Succeeded { at, .. } => (utc(*at), String::new()),
        JobState::Dead(death) => (
            utc(death.at),
            format!("{}: {}", death.reason.as_str(), death.error),
        ),
        JobState::Cancelled { at, reason } | JobState::Ignored { at, reason } => {
            (utc(*at), reason.to_string())
        }
    }
}

/// All that is on record about a job and its effects.
pub(crate) fn job_text(record: &JobRecord, effects: &[Effect]) -> String {
    let job = &record.job;
    let mut lines = vec![
        format!("job         {}", job.id),
        format!("kind        {}", job.kind),
        format!("queue       {}", job.queue),
        format!("state       {}", state_line(&job.state)),
        format!("enqueued    {}", utc(job.enqueued_at)),
    ];
    let mut optional = |name: &str, value: Option<String>| {
        lines.extend(value.map(|value| format!("{name:<11} {value}")));
    };
    optional("key", job.key.as_ref().map(ToString::to_string));
    optional("order key", job.order_key.as_ref().map(ToString::to_string));
    optional("deadline", job.deadline_at.map(utc));
    optional("payload", Some(plain(job.payload.as_str())));
    match &job.state {
        JobState::Succeeded { result, .. } => optional("result", Some(plain(result.as_str()))),
        JobState::Retrying { error, .. } | JobState::Verifying { error, .. } => {
            optional("error", Some(plain(error.as_str())));
        }
        JobState::Dead(death) => {
            optional("error", Some(plain(death.error.as_str())));
            optional("fingerprint", Some(death.fingerprint.to_string()));
        }
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => {}
    }
    let mut text = lines.join("\n");
    text.push_str(&section("attempts", attempts(&record.attempts)));
    text.push_str(&section("effects", effects_table(effects)));
    text.push_str(&section("edits", revisions(&record.revisions)));
    text.push_str(&section("what people did", actions(&record.actions)));
    text
}

fn state_line(state: &JobState) -> String {
    let (when, _) = state_in_words(state);
    match state {
        JobState::Dead(death) => format!("dead ({}) {when}", death.reason.as_str()),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Succeeded { .. }
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => format!("{} {when}", state.name().as_str()),
    }
}

fn section(title: &str, table: Option<Table>) -> String {
    table
        .map(|table| format!("\n\n{title}\n{}", table.text()))
        .unwrap_or_default()
}

fn attempts(attempts: &[Attempt]) -> Option<Table> {
    let mut table = Table::new([
        "no", "epoch", "worker", "started", "ended", "outcome", "error",
    ]);
    for attempt in attempts {
        table.row([
            attempt.number.to_string(),
            attempt.epoch.to_string(),
            attempt.worker.to_string(),
            utc(attempt.started_at),
            attempt.ended_at.map(utc).unwrap_or_default(),
            attempt
                .outcome
                .map_or("running", |outcome| outcome.as_str())
                .to_owned(),
            attempt
                .error
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        ]);
    }
    (!attempts.is_empty()).then_some(table)
}

fn revisions(revisions: &[Revision]) -> Option<Table> {
    let mut table = Table::new(["no", "replaced", "by", "why", "payload before"]);
    for revision in revisions {
        table.row([
            revision.number.to_string(),
            utc(revision.replaced_at),
            revision.by.actor.to_string(),
            revision.by.reason.to_string(),
            revision.payload.as_str().to_owned(),
        ]);
    }
    (!revisions.is_empty()).then_some(table)
}

fn actions(actions: &[Action]) -> Option<Table> {
    let mut table = Table::new(["when", "what", "by", "why"]);
    for action in actions {
        table.row([
            utc(action.at),
            action.verb.as_str().to_owned(),
            action.by.actor.to_string(),
            action.by.reason.to_string(),
        ]);
    }
    (!actions.is_empty()).then_some(table)
}

//! `dead replay`: one dead letter, or all with one fingerprint. Of many, the latest goes first as a canary, and only
//! when it succeeded do the others follow.

use std::time::Duration;

use serde::Serialize;
use surefoot::{Changed, Client, Seen};
use surefoot_core::id::JobId;
use surefoot_core::job::{JobState, StateName};
use surefoot_core::port::{JobFilter, PAGE_MAX, Replay, Steered};
use surefoot_core::text::ErrorFingerprint;
use tokio::time::Instant;

use super::dead::steered;
use crate::args::ReplayArgs;
use crate::exit::{Code, Failed};
use crate::output::{Output, Progress};

/// How many refusals are listed; all are counted.
const REFUSED_MAX: usize = 20;

/// What a replay did.
#[derive(Debug, Default, Serialize)]
struct Replayed {
    replayed: u64,
    canary: Option<String>,
    refused: u64,
    /// The first refusals.
    refusals: Vec<Refusal>,
}

#[derive(Debug, Serialize)]
struct Refusal {
    job: String,
    why: &'static str,
}

pub(super) async fn run(client: &Client, args: ReplayArgs, output: Output) -> Result<(), Failed> {
    let replay = Replay {
        effect: args.effect.map(Into::into),
        by: args.by.by()?,
    };
    let mut done = Replayed::default();
    match (args.job, args.fingerprint) {
        (Some(job), _) => {
            steered(job, client.replay(job, &replay).await?)?;
            done.replayed = 1;
        }
        (None, Some(fingerprint)) => {
            let group = Group {
                client,
                fingerprint,
                replay,
                max: args.max.map_or(u64::MAX, u64::from),
            };
            let canary = (!args.no_canary).then_some(args.canary_wait);
            group.replay_all(canary, &mut done).await?;
        }
        (None, None) => {}
    }
    output.answer(&done, || {
        let refused = if done.refused > 0 {
            format!(", {} refused", done.refused)
        } else {
            String::new()
        };
        let look = match args.job {
            Some(job) => format!("; see it with: surefoot jobs show {job}"),
            None => String::new(),
        };
        format!("{} made pending again{refused}{look}", done.replayed)
    })?;
    Ok(())
}

/// All dead letters with one fingerprint.
struct Group<'a> {
    client: &'a Client,
    fingerprint: ErrorFingerprint,
    replay: Replay,
    max: u64,
}

impl Group<'_> {
    async fn replay_all(
        &self,
        canary_wait: Option<Duration>,
        done: &mut Replayed,
    ) -> Result<(), Failed> {
        let mut page = self.page(None).await?;
        let Some(latest) = page.first().copied() else {
            let what = format!(
                "there is no dead letter with fingerprint {}",
                self.fingerprint
            );
            return Err(Failed::new(
                Code::NotFound,
                what,
                "see what there is with: surefoot dead list",
            ));
        };
        if let Some(wait) = canary_wait {
            steered(latest, self.client.replay(latest, &self.replay).await?)?;
            self.canary_succeeds(latest, wait).await?;
            done.canary = Some(latest.to_string());
            done.replayed = 1;
            page.remove(0);
        }
        let progress = Progress::steps(self.count().await?.min(self.max), "replaying".to_owned());
        let mut before = latest;
        while done.replayed < self.max {
            for job in page {
                if done.replayed >= self.max {
                    break;
                }
                self.replay_one(job, done).await?;
                progress.step();
                before = job;
            }
            page = self.page(Some(before)).await?;
            if page.is_empty() {
                break;
            }
        }
        Ok(())
    }

    async fn replay_one(&self, job: JobId, done: &mut Replayed) -> Result<(), Failed> {
        let why = match self.client.replay(job, &self.replay).await? {
            Steered::Done => {
                done.replayed += 1;
                return Ok(());
            }
            Steered::Refused(_) | Steered::NotFound => "it is no dead letter any more",
            Steered::NeedsEffectChoice => {
                "its outcome is unknown: say --effect same or --effect new"
            }
        };
        done.refused += 1;
        if done.refusals.len() < REFUSED_MAX {
            done.refusals.push(Refusal {
                job: job.to_string(),
                why,
            });
        }
        Ok(())
    }

    /// Letters of the group, the latest first. Each is seen once, also when a replayed one dies again meanwhile.
    async fn page(&self, before: Option<JobId>) -> Result<Vec<JobId>, Failed> {
        let filter = JobFilter {
            state: Some(StateName::Dead),
            fingerprint: Some(self.fingerprint),
            ..JobFilter::default()
        };
        let jobs = self.client.jobs(&filter, before, PAGE_MAX).await?;
        Ok(jobs.into_iter().map(|job| job.id).collect())
    }

    async fn count(&self) -> Result<u64, Failed> {
        let groups = self.client.dead_groups().await?;
        Ok(groups
            .iter()
            .filter(|group| group.fingerprint == self.fingerprint)
            .map(|group| group.count)
            .sum())
    }

    /// Waits until the canary is settled.
    async fn canary_succeeds(&self, job: JobId, wait: Duration) -> Result<(), Failed> {
        let progress = Progress::waiting(format!("canary {job} is pending"));
        let ends_at = Instant::now() + wait;
        let mut seen: Option<Seen> = None;
        loop {
            let left = ends_at.saturating_duration_since(Instant::now());
            let record = match self.client.changed(job, seen.as_ref(), left).await? {
                Changed::To(record) => record,
                Changed::Same => return Err(not_settled(job)),
                Changed::NotFound => return Err(super::database::no_such_job(job)),
            };
            let state = record.job.state.name();
            progress.say(format!("canary {job} is {}", state.as_str()));
            match &record.job.state {
                JobState::Succeeded { .. } => return Ok(()),
                JobState::Dead(death) => {
                    return Err(canary_failed(
                        job,
                        &format!("is dead again ({}): {}", death.reason.as_str(), death.error),
                    ));
                }
                JobState::Cancelled { .. } | JobState::Ignored { .. } => {
                    return Err(canary_failed(job, &format!("is {}", state.as_str())));
                }
                JobState::Pending { .. }
                | JobState::Running(_)
                | JobState::Retrying { .. }
                | JobState::Verifying { .. } => {}
            }
            seen = Some(Seen::from(&*record));
            if left.is_zero() {
                return Err(not_settled(job));
            }
        }
    }
}

fn canary_failed(job: JobId, how: &str) -> Failed {
    Failed::new(
        Code::CanaryFailed,
        format!("canary {job} {how}; nothing else was replayed"),
        "mend the cause (or edit the payload) and replay again",
    )
}

fn not_settled(job: JobId) -> Failed {
    Failed::new(
        Code::CanaryFailed,
        format!("canary {job} was not settled in time; nothing else was replayed"),
        "check that an engine runs its kind; wait longer with --canary-wait, or do without with --no-canary",
    )
}

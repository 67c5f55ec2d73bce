//! Runs a schedule against real processes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::time::Instant;

use super::schedule::{Planned, Round, manners, schedule};
use super::{ChaosOptions, ChaosReport, RecoveryReport};
use crate::api::{self, Api, HandedIn};
use crate::count::{Count, Seen};
use crate::error::LabError;
use crate::intent::{AMOUNT, payload};
use crate::node::{Node, Recovery, configuration};
use crate::provider::{Books, Provider};
use crate::wait;

/// How long handing in one intent may take, over all tries.
const HAND_IN_MAX: Duration = Duration::from_secs(120);
/// How long to wait before an intent is handed in again.
const HAND_IN_PAUSE: Duration = Duration::from_millis(50);
/// How long it may take until everything has ended after the last round.
const END_MAX: Duration = Duration::from_secs(180);
/// How long to watch afterwards, for what comes late.
const WATCH: Duration = Duration::from_secs(3);
/// One kill in so many must have lost an attempt, or the run proves nothing.
const LOST_ONE_IN: usize = 4;

/// An intent that was acknowledged.
struct Acknowledged {
    planned: Planned,
    job: String,
}

/// Runs the schedule, calling `told` after each round with its number from 1.
///
/// # Errors
/// [`LabError`] when it could not be measured. What Surefoot does wrong stands in the report.
pub async fn run(options: &ChaosOptions, told: impl Fn(usize)) -> Result<ChaosReport, LabError> {
    let provider = Provider::start(manners(options.seed))?;
    let folder = TempDir::with_prefix("surefoot-lab-").map_err(LabError::io("make a folder"))?;
    std::fs::write(
        folder.path().join("surefoot.toml"),
        configuration(&provider.url()),
    )
    .map_err(LabError::io("write surefoot.toml"))?;
    let mut crowd = Crowd::start(options, folder.path()).await?;
    let mut acknowledged = Vec::new();
    for (number, round) in schedule(options.seed, options.rounds, options.nodes)
        .into_iter()
        .enumerate()
    {
        acknowledged.extend(play(&mut crowd, round).await?);
        told(number + 1);
    }
    let api = crowd.api(0);
    wait::holds(END_MAX, async || api.all_ended().await).await?;
    tokio::time::sleep(WATCH).await;
    let report = count(options, &api, &acknowledged, &provider).await?;
    check_hit(&report)?;
    Ok(report)
}

/// The nodes, and where they are reached at present.
struct Crowd {
    program: PathBuf,
    folder: PathBuf,
    database: String,
    nodes: Vec<Option<Node>>,
    apis: Mutex<Vec<Api>>,
}

impl Crowd {
    async fn start(options: &ChaosOptions, folder: &Path) -> Result<Self, LabError> {
        let database = options
            .postgres
            .clone()
            .unwrap_or_else(|| "sqlite:surefoot.db".to_owned());
        let mut crowd = Self {
            program: options.program.clone(),
            folder: folder.to_owned(),
            database,
            nodes: Vec::new(),
            apis: Mutex::default(),
        };
        for place in 0..options.nodes {
            let node = crowd.node(place).await?;
            crowd.apis_mut().push(node.api.clone());
            crowd.nodes.push(Some(node));
        }
        if !crowd.api(0).is_empty().await? {
            return Err(LabError::NotEmpty);
        }
        Ok(crowd)
    }

    async fn node(&self, place: usize) -> Result<Node, LabError> {
        let log = self.folder.join(format!("node-{place}.log"));
        Node::start(&self.program, &self.folder, &self.database, log).await
    }

    /// A node's API, as it is reached at present.
    fn api(&self, place: usize) -> Api {
        let apis = self.apis_mut();
        apis[place % apis.len()].clone()
    }

    fn apis_mut(&self) -> std::sync::MutexGuard<'_, Vec<Api>> {
        self.apis.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hands in while a node is killed and started again.
async fn play(crowd: &mut Crowd, round: Round) -> Result<Vec<Acknowledged>, LabError> {
    let victim = crowd.nodes.get_mut(round.victim).and_then(Option::take);
    let shared = &*crowd;
    let strike = async {
        tokio::time::sleep(round.after).await;
        if let Some(victim) = victim {
            victim.process.kill();
        }
        let node = shared.node(round.victim).await?;
        shared.apis_mut()[round.victim] = node.api.clone();
        Ok::<_, LabError>(node)
    };
    let hand_in = async {
        let mut acknowledged = Vec::new();
        for (place, planned) in round.intents.into_iter().enumerate() {
            let job = hand_in(shared, &planned, place).await?;
            acknowledged.push(Acknowledged { planned, job });
        }
        Ok(acknowledged)
    };
    let (node, acknowledged) = tokio::try_join!(strike, hand_in)?;
    crowd.nodes[round.victim] = Some(node);
    Ok(acknowledged)
}

/// Hands an intent in until somebody acknowledges it. A node that dies before it answers may have taken it: the same key
/// makes it one intent.
async fn hand_in(crowd: &Crowd, planned: &Planned, first: usize) -> Result<String, LabError> {
    let asked = payload(&planned.intent, AMOUNT);
    let ends_at = Instant::now() + HAND_IN_MAX;
    for place in first.. {
        let api = crowd.api(place);
        let handed = api
            .hand_in(planned.recovery.kind(), &planned.intent, &asked)
            .await;
        match handed {
            Ok(HandedIn::There(job)) => return Ok(job),
            Ok(HandedIn::Refused) => break,
            Err(_) if Instant::now() < ends_at => tokio::time::sleep(HAND_IN_PAUSE).await,
            Err(error) => return Err(error),
        }
    }
    Err(LabError::Late {
        what: format!("handing in {}", planned.intent),
        within: HAND_IN_MAX,
    })
}

async fn count(
    options: &ChaosOptions,
    api: &Api,
    acknowledged: &[Acknowledged],
    provider: &Provider,
) -> Result<ChaosReport, LabError> {
    let mut jobs = Vec::with_capacity(acknowledged.len());
    for one in acknowledged {
        jobs.push((one, api.job(&one.job).await?));
    }
    let books = provider.books();
    let attempts = || {
        jobs.iter()
            .filter_map(|(_, job)| job["attempts"].as_array())
            .flatten()
    };
    let mut wrong = Vec::new();
    let recoveries = [
        ("verify", Recovery::Verify),
        ("at_most_once", Recovery::AtMostOnce),
    ];
    let recoveries = recoveries.map(|(word, recovery)| {
        let mine = jobs
            .iter()
            .filter(|(one, _)| one.planned.recovery == recovery);
        let mut report = RecoveryReport {
            recovery: word,
            intents: 0,
            count: Count::default(),
        };
        for (one, job) in mine {
            let alone = alone(one, job, &books, recovery);
            if let Some(fault) = alone.1.filter(|_| wrong.len() < ChaosReport::WRONG_MAX) {
                wrong.push(fault);
            }
            report.intents += 1;
            report.count.merge(&alone.0);
        }
        report
    });
    Ok(ChaosReport {
        seed: options.seed,
        kills: options.rounds,
        nodes: options.nodes,
        attempts_lost: attempts()
            .filter(|attempt| attempt["outcome"] == "lost")
            .count(),
        attempts_unrecorded: attempts()
            .filter(|attempt| attempt["outcome"].is_null())
            .count(),
        unanswered: books.unanswered,
        asked: books.asked,
        recoveries: recoveries.into(),
        wrong,
    })
}

/// What came of one intent, and what is wrong with it. Under `verify` nothing waits for a person: the provider answers
/// every question.
fn alone(
    one: &Acknowledged,
    job: &Value,
    books: &Books,
    recovery: Recovery,
) -> (Count, Option<String>) {
    let intent = &one.planned.intent;
    let at_last = [api::standing(job)];
    let mut count = Count::default();
    count.add(
        &Seen {
            intent,
            ended: &[],
            at_last: &at_last,
        },
        books,
    );
    let right = match recovery {
        Recovery::Verify => count.done == 1 && books.applied(intent) == 1,
        Recovery::AtMostOnce => count.done + count.waits_for_person == 1,
    };
    let fault = (!right || !count.is_clean()).then(|| {
        format!(
            "{intent}: took effect {} times, stands as {at_last:?}: {job}",
            books.applied(intent)
        )
    });
    (count, fault)
}

fn check_hit(report: &ChaosReport) -> Result<(), LabError> {
    let floor = report.kills.div_ceil(LOST_ONE_IN);
    if report.attempts_lost >= floor {
        return Ok(());
    }
    Err(LabError::Missed {
        what: format!("{} kills", report.kills),
        hit: report.attempts_lost,
        of: report
            .recoveries
            .iter()
            .map(|recovery| recovery.intents)
            .sum(),
        floor,
    })
}

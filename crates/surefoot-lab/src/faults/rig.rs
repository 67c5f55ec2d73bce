//! One contestant set up: its database, its workers, and how to hand in and look.

use std::path::PathBuf;

use tempfile::TempDir;

use super::freeze::freeze;
use super::{Contestant, FaultOptions};
use crate::api::{self, HandedIn};
use crate::error::LabError;
use crate::intent::{AMOUNT, OTHER_AMOUNT, payload};
use crate::node::{Node, Recovery, configuration};
use crate::plain::Table;
use crate::process::Process;
use crate::standing::Standing;

/// Where Surefoot keeps its jobs, in the rig's folder.
const SUREFOOT_FILE: &str = "surefoot.db";
/// Where the plain loop keeps its rows, in the rig's folder.
const PLAIN_FILE: &str = "plain.db";

/// How the intents stand: each with the standing of every job that it became.
pub(super) type Standings = Vec<Vec<Standing>>;

/// One contestant, set up.
pub(super) struct Rig {
    side: Side,
    program: PathBuf,
    folder: TempDir,
    intents: Vec<String>,
    starts: usize,
}

enum Side {
    Surefoot {
        recovery: Recovery,
        nodes: Vec<Node>,
        jobs: Vec<String>,
    },
    Plain {
        arguments: Vec<String>,
        workers: Vec<Process>,
        table: Table,
    },
}

impl Rig {
    /// Without any worker yet.
    pub(super) fn new(
        options: &FaultOptions,
        contestant: Contestant,
        provider: &str,
    ) -> Result<Self, LabError> {
        let folder =
            TempDir::with_prefix("surefoot-lab-").map_err(LabError::io("make a folder"))?;
        let side = match contestant.recovery() {
            Some(recovery) => {
                std::fs::write(folder.path().join("surefoot.toml"), configuration(provider))
                    .map_err(LabError::io("write surefoot.toml"))?;
                Side::Surefoot {
                    recovery,
                    nodes: Vec::new(),
                    jobs: Vec::new(),
                }
            }
            None => {
                let rows = folder.path().join(PLAIN_FILE);
                let mut arguments = options.plain_worker.clone();
                arguments.push(rows.display().to_string());
                arguments.push(provider.to_owned());
                Side::Plain {
                    arguments,
                    workers: Vec::new(),
                    table: Table::open(&rows)?,
                }
            }
        };
        Ok(Self {
            side,
            program: options.program.clone(),
            folder,
            intents: (1..=options.intents)
                .map(|number| format!("intent-{number}"))
                .collect(),
            starts: 0,
        })
    }

    pub(super) fn intents(&self) -> &[String] {
        &self.intents
    }

    /// Starts a worker and waits until it is ready.
    pub(super) async fn start_worker(&mut self) -> Result<(), LabError> {
        self.starts += 1;
        let folder = self.folder.path();
        let log = folder.join(format!("worker-{}.log", self.starts));
        match &mut self.side {
            Side::Surefoot { nodes, .. } => {
                let database = format!("sqlite:{SUREFOOT_FILE}");
                let node = Node::start(&self.program, folder, &database, log).await?;
                nodes.push(node);
            }
            Side::Plain {
                arguments, workers, ..
            } => {
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let (worker, _) = Process::start(&self.program, &arguments, folder, log).await?;
                workers.push(worker);
            }
        }
        Ok(())
    }

    /// `kill -9` of the first worker.
    pub(super) fn kill_first(&mut self) {
        match &mut self.side {
            Side::Surefoot { nodes, .. } => nodes.remove(0).process.kill(),
            Side::Plain { workers, .. } => workers.remove(0).kill(),
        }
    }

    /// Stops the first worker, but not in the middle of a commit.
    pub(super) async fn freeze_first(&self) -> Result<(), LabError> {
        let file = match &self.side {
            Side::Surefoot { .. } => SUREFOOT_FILE,
            Side::Plain { .. } => PLAIN_FILE,
        };
        match self.first() {
            Some(first) => freeze(first, &self.folder.path().join(file)).await,
            None => Ok(()),
        }
    }

    /// The first worker's process.
    pub(super) fn first(&self) -> Option<&Process> {
        match &self.side {
            Side::Surefoot { nodes, .. } => nodes.first().map(|node| &node.process),
            Side::Plain { workers, .. } => workers.first(),
        }
    }

    /// Hands all intents in, so that they become due at once.
    pub(super) async fn hand_in(&mut self) -> Result<(), LabError> {
        match &mut self.side {
            Side::Surefoot {
                recovery,
                nodes,
                jobs,
            } => {
                let Some(node) = nodes.first() else {
                    return Ok(());
                };
                node.api.pause().await?;
                for intent in &self.intents {
                    let asked = payload(intent, AMOUNT);
                    let handed = node.api.hand_in(recovery.kind(), intent, &asked).await?;
                    if let HandedIn::There(id) = handed {
                        jobs.push(id);
                    }
                }
                node.api.resume().await
            }
            Side::Plain { table, .. } => self
                .intents
                .iter()
                .try_for_each(|intent| table.hand_in(&payload(intent, AMOUNT).to_string())),
        }
    }

    /// Hands all intents in again under their keys, with another payload. The plain loop has no keys: it takes it for
    /// another job.
    pub(super) async fn hand_in_otherwise(&mut self) -> Result<(), LabError> {
        for intent in &self.intents {
            let asked = payload(intent, OTHER_AMOUNT);
            match &mut self.side {
                Side::Surefoot {
                    recovery,
                    nodes,
                    jobs,
                } => {
                    let Some(node) = nodes.first() else {
                        return Ok(());
                    };
                    // Taken after all, it is one more job, and the books will show it.
                    if let HandedIn::There(id) =
                        node.api.hand_in(recovery.kind(), intent, &asked).await?
                    {
                        jobs.push(id);
                    }
                }
                Side::Plain { table, .. } => table.hand_in(&asked.to_string())?,
            }
        }
        Ok(())
    }

    /// Whether nothing goes on by itself any more, as the last worker sees it.
    pub(super) async fn all_ended(&self) -> Result<bool, LabError> {
        match &self.side {
            Side::Surefoot { nodes, .. } => match nodes.last() {
                Some(node) => node.api.all_ended().await,
                None => Ok(false),
            },
            Side::Plain { table, .. } => {
                Ok(table.all()?.iter().all(|(_, standing)| !standing.is_open()))
            }
        }
    }

    /// How each intent stands, as the last worker sees it.
    pub(super) async fn standings(&self) -> Result<Standings, LabError> {
        let mut jobs = Vec::new();
        match &self.side {
            Side::Surefoot {
                nodes, jobs: ids, ..
            } => {
                let Some(node) = nodes.last() else {
                    return Ok(Vec::new());
                };
                for id in ids {
                    let job = node.api.job(id).await?;
                    jobs.push((job["payload"].to_string(), api::standing(&job)));
                }
            }
            Side::Plain { table, .. } => jobs = table.all()?,
        }
        let of = |intent: &String| {
            let mark = format!("\"{intent}\"");
            let mine = jobs.iter().filter(|(payload, _)| payload.contains(&mark));
            mine.map(|(_, standing)| standing.clone()).collect()
        };
        Ok(self.intents.iter().map(of).collect())
    }
}

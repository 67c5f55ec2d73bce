//! Single enqueues of concurrent callers share a statement and its commit. While one statement is under way, what comes
//! in waits and goes with the next one; alone, a call goes at once. A caller that holds up the others (a key that some open
//! transaction holds, a row that the database refuses) is taken out and gets a statement of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Enqueued, NewJob};
use surefoot_core::time::Timestamp;
use tokio::sync::oneshot;

use super::call::Caller;
use super::enqueue::{self, Item, Patience, STATEMENT_BYTES_MAX};
use super::fault::{Shared, sqlstate};

/// A call with more jobs than this gains nothing from company.
pub(super) const CALL_JOBS_MAX: usize = 32;
/// How many jobs may wait; beyond, a caller is turned away.
const WAITING_JOBS_MAX: usize = 20_000;

pub(super) struct Group {
    caller: Arc<Caller>,
    /// How many statements are under way at once. They share the server's flushes to the disk, as single ones would.
    statements_max: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    calls: VecDeque<Enqueue>,
    jobs: usize,
    statements: usize,
}

/// A call and where its answer goes.
struct Enqueue {
    jobs: Vec<NewJob>,
    now: Timestamp,
    answer: oneshot::Sender<Result<Vec<Enqueued>, StoreError>>,
}

impl Group {
    /// A group over `caller`, which leaves a quarter of its `connections` to other verbs.
    pub(super) fn new(caller: Arc<Caller>, connections: u32) -> Self {
        Self {
            caller,
            statements_max: (connections as usize * 3 / 4).max(1),
            waiting: Mutex::default(),
        }
    }

    /// Writes the jobs of one call down together with those of others.
    pub(super) async fn enqueue(
        self: &Arc<Self>,
        jobs: &[NewJob],
        now: Timestamp,
    ) -> Result<Vec<Enqueued>, StoreError> {
        let (answer, told) = oneshot::channel();
        self.join(Enqueue {
            jobs: jobs.to_vec(),
            now,
            answer,
        })?;
        told.await
            .unwrap_or_else(|gone| Err(StoreError::Unavailable(gone.into())))
    }

    fn join(self: &Arc<Self>, call: Enqueue) -> Result<(), StoreError> {
        let mut waiting = self.waiting();
        if waiting.jobs + call.jobs.len() > WAITING_JOBS_MAX {
            return Err(StoreError::Unavailable(
                "too many jobs wait to be written down".into(),
            ));
        }
        waiting.jobs += call.jobs.len();
        waiting.calls.push_back(call);
        if waiting.statements < self.statements_max {
            waiting.statements += 1;
            drop(waiting);
            let runner = Runner {
                group: self.clone(),
                in_place: true,
            };
            tokio::spawn(runner.run());
        }
        Ok(())
    }

    /// The calls of the next statement. When nobody waits, the runner gives up its place before anybody else can look.
    fn next(&self, runner: &mut Runner) -> Vec<Enqueue> {
        let mut waiting = self.waiting();
        if waiting.calls.is_empty() {
            waiting.statements -= 1;
            runner.in_place = false;
            return Vec::new();
        }
        let (mut calls, mut jobs, mut bytes) = (Vec::new(), 0, 0);
        while let Some(call) = waiting.calls.front() {
            jobs += call.jobs.len();
            bytes += call
                .jobs
                .iter()
                .map(|job| job.payload.as_str().len())
                .sum::<usize>();
            if !calls.is_empty() && (jobs > BATCH_MAX || bytes > STATEMENT_BYTES_MAX) {
                break;
            }
            waiting.jobs -= call.jobs.len();
            calls.extend(waiting.calls.pop_front());
        }
        calls
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs statements until nobody waits. Dropped at any moment, it leaves its place to another.
struct Runner {
    group: Arc<Group>,
    in_place: bool,
}

impl Drop for Runner {
    fn drop(&mut self) {
        if self.in_place {
            self.group.waiting().statements -= 1;
        }
    }
}

impl Runner {
    async fn run(mut self) {
        let group = self.group.clone();
        loop {
            let calls = group.next(&mut self);
            if calls.is_empty() {
                return;
            }
            together(&group.caller, calls).await;
        }
    }
}

async fn together(caller: &Arc<Caller>, calls: Vec<Enqueue>) {
    let items: Vec<Item<'_>> = calls
        .iter()
        .flat_map(|call| call.jobs.iter().map(|job| (job, call.now)))
        .collect();
    let patience = if calls.len() > 1 {
        Patience::Short
    } else {
        Patience::Full
    };
    match enqueue::enqueue(caller, &items, patience).await {
        Ok(answers) => {
            let mut answers = answers.into_iter();
            for call in calls {
                let own = answers.by_ref().take(call.jobs.len()).collect();
                // A caller that went away needs no answer.
                let _ = call.answer.send(Ok(own));
            }
        }
        Err(error) if calls.len() > 1 && is_one_callers_fault(&error) => {
            for call in calls {
                tokio::spawn(alone(caller.clone(), call));
            }
        }
        Err(error) => {
            let shared = Shared::new(error);
            for call in calls {
                let _ = call.answer.send(Err(shared.told()));
            }
        }
    }
}

/// Whether a batch failed for what one of its callers brought, and the others would fare better without.
fn is_one_callers_fault(error: &StoreError) -> bool {
    match error {
        StoreError::Refused(_) | StoreError::Broken(_) => true,
        StoreError::Unavailable(_) => matches!(
            sqlstate(error).as_deref(),
            Some("55P03" | "40P01" | "40001")
        ),
        StoreError::Schema { .. } => false,
    }
}

async fn alone(caller: Arc<Caller>, call: Enqueue) {
    let items: Vec<Item<'_>> = call.jobs.iter().map(|job| (job, call.now)).collect();
    let answer = enqueue::enqueue(&caller, &items, Patience::Full).await;
    let _ = call.answer.send(answer);
}

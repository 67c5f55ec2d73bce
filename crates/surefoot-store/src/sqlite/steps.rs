//! A store in memory whose work is counted in steps of SQLite's machine: the same on every host, so a test can say what
//! something costs.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, StatementStatus, Transaction, TransactionBehavior};
use surefoot_core::id::{JobId, Kind, Queue, Tenant, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues};
use surefoot_core::settle::{Report, settle};
use surefoot_core::time::{Roll, Timestamp};

use super::ledger::Ledger;
use super::{claim, enqueue, schema, settle as settling, statements};

/// When everything happens.
pub(super) const NOW: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// The store, and how many jobs were added to it.
pub(super) struct Counted {
    pub(super) connection: Connection,
    jobs: u64,
}

impl Counted {
    pub(super) fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection.set_prepared_statement_cache_capacity(1000);
        schema::migrate(&connection).unwrap();
        Self {
            connection,
            jobs: 0,
        }
    }

    /// Enqueues so many jobs, each as `change` makes it of its number and the plainest one.
    pub(super) fn add(
        &mut self,
        count: usize,
        change: impl Fn(usize, NewJob) -> NewJob,
    ) -> Vec<JobId> {
        let mut ids = Vec::new();
        let first = self.jobs;
        self.jobs += count as u64;
        self.write(|ledger| {
            for index in 0..count {
                let job = change(index, job(first + index as u64));
                enqueue::enqueue(ledger, &job, NOW).unwrap();
                ids.push(job.id);
            }
        });
        ids
    }

    pub(super) fn write<T>(&self, work: impl FnOnce(&Ledger<'_>) -> T) -> T {
        let tx =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).unwrap();
        let ledger = Ledger::of(&tx);
        let done = work(&ledger);
        ledger.into_tally().write(&tx).unwrap();
        tx.commit().unwrap();
        done
    }

    pub(super) fn claim(&self, wanted: &Claim) -> Vec<LeasedJob> {
        self.write(|ledger| claim::claim(ledger, wanted, NOW).unwrap().leased)
    }

    pub(super) fn report(&self, job: &LeasedJob, report: Report) {
        let settlement = settle(job, &[], report, &JobPolicy::default(), NOW, Roll(0));
        self.write(|ledger| settling::settle(ledger, &settlement).unwrap());
    }

    pub(super) fn succeed(&self, job: &LeasedJob) {
        self.report(job, Report::Succeeded(Payload::null()));
    }

    /// How many steps some work takes, and what it answers.
    pub(super) fn steps<T>(&self, work: impl FnOnce(&Self) -> T) -> (i32, T) {
        let count = || -> i32 {
            statements::all()
                .filter_map(|(_, sql)| self.connection.prepare_cached(sql).ok())
                .map(|statement| statement.get_status(StatementStatus::VmStep))
                .sum()
        };
        let before = count();
        let done = work(self);
        (count() - before, done)
    }
}

/// The plainest job with this number.
fn job(number: u64) -> NewJob {
    let mut random = [0; 10];
    random[2..].copy_from_slice(&number.to_be_bytes());
    NewJob {
        id: JobId::new(NOW, random),
        tenant: Tenant::single(),
        kind: Kind::new("mail").unwrap(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        trace: None,
        run_at: None,
        deadline_at: None,
    }
}

/// A claim of so many of the plainest jobs.
pub(super) fn take(max: u32) -> Claim {
    Claim {
        worker: Worker::new("w").unwrap(),
        kinds: vec![KindTerms {
            kind: Kind::new("mail").unwrap(),
            lease: Duration::from_secs(40),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }],
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max,
    }
}

/// Leaves a job as it is.
pub(super) fn plain(_: usize, job: NewJob) -> NewJob {
    job
}

//! What stands in the way of a claim and what does not, counted in steps of SQLite's machine: the same on every host.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, StatementStatus, Transaction, TransactionBehavior};
use surefoot_core::id::{ConcurrencyKey, JobId, Kind, OrderKey, Queue, Tenant, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues};
use surefoot_core::settle::{Report, settle};
use surefoot_core::time::{Roll, Timestamp};

use crate::sqlite::ledger::Ledger;
use crate::sqlite::{enqueue, expire, schema, settle as settling, statements};

const NOW: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// How many jobs stand in the way.
const CROWD: usize = 10_000;

/// A file in memory, and the number of the next job.
struct Bench {
    connection: Connection,
    jobs: u64,
}

impl Bench {
    fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection.set_prepared_statement_cache_capacity(1000);
        schema::migrate(&connection).unwrap();
        Self {
            connection,
            jobs: 0,
        }
    }

    /// Enqueues so many jobs, each as `change` makes it of its number and the plainest one.
    fn add(&mut self, count: usize, change: impl Fn(usize, NewJob) -> NewJob) -> Vec<JobId> {
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

    fn write<T>(&self, work: impl FnOnce(&Ledger<'_>) -> T) -> T {
        let tx =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate).unwrap();
        let ledger = Ledger::of(&tx);
        let done = work(&ledger);
        ledger.into_tally().write(&tx).unwrap();
        tx.commit().unwrap();
        done
    }

    fn claim(&self, claim: &Claim) -> Vec<LeasedJob> {
        self.write(|ledger| super::claim(ledger, claim, NOW).unwrap().leased)
    }

    fn succeed(&self, job: &LeasedJob) {
        let policy = JobPolicy::default();
        let settlement = settle(
            job,
            Report::Succeeded(Payload::null()),
            &policy,
            NOW,
            Roll(0),
        );
        self.write(|ledger| settling::settle(ledger, &settlement).unwrap());
    }

    /// How many steps a claim takes, and what it takes.
    fn steps(&self, claim: &Claim) -> (i32, Vec<LeasedJob>) {
        let count = || -> i32 {
            statements::all()
                .filter_map(|(_, sql)| self.connection.prepare_cached(sql).ok())
                .map(|statement| statement.get_status(StatementStatus::VmStep))
                .sum()
        };
        let before = count();
        let leased = self.claim(claim);
        (count() - before, leased)
    }

    /// Claims until nothing more is set aside, then compares with a store that has nothing to set aside.
    fn assert_as_quick_as_alone(&mut self, claim: &Claim) {
        for _ in 0..3 {
            assert_eq!(self.claim(claim).len(), 10);
        }
        let (steps, leased) = self.steps(claim);
        assert_eq!(leased.len(), 10);
        let mut alone = Self::new();
        alone.add(100, plain);
        let (alone, _) = alone.steps(&of_kind("mail"));
        assert!(steps < alone + alone / 2, "{steps} steps, alone {alone}");
    }
}

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

fn plain(_: usize, job: NewJob) -> NewJob {
    job
}

/// A claim of ten jobs.
fn of_kind(kind: &str) -> Claim {
    Claim {
        worker: Worker::new("w").unwrap(),
        kinds: vec![KindTerms {
            kind: Kind::new(kind).unwrap(),
            lease: Duration::from_secs(40),
            recovery: None,
            concurrency_max: None,
            concurrency_per_key_max: None,
        }],
        queues: Queues::All,
        queue_limits: BTreeMap::new(),
        max: 10,
    }
}

fn one_per_key() -> Claim {
    let mut claim = of_kind("mail");
    claim.kinds[0].concurrency_per_key_max = Some(1);
    claim
}

fn order_key(name: usize) -> Option<OrderKey> {
    Some(OrderKey::new(format!("order-{name}")).unwrap())
}

fn concurrency_key(name: usize) -> Option<ConcurrencyKey> {
    Some(ConcurrencyKey::new(format!("key-{name}")).unwrap())
}

/// Symptoms 57 and 62.
#[test]
fn jobs_behind_their_order_keys_are_not_in_the_way() {
    let mut bench = Bench::new();
    bench.add(CROWD / 2, |_, job| NewJob {
        order_key: order_key(0),
        ..job
    });
    bench.add(CROWD / 2, |index, job| NewJob {
        order_key: order_key(1 + index % 30),
        ..job
    });
    bench.add(100, plain);
    assert_eq!(
        bench
            .claim(&Claim {
                max: 31,
                ..of_kind("mail")
            })
            .len(),
        31,
        "those in front"
    );
    bench.assert_as_quick_as_alone(&of_kind("mail"));
}

/// Symptom 57, with concurrency keys.
#[test]
fn jobs_behind_a_full_concurrency_key_are_not_in_the_way() {
    let mut bench = Bench::new();
    bench.add(CROWD, |_, job| NewJob {
        concurrency_key: concurrency_key(0),
        ..job
    });
    bench.add(100, plain);
    let first = bench.claim(&Claim {
        max: 1,
        ..one_per_key()
    });
    bench.assert_as_quick_as_alone(&one_per_key());
    bench.succeed(&first[0]);
    let next = bench.claim(&Claim {
        max: 1,
        ..one_per_key()
    });
    assert_eq!(
        next[0].concurrency_key,
        concurrency_key(0),
        "the crowd goes on in its turn"
    );
    assert_eq!(
        next[0].id.as_uuid().as_u128(),
        first[0].id.as_uuid().as_u128() + 1
    );
}

#[test]
fn many_full_concurrency_keys_are_not_in_the_way() {
    let mut bench = Bench::new();
    bench.add(CROWD, |index, job| NewJob {
        concurrency_key: concurrency_key(index % 900),
        ..job
    });
    bench.add(100, plain);
    assert_eq!(
        bench
            .claim(&Claim {
                max: 900,
                ..one_per_key()
            })
            .len(),
        900
    );
    bench.assert_as_quick_as_alone(&one_per_key());
}

/// A crowd was set aside under a lower limit than this claim's: another configuration, or another node.
#[test]
fn a_claim_with_a_higher_limit_finds_the_crowd() {
    let mut bench = Bench::new();
    let ids = bench.add(20, |_, job| NewJob {
        concurrency_key: concurrency_key(0),
        ..job
    });
    let taken = |leased: Vec<LeasedJob>| leased.into_iter().map(|job| job.id).collect::<Vec<_>>();
    let with = |limit, max| {
        let mut claim = Claim {
            max,
            ..of_kind("mail")
        };
        claim.kinds[0].concurrency_per_key_max = limit;
        claim
    };
    assert_eq!(taken(bench.claim(&with(Some(1), 10))), ids[..1]);
    assert_eq!(taken(bench.claim(&with(Some(4), 10))), ids[1..4]);
    assert_eq!(taken(bench.claim(&with(Some(1), 10))), []);
    assert_eq!(taken(bench.claim(&with(None, 10))), ids[4..14]);
    bench.add(1, |_, job| NewJob {
        priority: 5,
        concurrency_key: concurrency_key(0),
        ..job
    });
    let leased = bench.claim(&with(None, 1));
    assert_eq!(
        leased[0].priority, 5,
        "what came later in front of the crowd goes first"
    );
    assert_eq!(taken(bench.claim(&with(None, 10))), ids[14..]);
    let left: i64 = bench
        .connection
        .query_row("select count(*) from surefoot_crowd", (), |row| row.get(0))
        .unwrap();
    bench.claim(&with(None, 10));
    let after: i64 = bench
        .connection
        .query_row("select count(*) from surefoot_crowd", (), |row| row.get(0))
        .unwrap();
    assert_eq!((left, after), (1, 0), "an empty crowd is forgotten");
}

/// Symptom 55.
#[test]
fn jobs_in_the_far_future_are_not_in_the_way() {
    let mut bench = Bench::new();
    let later = Some(NOW.after(Duration::from_secs(86_400)));
    bench.add(CROWD, |_, job| NewJob {
        run_at: later,
        ..job
    });
    bench.add(100, plain);
    bench.assert_as_quick_as_alone(&of_kind("mail"));
}

#[test]
fn kinds_that_nobody_claims_are_not_in_the_way() {
    let mut bench = Bench::new();
    let strange = Kind::new("a-stranger").unwrap();
    bench.add(CROWD, |_, job| NewJob {
        kind: strange.clone(),
        priority: 100,
        ..job
    });
    bench.add(100, plain);
    bench.assert_as_quick_as_alone(&of_kind("mail"));
}

#[test]
fn jobs_past_their_deadline_are_not_in_the_way() {
    let mut bench = Bench::new();
    bench.add(CROWD, |_, job| NewJob {
        deadline_at: Some(NOW),
        ..job
    });
    bench.add(100, plain);
    bench.assert_as_quick_as_alone(&of_kind("mail"));
    let mut expired = 0;
    while let more @ 1.. = bench
        .write(|ledger| expire::expire(ledger, NOW, 1000).unwrap())
        .len()
    {
        expired += more;
    }
    assert_eq!(
        expired, CROWD,
        "those that stepped aside expire like the others"
    );
}

/// Symptoms 52 and 59.
#[test]
fn history_is_not_in_the_way() {
    let mut bench = Bench::new();
    bench.add(CROWD / 5, plain);
    loop {
        let leased = bench.claim(&Claim {
            max: 1000,
            ..of_kind("mail")
        });
        leased.iter().for_each(|job| bench.succeed(job));
        if leased.is_empty() {
            break;
        }
    }
    bench.add(100, plain);
    bench.assert_as_quick_as_alone(&of_kind("mail"));
}

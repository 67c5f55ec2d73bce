//! What stands in the way of a claim and what does not, counted in steps of SQLite's machine.

use std::collections::BTreeMap;
use std::time::Duration;

use surefoot_core::id::{ConcurrencyKey, Kind, OrderKey, Worker};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{Claim, KindTerms, NewJob, Queues};

use crate::sqlite::expire;
use crate::sqlite::steps::{Counted, NOW, plain};

/// How many jobs stand in the way.
const CROWD: usize = 6_000;

impl Counted {
    /// Claims until nothing more is set aside, then compares with a store that has nothing to set aside.
    fn assert_as_quick_as_alone(&self, claim: &Claim) {
        for _ in 0..3 {
            assert_eq!(self.claim(claim).len(), 10);
        }
        self.assert_quick(claim);
    }

    /// The next claim takes ten jobs in about as many steps as over a store that holds nothing else.
    fn assert_quick(&self, claim: &Claim) {
        let (steps, leased) = self.steps(|store| store.claim(claim));
        assert_eq!(leased.len(), 10);
        let mut alone = Self::new();
        alone.add(100, plain);
        let (alone, _) = alone.steps(|store| store.claim(&of_kind("mail")));
        assert!(steps < alone + alone / 2, "{steps} steps, alone {alone}");
    }
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
    let mut bench = Counted::new();
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
    let mut bench = Counted::new();
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
    bench.succeed(&next[0]);
    bench.assert_quick(&one_per_key());
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
    let mut bench = Counted::new();
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
    let mut bench = Counted::new();
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
    let mut bench = Counted::new();
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
    let mut bench = Counted::new();
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
    let mut bench = Counted::new();
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
    let mut bench = Counted::new();
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

/// Where a job stands only says how it is found: the rows themselves decide whether it may run.
#[test]
fn a_job_that_stands_in_the_wrong_place_does_not_run_before_its_turn() {
    let mut store = Counted::new();
    let ids = store.add(2, |_, job| NewJob {
        order_key: order_key(0),
        ..job
    });
    let stand = |seq: i64, readiness: &str| {
        let sql = "update surefoot_job set readiness = ?2 where seq = ?1";
        store.connection.execute(sql, (seq, readiness)).unwrap();
    };
    stand(1, "parked");
    stand(2, "ready");
    assert_eq!(store.claim(&of_kind("mail")), [], "order-kept");
    stand(2, "parked");
    stand(1, "ready");
    assert_eq!(store.claim(&of_kind("mail"))[0].id, ids[0]);
}

#[test]
fn a_crowd_that_is_counted_wrongly_does_not_break_its_limit() {
    let mut store = Counted::new();
    store.add(5, |_, job| NewJob {
        concurrency_key: concurrency_key(0),
        ..job
    });
    assert_eq!(store.claim(&one_per_key()).len(), 1);
    store
        .connection
        .execute("update surefoot_crowd set running = 0", ())
        .unwrap();
    assert_eq!(store.claim(&one_per_key()), []);
}

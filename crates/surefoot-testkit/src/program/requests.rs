//! Programs over the port of requests: arrivals, words of runs, questions and witnesses, time that passes, and everything
//! that reads. What is written follows from what was on record at some time, so that stale words meet newer ones.

#![expect(
    clippy::expect_used,
    reason = "the test ends where a store errs; the names are known to be names"
)]

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use surefoot_core::effect::{VerifyPlan, Witness};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Actor, Tenant, Worker};
use surefoot_core::port::{By, RequestFilter, Requests};
use surefoot_core::request::{
    Arrived, Clocks, Content, End, Fingerprint, Finish, Identity, Kept, NewRequest, Operation,
    Request, RequestId, RequestKey, RequestStateName, RequestVerdict, StoredResponse, Witnessed,
    asked, extend, finish, lapse, witnessed,
};
use surefoot_core::time::{Roll, Timestamp};
use tokio::runtime::Runtime;

use crate::{ManualClock, MemoryStore};

/// When every program begins: 2026-03-01T12:00:00Z.
const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);

/// Lease 40 s, calls settle 10 s later, answers are kept for 100 s and keys for 200 s.
const CLOCKS: Clocks = Clocks {
    lease: Duration::from_secs(40),
    retention: Duration::from_secs(100),
    tombstone: Duration::from_secs(200),
    settles_within: Duration::from_secs(10),
};

/// Out of so many keys, in each of two tenants.
const KEYS: u32 = 3;
/// How many records a program remembers, the latest.
const SEEN_MAX: usize = 12;

/// Runs `steps` operations, drawn by each of `seeds`, over [`MemoryStore`] and over what `open` gives: an empty store for
/// each call. It must not be called from within a runtime.
///
/// # Panics
/// Where a transcript differs, with all of it until there; and where a verb errs.
pub fn same_requests_as_model<F>(
    runtime: &Runtime,
    seeds: impl IntoIterator<Item = u64>,
    steps: usize,
    open: impl Fn() -> F,
) where
    F: Future<Output = Arc<dyn Requests>>,
{
    for seed in seeds {
        let (expected, actual) = runtime.block_on(async {
            let clock = Arc::new(ManualClock::new(Timestamp::MIN));
            let expected = request_program(Arc::new(MemoryStore::new(clock)), seed, steps).await;
            (expected, request_program(open().await, seed, steps).await)
        });
        for (line, (model, store)) in expected.iter().zip(&actual).enumerate() {
            assert_eq!(
                store,
                model,
                "seed {seed}: the store (left) differs from the model after\n{}",
                expected[..line].join("\n")
            );
        }
        assert_eq!(expected.len(), actual.len(), "seed {seed}");
    }
}

/// Runs one program over an empty store: a line for what each operation answered, then everything that is on record.
///
/// # Panics
/// When a verb errs.
pub async fn request_program(store: Arc<dyn Requests>, seed: u64, steps: usize) -> Vec<String> {
    let mut machine = Machine {
        store,
        dice: fastrand::Rng::with_seed(seed),
        now: START,
        arrivals: Vec::new(),
        seen: Vec::new(),
        latest: None,
        transcript: Vec::new(),
    };
    for _ in 0..steps {
        machine.step().await;
    }
    machine.finish().await
}

struct Machine {
    store: Arc<dyn Requests>,
    dice: fastrand::Rng,
    now: Timestamp,
    arrivals: Vec<NewRequest>,
    seen: Vec<Request>,
    latest: Option<Request>,
    transcript: Vec<String>,
}

impl Machine {
    async fn step(&mut self) {
        // No two operations at one instant, so that what is the latest is never open.
        self.now = self.now.after(Duration::from_micros(1));
        match self.dice.u32(0..24) {
            0..=5 => {
                let new = self.arrival();
                self.begin(new).await;
            }
            6 => {
                let again = pick(&mut self.dice, &self.arrivals);
                if let Some(again) = again {
                    self.begin(again).await;
                }
            }
            7..=14 => {
                if let Some(next) = self.word() {
                    self.write(next).await;
                }
            }
            15 => {
                if let Some(again) = self.latest.clone() {
                    self.write(again).await;
                }
            }
            16..=18 => {
                let most = [1, 30, 150][self.dice.usize(0..3)];
                self.now = self.now.after(Duration::from_secs(self.dice.u64(0..=most)));
            }
            19 => {
                let limit = self.dice.u32(1..5);
                let due = answered(self.store.due_requests(self.now, limit).await);
                self.seen.extend(due.iter().cloned());
                self.note("due", &due);
            }
            20 => self.list().await,
            21 => {
                let depth = answered(self.store.request_depth().await);
                self.note("depth", &depth);
            }
            22 => {
                let limit = self.dice.u32(1..4);
                let forgotten = answered(self.store.forget_requests(self.now, limit).await);
                self.note("forget", &forgotten);
            }
            _ => self.look().await,
        }
        let more = self.seen.len().saturating_sub(SEEN_MAX);
        self.seen.drain(..more);
    }

    fn arrival(&mut self) -> NewRequest {
        let number = u64::try_from(self.arrivals.len()).unwrap_or(u64::MAX);
        let mut random = [0; 10];
        random[2..].copy_from_slice(&number.to_be_bytes());
        let tenant = ["a", "b"][self.dice.usize(0..2)];
        let identity = identity(tenant, self.dice.u32(0..KEYS));
        let operation = Operation::new("POST", "/payments").expect("an operation");
        let body = format!("{{\"amount\":{}}}", u32::from(self.dice.u32(0..6) == 0));
        let content = Content {
            operation: &operation,
            path: "/payments",
            query: None,
            content_type: Some(b"application/json"),
            body: body.as_bytes(),
        };
        let new = NewRequest {
            id: RequestId::new(self.now, random),
            fingerprint: Fingerprint::of(&identity, &content),
            identity,
            operation,
            clocks: CLOCKS,
            holder: Worker::new("node-1").expect("a worker"),
        };
        self.arrivals.push(new.clone());
        new
    }

    async fn begin(&mut self, new: NewRequest) {
        let arrived = answered(self.store.begin(&new, self.now).await);
        self.note("begin", &arrived);
        if let Arrived::Run(request) = arrived {
            self.seen.push(*request);
        }
    }

    /// What follows from a record that was seen, whether it is still the latest or not.
    fn word(&mut self) -> Option<Request> {
        let request = pick(&mut self.dice, &self.seen)?;
        let now = self.now;
        let of = |finish| match finish {
            Finish::Write(request) | Finish::Disputed(request) => Some(*request),
            Finish::Already | Finish::Stale => None,
        };
        let epoch = request.epoch;
        match self.dice.u32(0..9) {
            0..=1 => of(finish(&request, epoch, End::Answered(self.kept()), now)),
            2 => of(finish(
                &request,
                epoch,
                End::NothingHappened("declined".into()),
                now,
            )),
            3 => of(finish(&request, epoch, End::Unknown("lost".into()), now)),
            4 => extend(&request, epoch, now.after(CLOCKS.lease), now),
            5 => lapse(&request, now),
            6 => request.expired(now),
            7 => {
                let (verdict, plan) = (self.verdict(), VerifyPlan::default());
                asked(&request, verdict, &plan, now, now, Roll(self.dice.u64(..)))
            }
            _ => {
                let by = Witness::Person(By {
                    actor: Actor::new("ann").expect("an actor"),
                    reason: "seen in the ledger".into(),
                });
                match witnessed(&request, self.verdict(), by, now) {
                    Witnessed::Settled(request) | Witnessed::Disputed(request) => Some(*request),
                    Witnessed::Same | Witnessed::TooEarly(_) | Witnessed::NoVerdict => None,
                }
            }
        }
    }

    fn kept(&mut self) -> Kept {
        Kept::Response(StoredResponse {
            status: [200, 201, 422, 500][self.dice.usize(0..4)],
            headers: vec![("etag".to_owned(), vec![0xff, b'1'])],
            body: (0..self.dice.usize(0..40))
                .map(|_| self.dice.u8(..))
                .collect(),
        })
    }

    fn verdict(&mut self) -> RequestVerdict {
        match self.dice.u32(0..4) {
            0 => RequestVerdict::Happened(self.kept()),
            1 => RequestVerdict::DidNotHappen,
            2 => RequestVerdict::StillUnknown { ask_again_in: None },
            _ => RequestVerdict::NeedsHuman("no way to tell".into()),
        }
    }

    async fn write(&mut self, next: Request) {
        let written = answered(self.store.write_request(&next).await);
        self.note("write", &written);
        self.latest = Some(next.clone());
        self.seen.push(next);
    }

    async fn list(&mut self) {
        let state = RequestStateName::ALL[self.dice.usize(0..RequestStateName::ALL.len())];
        let filter = RequestFilter {
            tenant: self.dice.bool().then(|| tenant("a")),
            key: None,
            state: self.dice.bool().then_some(state),
        };
        let before = pick(&mut self.dice, &self.arrivals).map(|new| new.id);
        let before = before.filter(|_| self.dice.bool());
        let limit = self.dice.u32(1..6);
        let all = answered(self.store.requests(&filter, before, limit).await);
        self.note("list", &all);
    }

    async fn look(&mut self) {
        let Some(new) = pick(&mut self.dice, &self.arrivals) else {
            return;
        };
        let by_key = answered(self.store.request(&new.identity).await);
        let by_id = answered(self.store.request_by_id(new.id).await);
        self.note("request", &(&by_key, by_id));
        self.seen.extend(by_key);
    }

    async fn finish(mut self) -> Vec<String> {
        for tenant in ["a", "b"] {
            for key in 0..KEYS {
                let known = answered(self.store.request(&identity(tenant, key)).await);
                self.note("at last", &known);
            }
        }
        let depth = answered(self.store.request_depth().await);
        self.note("at last", &depth);
        self.transcript
    }

    fn note(&mut self, verb: &str, answer: &impl Debug) {
        self.transcript.push(format!("{verb} -> {answer:?}"));
    }
}

fn tenant(name: &str) -> Tenant {
    Tenant::new(name).expect("a tenant")
}

fn identity(of: &str, key: u32) -> Identity {
    Identity {
        tenant: tenant(of),
        key: RequestKey::new(format!("k{key}")).expect("a key"),
    }
}

fn pick<T: Clone>(dice: &mut fastrand::Rng, all: &[T]) -> Option<T> {
    (!all.is_empty()).then(|| all[dice.usize(0..all.len())].clone())
}

#[track_caller]
fn answered<T>(answer: Result<T, StoreError>) -> T {
    answer.expect("no operation of a program gives a sound store a reason to err")
}

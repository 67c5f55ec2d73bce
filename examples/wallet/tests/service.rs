//! The service as a process, driven over HTTP while it is made to fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::blocking::Client;
use serde_json::{Value, json};
use surefoot_store::sqlite::rusqlite::Connection;
use surefoot_testkit::Process;
use tempfile::TempDir;

/// How long a final answer is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    service: Mutex<Option<Process>>,
    base: Mutex<String>,
    client: Client,
    folder: TempDir,
}

impl World {
    fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().timeout(Duration::from_secs(10));
        let world = Self {
            service: Mutex::default(),
            base: Mutex::default(),
            client: client.tls_certs_only([]).build().unwrap(),
            folder: TempDir::new().unwrap(),
        };
        world.serve();
        world
    }

    fn serve(&self) {
        let service = Process::start(
            Command::new(env!("CARGO_BIN_EXE_wallet"))
                .env("WALLET_DATABASE", self.folder.path().join("wallet.db"))
                .env("WALLET_LISTEN", "127.0.0.1:0"),
        );
        let service = service.unwrap();
        *self.base.lock().unwrap() = service.said("listen").to_owned();
        *self.service.lock().unwrap() = Some(service);
    }

    fn kill_and_restart(&self) {
        let service = self.service.lock().unwrap().take();
        service.unwrap().kill().unwrap();
        self.serve();
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base.lock().unwrap())
    }

    /// Sends one order; `None` when no answer came.
    fn send(&self, verb: &str, transaction: &str, cents: i64) -> Option<(u16, Value)> {
        let order = json!({ "transaction": transaction, "cents": cents });
        let url = self.url(&format!("/wallets/ada/{verb}"));
        let answer = self.client.post(url).json(&order).send().ok()?;
        let status = answer.status().as_u16();
        Some((status, answer.json().ok()?))
    }

    /// Sends an order again and again until there is a final answer, as a caller does.
    fn until_final(&self, verb: &str, transaction: &str, cents: i64) -> (u16, Value) {
        let ends_at = Instant::now() + PATIENCE;
        while Instant::now() < ends_at {
            match self.send(verb, transaction, cents) {
                Some(answer @ (200 | 409 | 422, _)) => return answer,
                Some(_) | None => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        panic!("{transaction} has no final answer");
    }

    fn get(&self, path: &str) -> Value {
        self.client
            .get(self.url(path))
            .send()
            .unwrap()
            .json()
            .unwrap()
    }

    fn balance(&self) -> i64 {
        self.get("/wallets/ada")["balance_cents"].as_i64().unwrap()
    }

    fn journal(&self) -> Vec<Value> {
        self.get("/wallets/ada/journal").as_array().unwrap().clone()
    }
}

#[test]
fn a_double_click_and_a_replay_move_the_money_once() {
    let world = World::start();
    world.until_final("deposits", "d-1", 1000);
    let answers: Vec<(u16, Value)> = std::thread::scope(|scope| {
        let clicks: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| world.until_final("withdrawals", "w-1", 300)))
            .collect();
        clicks
            .into_iter()
            .map(|click| click.join().unwrap())
            .collect()
    });
    let expected = (200, json!({ "outcome": "done", "balance_cents": 700 }));
    assert!(
        answers.iter().all(|answer| *answer == expected),
        "{answers:?}"
    );
    // Later, when the balance is another one, the answer is still the one of then.
    world.until_final("deposits", "d-2", 50);
    assert_eq!(world.until_final("withdrawals", "w-1", 300), expected);
    assert_eq!((world.balance(), world.journal().len()), (750, 3));
}

#[test]
fn insufficient_funds_are_an_outcome_that_stays_and_no_dead_letter() {
    let world = World::start();
    world.until_final("deposits", "d-1", 100);
    let refused = (
        409,
        json!({ "outcome": "insufficient_funds", "balance_cents": 100 }),
    );
    assert_eq!(world.until_final("withdrawals", "w-1", 300), refused);
    world.until_final("deposits", "d-2", 1000);
    assert_eq!(world.until_final("withdrawals", "w-1", 300), refused);
    assert_eq!(world.until_final("withdrawals", "w-2", 300).0, 200);
    assert_eq!(world.balance(), 800);
    let file = Connection::open(world.folder.path().join("wallet.db")).unwrap();
    let states = "select count(*) from surefoot_job";
    let live: i64 = file.query_row(states, (), |row| row.get(0)).unwrap();
    assert_eq!(live, 0, "nothing waits for anybody");
}

#[test]
fn a_service_that_is_killed_again_and_again_neither_loses_nor_repeats_a_movement() {
    const MOVEMENTS: usize = 120;
    let world = World::start();
    let done = AtomicUsize::new(0);
    world.until_final("deposits", "d-1", 100_000);
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let (world, done) = (&world, &done);
            scope.spawn(move || {
                for number in (caller..MOVEMENTS).step_by(4) {
                    let answer = world.until_final("withdrawals", &format!("w-{number}"), 7);
                    assert_eq!(answer.0, 200, "{answer:?}");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for in_the_middle in [20, 50, 80] {
            while done.load(Ordering::Relaxed) < in_the_middle {
                std::thread::sleep(Duration::from_millis(1));
            }
            world.kill_and_restart();
        }
    });
    let moved = i64::try_from(MOVEMENTS).unwrap() * 7;
    assert_eq!(world.balance(), 100_000 - moved);
    let journal = world.journal();
    assert_eq!(journal.len(), MOVEMENTS + 1);
    let mut balance = 0;
    for entry in &journal {
        balance += entry["cents"].as_i64().unwrap();
        assert_eq!(entry["balance_cents"], balance, "{entry}");
    }
}

#[test]
fn while_the_database_is_held_up_callers_are_told_to_send_the_same_again() {
    let world = World::start();
    world.until_final("deposits", "d-1", 1000);
    let file = Connection::open(world.folder.path().join("wallet.db")).unwrap();
    file.execute_batch("begin immediate").unwrap();
    let held_up = world.send("withdrawals", "w-1", 300).unwrap();
    assert_eq!(held_up.0, 503, "{held_up:?}");
    file.execute_batch("rollback").unwrap();
    assert_eq!(world.until_final("withdrawals", "w-1", 300).0, 200);
    assert_eq!((world.balance(), world.journal().len()), (700, 2));
}

#[test]
fn what_is_no_movement_is_refused() {
    let world = World::start();
    world.until_final("deposits", "d-1", 1000);
    for cents in [0, -5, i64::MAX, i64::MIN] {
        assert_eq!(world.send("withdrawals", "w-1", cents).unwrap().0, 422);
    }
    assert_eq!(world.send("withdrawals", "", 5).unwrap().0, 422);
    assert_eq!(
        world.send("withdrawals", "d-1", 1000).unwrap().0,
        422,
        "an id is one movement"
    );
    assert_eq!(world.balance(), 1000);
    let service = world.service.lock().unwrap().take().unwrap();
    assert!(service.terminate().unwrap().success());
}

#[test]
fn every_question_is_answered_before_it_runs() {
    let mut check = Command::new(env!("CARGO_BIN_EXE_wallet"));
    let output = check.arg("check").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches('?').count(), 18, "{text}");
}

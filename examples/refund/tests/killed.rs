//! The process is killed while the provider is silent, and started again: exactly one refund, by the provider's own books.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use refund::refund::CALL_TIMEOUT;
use surefoot_testkit::{Act, Process, ScriptedProvider};
use tempfile::TempDir;

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    provider: ScriptedProvider,
    folder: TempDir,
}

impl World {
    /// A provider that does not deduplicate, and whose calls meet these acts.
    async fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let provider = ScriptedProvider::start().await.unwrap();
        provider.deduplicates(false);
        provider.script(acts);
        Self {
            provider,
            folder: TempDir::new().unwrap(),
        }
    }

    fn pay(&self) -> Command {
        let database = self.folder.path().join("refund.db");
        let mut command = Command::new(env!("CARGO_BIN_EXE_refund"));
        command
            .args(["pay", "r-1", "p-7", "1999"])
            .env("REFUND_DATABASE", format!("sqlite:{}", database.display()))
            .env("REFUND_PROVIDER", self.provider.url());
        command
    }

    /// Starts it, and kills it once the provider is as wanted.
    fn pay_until_killed(&self, wanted: impl Fn(&ScriptedProvider) -> bool) {
        let process = Process::start(&mut self.pay()).unwrap();
        let ends_at = Instant::now() + PATIENCE;
        while !wanted(&self.provider) {
            assert!(Instant::now() < ends_at, "{:?}", self.provider.report());
            std::thread::sleep(Duration::from_millis(5));
        }
        process.kill().unwrap();
    }

    /// Runs it to its end; what it was told at last.
    fn pay_to_the_end(&self) -> String {
        let Output { status, stdout, .. } = self.pay().output().unwrap();
        let said = String::from_utf8(stdout).unwrap();
        assert!(status.success(), "{said}");
        said.lines().last().unwrap().to_owned()
    }

    /// How many calls came, and how many refunds took place under how many keys.
    fn books(&self) -> (u64, u64, usize) {
        let report = self.provider.report();
        (self.provider.calls(), report.applied(), report.keys.len())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_provider_paid_it_asks_and_pays_no_more() {
    let world = World::new([Act::ApplyThenHang]).await;
    world.pay_until_killed(|provider| provider.report().applied() == 1);
    let receipt = world.pay_to_the_end();
    assert_eq!(world.books(), (1, 1, 1));
    // Handed in once more it is the same refund.
    assert_eq!(world.pay_to_the_end(), receipt);
    assert_eq!(world.books(), (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_provider_paid_it_asks_and_sends_the_same_key() {
    let world = World::new([Act::Hang]).await;
    world.pay_until_killed(|provider| provider.calls() == 1);
    world.pay_to_the_end();
    assert_eq!(world.books(), (2, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_provider_pays_late_it_waits_and_pays_no_more() {
    let late = Act::ApplyLate(CALL_TIMEOUT + Duration::from_millis(600));
    let world = World::new([late]).await;
    world.pay_until_killed(|provider| provider.calls() == 1);
    world.pay_to_the_end();
    assert_eq!(world.books(), (1, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_twice_while_calls_time_out_it_pays_once() {
    let world = World::new([Act::Hang, Act::ApplyThenHang]).await;
    world.pay_until_killed(|provider| provider.calls() == 1);
    world.pay_until_killed(|provider| provider.report().applied() == 1);
    world.pay_to_the_end();
    assert_eq!(world.books(), (2, 1, 1));
}

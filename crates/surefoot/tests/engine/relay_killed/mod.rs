//! Relays as processes that are killed with `kill -9` and stopped in the middle of what they do, again and again, while
//! transactions append, roll back and commit late. Their sink is a consumer with an inbox, over HTTP on the loopback, which is
//! slow and loses answers. `base` is the database, `process` a relay, `consumer` the other end, `appender` those who append.

mod appender;
mod base;
mod consumer;
mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use appender::Appenders;
use base::{Base, Place, SINK};
use consumer::Consumer;
use process::RelayProcess;

/// How long what was appended may take to arrive once nobody is killed any more.
const PATIENCE: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_relay_on_sqlite_loses_nothing() {
    const SELF: &str = "relay_killed::a_killed_relay_on_sqlite_loses_nothing";
    if let Some(role) = process::role() {
        return process::serve(role).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let place = Place::Sqlite(folder.path().join("shop.db"));
    broken(SELF, &place, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_killed_relays_on_postgresql_lose_nothing() {
    const SELF: &str = "relay_killed::two_killed_relays_on_postgresql_lose_nothing";
    if let Some(role) = process::role() {
        return process::serve(role).await;
    }
    let place = Place::Postgres(format!("test_killed_{}", std::process::id()));
    broken(SELF, &place, 2).await;
    Base::open(&place).await.remove().await;
}

/// Kills relays, of which so many run at once, and judges what came of it.
async fn broken(test: &str, place: &Place, relays: usize) {
    const KILLS: usize = 24;
    let base = Arc::new(Base::open(place).await);
    base.prepare().await;
    let consumer = Consumer::serve(base.clone()).await;
    let appenders = Appenders::start(&base);
    let mut running = Vec::new();
    for kill in 0..KILLS {
        while running.len() < relays {
            running.push(RelayProcess::start(test, place, consumer.address()).await);
        }
        sleep(Duration::from_millis(fastrand::u64(0..250))).await;
        let mut relay: RelayProcess = running.remove(fastrand::usize(0..running.len()));
        if kill % 6 == 5 {
            // Its leases end while it stands; then it goes on with what it holds.
            relay.stand_still(process::LEASE * 3 / 2).await;
            running.push(relay);
            continue;
        }
        relay.kill();
    }
    appenders.end().await;
    running.push(RelayProcess::start(test, place, consumer.address()).await);
    let arrived = async {
        while base.is_open().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let all = timeout(PATIENCE, arrived).await;
    assert!(all.is_ok(), "no-lost-intent: {:?}", base.depth().await);
    drop(running);
    judge(&base.said().await, &base.applied().await, &consumer.given());
}

/// One message, as (key, number).
type Said = (String, i64);

fn by_key(said: impl IntoIterator<Item = Said>) -> BTreeMap<String, Vec<i64>> {
    let mut lines: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (key, number) in said {
        let line = lines.entry(key).or_default();
        if !line.contains(&number) {
            line.push(number);
        }
    }
    lines
}

fn judge(said: &[Said], applied: &[Said], given: &[Said]) {
    assert!(said.len() > 50, "only {} were committed", said.len());
    let set = |all: &[Said]| all.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(
        set(given),
        set(said),
        "what committed was delivered to {SINK}, and nothing else"
    );
    assert_eq!(applied.len(), set(applied).len(), "no-double-effect");
    assert!(given.len() > said.len(), "nothing was delivered twice");
    let (mut expected, mut given) = (by_key(said.to_vec()), by_key(given.to_vec()));
    let mut applied = by_key(applied.to_vec());
    // Messages without a key have no order.
    for lines in [&mut expected, &mut given, &mut applied] {
        if let Some(none) = lines.get_mut("") {
            none.sort_unstable();
        }
    }
    assert_eq!(applied, expected, "order-kept, as applied");
    assert_eq!(given, expected, "order-kept, as delivered");
}

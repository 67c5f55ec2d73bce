//! The clocks, and MemoryStore under a paused one.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::{BATCH_MAX, Extension, Store};
use surefoot_core::time::{Clock, Timestamp};
use surefoot_testkit::{ManualClock, MemoryStore, TokioClock};

const START: Timestamp = Timestamp::from_micros(1_772_366_400_000_000);
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_manual_clock_moves_when_told_and_never_back() {
    let clock = ManualClock::new(START);
    assert_eq!((clock.now(), clock.now()), (START, START));
    assert_eq!(clock.advance(HOUR), START.after(HOUR));
    clock.set(START);
    assert_eq!(
        clock.now(),
        START.after(HOUR),
        "a clock does not run backwards"
    );
    clock.set(START.after(HOUR * 2));
    assert_eq!(clock.now(), START.after(HOUR * 2));
    assert_eq!(
        clock.advance(Duration::MAX),
        Timestamp::MAX,
        "and it stays within its range"
    );
}

#[tokio::test(start_paused = true)]
async fn a_tokio_clock_follows_the_runtime() {
    let clock = TokioClock::starting_at(START);
    assert_eq!(clock.now(), START);
    tokio::time::sleep(HOUR).await;
    let shown = clock.now().since(START);
    assert!(
        shown >= HOUR && shown < HOUR + Duration::from_millis(10),
        "{shown:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_memory_store_tells_its_clock_and_wakes_its_listeners() {
    let store = MemoryStore::new(Arc::new(TokioClock::starting_at(START)));
    let mut listener = store.announcements().await.unwrap().unwrap();
    let waiting = tokio::spawn(async move { listener.next().await.unwrap() });
    tokio::time::sleep(HOUR).await;
    assert!(!waiting.is_finished());
    let other_node = store.clone();
    other_node.announce(&[Queue::standard()]).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Queue::standard());
    assert!(store.database_now().await.unwrap() >= START.after(HOUR));
    let beat = store.heart().await.unwrap().beat(&[], START).await.unwrap();
    assert!(beat.database_now >= START.after(HOUR));
}

#[tokio::test]
async fn a_listener_that_falls_behind_goes_on() {
    let store = MemoryStore::new(Arc::new(ManualClock::new(START)));
    let mut listener = store.announcements().await.unwrap().unwrap();
    for number in 0..5_000 {
        store
            .announce(&[Queue::new(format!("q{number}")).unwrap()])
            .await
            .unwrap();
    }
    let mut heard = listener.next().await.unwrap();
    while heard.as_str() != "q4999" {
        heard = listener.next().await.unwrap();
    }
}

#[tokio::test]
async fn a_batch_beyond_the_limit_is_refused() {
    let store = MemoryStore::new(Arc::new(ManualClock::new(START)));
    let job = surefoot_core::id::JobId::new(START, [0; 10]);
    let lease = Extension {
        job,
        epoch: surefoot_core::id::Epoch(1),
        until: START,
    };
    let leases = vec![lease; BATCH_MAX + 1];
    let refused = store.extend(&leases, START).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    assert_eq!(
        store.extend(&leases[1..], START).await.unwrap().len(),
        BATCH_MAX
    );
}

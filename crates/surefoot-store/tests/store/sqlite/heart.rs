//! The heartbeat: neither a blocked runtime nor a full inbox stops it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::{Beat, Extended, Extension, Heart, Store};

use super::fixture::{Place, START, at, job, take};

/// One beat in a runtime of its own.
fn beat(mut heart: Box<dyn Heart>, lease: Extension) -> std::thread::JoinHandle<Beat> {
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(heart.beat(&[lease], at(2))).unwrap()
    })
}

#[tokio::test(flavor = "current_thread")]
async fn it_beats_while_the_runtime_of_the_store_is_blocked() {
    let place = Place::new();
    let store = place.open().await;
    store.enqueue(&[job("mail")], START).await.unwrap();
    let leased = take(&store, "mail", 1).await.remove(0);
    let heart = store.heart().await.unwrap();
    let lease = Extension {
        job: leased.id,
        epoch: leased.state.epoch,
        until: at(500),
    };
    // Joining blocks the only thread of this runtime until the beat is answered.
    let answer = beat(heart, lease).join().unwrap();
    assert_eq!(
        answer.extended,
        [Extended::Held {
            until: at(500),
            cancel_requested: false
        }]
    );
    assert!(answer.database_now > at(0), "the host's clock is read");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_overtakes_whatever_waits_for_the_writer() {
    let place = Place::new();
    let store = place.open().await;
    store.enqueue(&[job("mail")], START).await.unwrap();
    let leased = take(&store, "mail", 1).await.remove(0);
    let done = Arc::new(AtomicUsize::new(0));
    // More than one group of slow work, and more callers than the inbox has room for.
    let slow: Vec<_> = (0..4000)
        .map(|_| {
            let (store, done) = (store.clone(), done.clone());
            tokio::spawn(async move {
                let worked: Result<(), StoreError> = store
                    .write(move |_| {
                        std::thread::sleep(Duration::from_micros(500));
                        done.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    })
                    .await;
                worked.unwrap();
            })
        })
        .collect();
    while done.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let heart = store.heart().await.unwrap();
    let lease = Extension {
        job: leased.id,
        epoch: leased.state.epoch,
        until: at(500),
    };
    tokio::task::spawn_blocking(move || beat(heart, lease).join().unwrap())
        .await
        .unwrap();
    let before = done.load(Ordering::SeqCst);
    assert!(before < 3500, "the beat came after {before} of 4000 others");
    for task in slow {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_heart_that_outlives_its_store_says_so() {
    let place = Place::new();
    let store = place.open().await;
    let mut heart = store.heart().await.unwrap();
    drop(store);
    let error = heart.beat(&[], START).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
}

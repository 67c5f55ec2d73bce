//! What is served when the dependency cannot be, and who asks again.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::clock::TokioClock;
use crate::meaning::Meaning;
use crate::metrics::{DRILLS, Metrics};
use crate::{Criticality, Dependency, Meta, Policy};

const READ: Meta<'static> = Meta::idempotent();

fn dependency() -> Dependency {
    let policy = Policy {
        criticality: Criticality::Optional,
        fallback: Some(FallbackOptions {
            concurrency_max: 1,
            ..FallbackOptions::of(FallbackKind::Function)
        }),
        ..Policy::default()
    };
    Dependency::new("prices", policy).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_fallback_answers_and_the_answer_says_so() {
    let prices = WithFallback::new(dependency(), Fallback::Value(0));
    let live = prices
        .call(&READ, |_| ready(Ok::<_, Meaning>(42)))
        .await
        .unwrap();
    assert_eq!((live.value, live.source), (42, Source::Live));
    let instead = prices
        .call(&READ, |_| ready(Err::<i32, _>(Meaning::REFUSED)))
        .await
        .unwrap();
    assert_eq!((instead.value, instead.source), (0, Source::Fallback));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_has_its_own_time_and_its_own_limit() {
    let hanging = WithFallback::new(dependency(), Fallback::<i32>::function(pending));
    let started = tokio::time::Instant::now();
    let fail = || hanging.call(&READ, |_| ready(Err::<i32, _>(Meaning::REFUSED)));
    let (one, two) = tokio::join!(fail(), fail());
    assert!(one.is_err() && two.is_err());
    assert_eq!(started.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_drill_proves_the_fallback_and_touches_nothing_else() {
    let works = WithFallback::new(dependency(), Fallback::function(|| ready(Some(1))));
    let before = works.dependency().status();
    assert!(works.drill().await.engaged);
    assert_eq!(works.dependency().status(), before);
    let broken = WithFallback::new(dependency(), Fallback::<i32>::function(|| ready(None)));
    assert!(!broken.drill().await.engaged);
}

#[tokio::test(start_paused = true)]
async fn a_drill_of_a_cache_asks_nobody_and_is_counted() {
    let (dependency, metrics) = (dependency(), Metrics::default());
    assert!(metrics.watch(&dependency));
    let cache = cache(10);
    let asked = async || Ok::<_, ()>(7);
    assert!(!cache.drill(&dependency, &1).engaged, "nothing is kept");
    assert!(cache.is_empty());
    cache.get(&1, asked).await.unwrap();
    sleep(3599).await;
    assert!(cache.drill(&dependency, &1).engaged);
    sleep(1).await;
    assert!(!cache.drill(&dependency, &1).engaged, "it is too old");
    let drills: Vec<_> = metrics
        .read()
        .into_iter()
        .map(|reading| (reading.name, reading.label.1, reading.value))
        .collect();
    assert_eq!(drills, [(DRILLS, "engaged", 1.0), (DRILLS, "failed", 2.0)]);
}

fn cache(entries_max: usize) -> StaleCache<u32, u32> {
    StaleCache::new(
        StaleOptions {
            entries_max,
            ..StaleOptions::default()
        },
        Arc::new(TokioClock),
    )
}

async fn sleep(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_ages_from_fresh_to_revalidated_to_stale_to_gone() {
    let cache = cache(10);
    let asked = AtomicU32::new(0);
    let ask = |answer: Result<u32, ()>| {
        let (cache, asked) = (&cache, &asked);
        async move {
            let before = asked.load(Ordering::SeqCst);
            let served = cache
                .get(&1, || {
                    asked.fetch_add(1, Ordering::SeqCst);
                    ready(answer)
                })
                .await;
            (
                served.map(|served| (served.value, served.source)),
                asked.load(Ordering::SeqCst) - before,
            )
        }
    };
    let age = Duration::from_secs;
    assert_eq!(ask(Ok(7)).await, (Ok((7, Source::Live)), 1));
    sleep(9).await;
    assert_eq!(
        ask(Ok(8)).await,
        (Ok((7, Source::Fresh { age: age(9) })), 0)
    );
    sleep(21).await;
    assert_eq!(
        ask(Err(())).await,
        (Ok((7, Source::Stale { age: age(30) })), 1)
    );
    assert_eq!(
        ask(Ok(9)).await,
        (Ok((7, Source::Stale { age: age(30) })), 0),
        "nobody asks again so soon"
    );
    sleep(2).await;
    assert_eq!(ask(Ok(9)).await, (Ok((9, Source::Live)), 1));
    sleep(3_600).await;
    assert_eq!(ask(Err(())).await, (Err(CacheError::Failed(())), 1));
    assert_eq!(ask(Err(())).await, (Err(CacheError::FailedRecently), 0));
}

#[tokio::test(start_paused = true)]
async fn in_an_outage_one_caller_asks_per_key_and_interval() {
    let cache = Arc::new(cache(10));
    let asked = Arc::new(AtomicU32::new(0));
    for _ in 0..3 {
        let callers = (0..100).map(|_| {
            let (cache, asked) = (Arc::clone(&cache), Arc::clone(&asked));
            tokio::spawn(async move {
                cache
                    .get(&1, || async {
                        asked.fetch_add(1, Ordering::SeqCst);
                        tokio::time::sleep(Duration::from_millis(10)).await;
                        Err::<u32, _>(())
                    })
                    .await
                    .is_err()
            })
        });
        for caller in callers.collect::<Vec<_>>() {
            assert!(caller.await.unwrap());
        }
        sleep(2).await;
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_while_asking_hands_over_to_the_next() {
    let cache = cache(10);
    let mut leader = Box::pin(cache.get(&1, pending::<Result<u32, Infallible>>));
    assert!(crate::testing::pending_once(leader.as_mut()));
    let mut follower = Box::pin(cache.get(&1, || ready(Ok::<_, Infallible>(5))));
    assert!(crate::testing::pending_once(follower.as_mut()));
    drop(leader);
    assert_eq!(follower.await.unwrap().value, 5);
}

#[tokio::test(start_paused = true)]
async fn any_number_of_keys_takes_bounded_memory() {
    let cache = cache(100);
    for key in 0..20_000 {
        cache
            .get(&key, || ready(Ok::<_, Infallible>(key)))
            .await
            .unwrap();
    }
    assert_eq!(cache.len(), 100);
    let kept = cache
        .get(&19_999, || ready(Ok::<_, Infallible>(0)))
        .await
        .unwrap();
    assert_eq!(kept.value, 19_999);
}

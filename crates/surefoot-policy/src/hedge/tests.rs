//! Who wins, and what the percentile knows.

use std::time::Duration;

use super::*;
use crate::clock::Moment;

async fn after(ms: u64, result: Result<u8, u8>) -> Result<u8, u8> {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    result
}

#[tokio::test(start_paused = true)]
async fn the_first_success_wins_and_a_fast_failure_does_not() {
    let table = [
        // first, second, result, when
        ((5, Ok(1)), (1, Ok(2)), Ok(1), 5),
        ((100, Ok(1)), (20, Ok(2)), Ok(2), 30),
        ((100, Ok(1)), (20, Err(2)), Ok(1), 100),
        ((15, Err(1)), (20, Ok(2)), Ok(2), 30),
        ((15, Err(1)), (20, Err(2)), Err(1), 30),
        ((5, Err(1)), (1, Ok(2)), Err(1), 5),
    ];
    for (first, second, result, when) in table {
        let started = tokio::time::Instant::now();
        let ran = race(after(first.0, first.1), Duration::from_millis(10), || {
            Some(after(second.0, second.1))
        })
        .await;
        assert_eq!(
            (ran.result, started.elapsed().as_millis()),
            (result, when),
            "{first:?} {second:?}"
        );
    }
    let refused = race(after(50, Err(1)), Duration::from_millis(10), || {
        None::<std::future::Pending<_>>
    })
    .await;
    assert_eq!(
        refused.result,
        Err(1),
        "without a budget the first is all there is"
    );
}

#[test]
fn calls_that_hang_lift_the_percentile() {
    let now = Moment::from_nanos(1 << 44);
    let latency = Latency::default();
    (0..19).for_each(|_| latency.add(Duration::from_millis(10), now));
    assert_eq!(latency.percentile(95.0), None, "too few");
    (0..51).for_each(|_| latency.add(Duration::from_millis(10), now));
    let usual = latency.percentile(95.0).unwrap();
    assert!(
        (10.0..=12.5).contains(&(usual.as_secs_f64() * 1e3)),
        "{usual:?}"
    );
    (0..30).for_each(|_| latency.add(Duration::from_secs(5), now));
    assert!(latency.percentile(95.0).unwrap() >= Duration::from_secs(5));
    assert!(latency.percentile(50.0).unwrap() <= Duration::from_millis(13));
}

#[test]
fn old_latencies_are_forgotten() {
    let at = |seconds| Moment::from_nanos(1 << 44).after(Duration::from_secs(seconds));
    let latency = Latency::default();
    (0..100).for_each(|_| latency.add(Duration::from_secs(5), at(0)));
    (0..100).for_each(|_| latency.add(Duration::from_millis(1), at(35)));
    assert!(
        latency.percentile(90.0).unwrap() >= Duration::from_secs(5),
        "the age before still counts"
    );
    (0..100).for_each(|_| latency.add(Duration::from_millis(1), at(70)));
    assert!(latency.percentile(90.0).unwrap() <= Duration::from_millis(2));
    for extreme in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        latency.add(extreme, at(70));
    }
}

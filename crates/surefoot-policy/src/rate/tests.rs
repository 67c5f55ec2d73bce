//! Never more than the rate allows, and never closed for ever.

use std::time::Duration;

use super::*;
use crate::clock::Moment;

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1 << 44).after(Duration::from_millis(millis))
}

fn options(calls: u32, burst: u32, wait_ms: u64) -> RateOptions {
    RateOptions {
        calls,
        per: Duration::from_secs(1),
        burst,
        wait_max: Duration::from_millis(wait_ms),
    }
}

#[test]
fn a_burst_passes_and_then_the_rate() {
    let options = options(10, 3, 0);
    let rate = Rate::default();
    let passed = |millis| {
        (0..10)
            .filter(|_| rate.take(&options, at(millis), Duration::MAX) == Turn::In(Duration::ZERO))
            .count()
    };
    assert_eq!(
        [
            passed(0),
            passed(99),
            passed(100),
            passed(150),
            passed(200),
            passed(10_000)
        ],
        [3, 0, 1, 0, 1, 3]
    );
}

#[test]
fn a_call_that_may_wait_gets_its_turn_and_one_that_may_not_is_told_when() {
    let options = options(10, 1, 250);
    let rate = Rate::default();
    let turns: Vec<_> = (0..4)
        .map(|_| rate.take(&options, at(0), Duration::MAX))
        .collect();
    let ms = Duration::from_millis;
    assert_eq!(
        turns,
        [
            Turn::In(ms(0)),
            Turn::In(ms(100)),
            Turn::In(ms(200)),
            Turn::NotWithin(ms(300))
        ]
    );
    assert_eq!(
        rate.take(&options, at(60), ms(10)),
        Turn::NotWithin(ms(240)),
        "the deadline is nearer"
    );
}

#[test]
fn threads_together_get_no_more_than_rate_and_burst() {
    let options = options(1_000, 50, 0);
    let rate = Rate::default();
    let start = std::sync::Barrier::new(64);
    let passed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    let tries = (0..100).map(|step| rate.take(&options, at(step), Duration::ZERO));
                    tries.filter(|turn| matches!(turn, Turn::In(_))).count()
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert!((100..=150).contains(&passed), "{passed}");
}

#[test]
fn a_clock_that_goes_back_closes_neither_limiter_nor_gate() {
    let options = options(10, 1, 0);
    let (rate, gate) = (Rate::default(), Gate::default());
    let minute = Duration::from_secs(60);
    for now in [at(3_600_000), at(0), Moment::ZERO, Moment::NEVER, at(0)] {
        assert!(
            matches!(rate.take(&options, now, Duration::ZERO), Turn::In(_)),
            "{now:?}"
        );
    }
    gate.close(minute, minute, at(3_600_000));
    assert_eq!(gate.left(minute, at(0)), Duration::ZERO);
}

#[test]
fn a_gate_keeps_the_longest_word_within_the_limit() {
    let gate = Gate::default();
    let limit = Duration::from_secs(60);
    assert!(gate.close(Duration::from_secs(10), limit, at(0)));
    assert!(!gate.close(Duration::from_secs(2), limit, at(1_000)));
    assert_eq!(gate.left(limit, at(1_000)), Duration::from_secs(9));
    gate.close(Duration::MAX, limit, at(2_000));
    assert_eq!(gate.left(limit, at(2_000)), limit);
    gate.open();
    assert_eq!(gate.left(limit, at(2_000)), Duration::ZERO);
}

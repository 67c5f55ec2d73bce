//! What a budget must never let through.

use std::time::Duration;

use super::*;
use crate::clock::Moment;

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1 << 44).after(Duration::from_millis(millis))
}

fn without_reserve() -> BudgetOptions {
    BudgetOptions {
        reserve_per_second: 0.0,
        ..BudgetOptions::default()
    }
}

fn drain(budget: &Budget, options: &BudgetOptions, millis: u64) -> usize {
    std::iter::from_fn(|| budget.draw(options, at(millis)).map(Draw::spend)).count()
}

#[test]
fn a_thousand_successes_pay_for_a_hundred_sends_and_no_more() {
    let options = without_reserve();
    let budget = Budget::new(&options);
    (0..1000).for_each(|_| budget.deposit(at(0)));
    assert_eq!(drain(&budget, &options, 1), 100);
    assert_eq!(drain(&budget, &options, 9_000), 0);
    assert_eq!(
        drain(&budget, &options, 10_000),
        0,
        "deposits last ten seconds"
    );
}

#[test]
fn threads_that_draw_together_get_the_exact_total() {
    let options = without_reserve();
    let budget = Budget::new(&options);
    (0..1000).for_each(|_| budget.deposit(at(0)));
    let start = std::sync::Barrier::new(64);
    let sends: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    drain(&budget, &options, 1)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum()
    });
    assert_eq!(sends, 100);
}

#[test]
fn what_is_reserved_through_the_backoff_goes_back_when_it_is_not_sent() {
    for options in [
        without_reserve(),
        BudgetOptions {
            ratio: 0.000_001,
            ..BudgetOptions::default()
        },
    ] {
        let budget = Budget::new(&options);
        (0..10).for_each(|_| budget.deposit(at(0)));
        let draw = budget.draw(&options, at(0)).unwrap();
        assert!(budget.draw(&options, at(1)).is_none());
        drop(draw);
        budget.draw(&options, at(1)).unwrap().spend();
        assert!(budget.draw(&options, at(1)).is_none());
    }
}

#[test]
fn little_traffic_has_a_send_in_ten_seconds_and_the_reserve_does_not_pile_up() {
    let options = BudgetOptions::default();
    let budget = Budget::new(&options);
    assert_eq!(drain(&budget, &options, 0), 1);
    assert_eq!(drain(&budget, &options, 9_999), 0);
    assert_eq!(drain(&budget, &options, 10_000), 1);
    assert_eq!(
        drain(&budget, &options, 3_600_000),
        1,
        "an idle hour saves nothing up and loses nothing"
    );
    // One failing call a second for ten minutes.
    let retries: usize = (0..600)
        .map(|second| drain(&budget, &options, 4_000_000 + second * 1_000))
        .sum();
    assert_eq!(retries, 60);
}

#[test]
fn after_an_outage_successes_pay_again() {
    let options = without_reserve();
    let budget = Budget::new(&options);
    (0..60).for_each(|second| assert_eq!(drain(&budget, &options, second * 1_000), 0));
    (0..50).for_each(|_| budget.deposit(at(61_000)));
    assert_eq!(
        (
            budget.left(&options, at(61_000)),
            drain(&budget, &options, 61_000)
        ),
        (5, 5)
    );
}

#[test]
fn clock_jumps_neither_panic_nor_close_the_reserve() {
    let options = BudgetOptions::default();
    let budget = Budget::new(&options);
    for now in [at(3_600_000), at(0), Moment::ZERO, Moment::NEVER, at(0)] {
        assert!(budget.draw(&options, now).is_some(), "{now:?}");
    }
}

#[test]
fn a_new_window_keeps_deposits_and_what_was_drawn() {
    let options = without_reserve();
    let budget = Budget::new(&options);
    (0..1000).for_each(|_| budget.deposit(at(0)));
    (0..60).for_each(|_| budget.draw(&options, at(0)).unwrap().spend());
    let new = BudgetOptions {
        window: Duration::from_secs(60),
        ..options
    };
    budget.reconfigure(&new, at(1));
    assert_eq!(drain(&budget, &new, 30_000), 40);
}

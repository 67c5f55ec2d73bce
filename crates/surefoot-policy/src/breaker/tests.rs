//! What a breaker must do, as tables and scripts; the races with real threads are at the end.

use std::sync::Barrier;
use std::time::Duration;

use surefoot_core::time::Roll;

use super::*;
use crate::clock::Moment;

const MIDDLE: Roll = Roll(u64::MAX / 2);

fn at(millis: u64) -> Moment {
    Moment::from_nanos(1 << 44).after(Duration::from_millis(millis))
}

fn options() -> BreakerOptions {
    BreakerOptions {
        consecutive_failures: 3,
        open_for: Duration::from_secs(1),
        open_jitter: 0.0,
        ramp: Duration::ZERO,
        ..BreakerOptions::default()
    }
}

fn admit(breaker: &Breaker, options: &BreakerOptions, millis: u64) -> Result<bool, Refusal> {
    breaker
        .admit(options, at(millis), || MIDDLE)
        .map(|(permit, _)| permit.is_probe())
}

fn call(
    breaker: &Breaker,
    options: &BreakerOptions,
    millis: u64,
    evidence: Evidence,
) -> Result<(), Refusal> {
    let (permit, _) = breaker.admit(options, at(millis), || MIDDLE)?;
    permit.settle(options, evidence, at(millis), || MIDDLE);
    Ok(())
}

fn tripped(options: &BreakerOptions) -> Breaker {
    let breaker = Breaker::new(options);
    for _ in 0..3 {
        call(&breaker, options, 0, Evidence::Failed).unwrap();
    }
    assert!(matches!(
        breaker.state(options, at(0)),
        BreakerState::Open { .. }
    ));
    breaker
}

#[test]
fn failures_in_a_row_open_it_and_a_success_between_them_does_not() {
    let options = options();
    let breaker = Breaker::new(&options);
    for evidence in [
        Evidence::Failed,
        Evidence::Failed,
        Evidence::Alive,
        Evidence::Failed,
        Evidence::Failed,
    ] {
        call(&breaker, &options, 0, evidence).unwrap();
    }
    assert_eq!(breaker.state(&options, at(0)), BreakerState::Closed);
    call(&breaker, &options, 0, Evidence::Failed).unwrap();
    assert!(
        matches!(admit(&breaker, &options, 998), Err(Refusal::Open(left)) if left <= Duration::from_millis(2))
    );
    assert_eq!(admit(&breaker, &options, 1_000), Ok(true));
}

#[test]
fn a_thousand_successes_do_not_dilute_the_window() {
    let options = BreakerOptions {
        consecutive_failures: 0,
        ..options()
    };
    let breaker = Breaker::new(&options);
    for _ in 0..1000 {
        call(&breaker, &options, 0, Evidence::Alive).unwrap();
    }
    let failures = (1..=100)
        .find(|_| {
            call(&breaker, &options, 11_000, Evidence::Failed).unwrap();
            matches!(
                breaker.state(&options, at(11_000)),
                BreakerState::Open { .. }
            )
        })
        .unwrap();
    assert_eq!(
        failures, 20,
        "it opens as soon as the fewest calls are there"
    );
}

#[test]
fn the_call_that_completes_the_minimum_opens_it_even_as_a_success() {
    let options = BreakerOptions {
        consecutive_failures: 0,
        ..options()
    };
    let breaker = Breaker::new(&options);
    for _ in 0..19 {
        call(&breaker, &options, 0, Evidence::Failed).unwrap();
    }
    assert_eq!(breaker.state(&options, at(0)), BreakerState::Closed);
    call(&breaker, &options, 0, Evidence::Alive).unwrap();
    assert!(matches!(
        breaker.state(&options, at(0)),
        BreakerState::Open { .. }
    ));
}

#[test]
fn calls_that_are_still_out_past_the_slow_line_count() {
    let options = BreakerOptions {
        slow_after: Some(Duration::from_millis(100)),
        slow_ratio: 0.3,
        ..options()
    };
    let breaker = Breaker::new(&options);
    let mut hung = Vec::new();
    for _ in 0..30 {
        hung.push(breaker.admit(&options, at(0), || MIDDLE).unwrap().0);
    }
    for _ in 0..70 {
        call(&breaker, &options, 0, Evidence::Alive).unwrap();
    }
    let told = hung
        .iter_mut()
        .filter_map(|permit| permit.still_out(&options, at(100), || MIDDLE))
        .count();
    assert_eq!(told, 1);
    assert!(matches!(
        breaker.state(&options, at(100)),
        BreakerState::Open { .. }
    ));
    // A call counts as slow once, however often it is told.
    assert_eq!(hung[0].still_out(&options, at(101), || MIDDLE), None);
}

#[test]
fn a_hung_probe_frees_its_place_after_its_lease() {
    let options = options();
    let breaker = tripped(&options);
    let (hung, told) = breaker.admit(&options, at(1_000), || MIDDLE).unwrap();
    assert!(hung.is_probe());
    assert_eq!(told.map(|told| told.to), Some(BreakerState::HalfOpen));
    assert_eq!(admit(&breaker, &options, 10_998), Err(Refusal::ProbesOut));
    let (probe, _) = breaker.admit(&options, at(11_001), || MIDDLE).unwrap();
    // The place is another's: the late result of the first one changes nothing.
    assert_eq!(
        hung.settle(&options, Evidence::Failed, at(11_002), || MIDDLE),
        None
    );
    assert_eq!(breaker.state(&options, at(11_002)), BreakerState::HalfOpen);
    assert_eq!(breaker.probes_out(at(11_002)), 1);
    probe.settle(&options, Evidence::Alive, at(11_003), || MIDDLE);
    assert_eq!(breaker.state(&options, at(11_003)), BreakerState::Closed);
}

#[test]
fn a_probe_that_is_dropped_or_neutral_gives_its_place_back_and_never_closes() {
    let options = options();
    let breaker = tripped(&options);
    assert_eq!(
        admit(&breaker, &options, 1_000),
        Ok(true),
        "dropped at once"
    );
    call(&breaker, &options, 1_000, Evidence::Neutral).unwrap();
    assert_eq!(breaker.state(&options, at(1_000)), BreakerState::HalfOpen);
    assert_eq!(breaker.probes_out(at(1_000)), 0);
    assert_eq!(admit(&breaker, &options, 1_000), Ok(true));
}

#[test]
fn results_of_an_earlier_generation_change_nothing() {
    let options = BreakerOptions {
        successes_to_close: 2,
        ..options()
    };
    for evidence in [Evidence::Alive, Evidence::Failed, Evidence::FailedAndSlow] {
        let breaker = Breaker::new(&options);
        let stale: Vec<_> = (0..10)
            .map(|_| breaker.admit(&options, at(0), || MIDDLE).unwrap().0)
            .collect();
        for _ in 0..3 {
            call(&breaker, &options, 0, Evidence::Failed).unwrap();
        }
        let (probe, _) = breaker.admit(&options, at(1_000), || MIDDLE).unwrap();
        for permit in stale {
            assert_eq!(
                permit.settle(&options, evidence, at(1_001), || MIDDLE),
                None
            );
            assert_eq!(breaker.state(&options, at(1_001)), BreakerState::HalfOpen);
            assert_eq!(
                admit(&breaker, &options, 1_001),
                Err(Refusal::ProbesOut),
                "a stale result freed a place"
            );
        }
        probe.settle(&options, Evidence::Alive, at(1_002), || MIDDLE);
        assert_eq!(
            breaker.state(&options, at(1_002)),
            BreakerState::HalfOpen,
            "needs a second success"
        );
        assert_eq!(breaker.counts(at(1_002)).total, 0);
    }
}

#[test]
fn counts_start_again_with_each_state() {
    let options = options();
    let breaker = tripped(&options);
    call(&breaker, &options, 1_000, Evidence::Alive).unwrap();
    call(&breaker, &options, 1_001, Evidence::Failed).unwrap();
    call(&breaker, &options, 1_002, Evidence::Failed).unwrap();
    assert_eq!(breaker.state(&options, at(1_002)), BreakerState::Closed);
    assert_eq!(breaker.counts(at(1_002)).failed, 2);
}

#[test]
fn the_open_time_doubles_until_a_stable_close() {
    let options = options();
    let breaker = tripped(&options);
    let open_for = |millis| match breaker.state(&options, at(millis)) {
        BreakerState::Open { left } => left.as_secs_f64().round(),
        other => panic!("{other:?}"),
    };
    call(&breaker, &options, 1_000, Evidence::Failed).unwrap();
    assert!((open_for(1_000) - 2.0).abs() < 0.01);
    call(&breaker, &options, 3_000, Evidence::Failed).unwrap();
    assert!((open_for(3_000) - 4.0).abs() < 0.01);
    call(&breaker, &options, 7_000, Evidence::Alive).unwrap();
    (0..3).for_each(|_| call(&breaker, &options, 8_000, Evidence::Failed).unwrap());
    assert!(
        (open_for(8_000) - 8.0).abs() < 0.01,
        "the close was not stable"
    );
    call(&breaker, &options, 16_000, Evidence::Alive).unwrap();
    (0..3).for_each(|_| call(&breaker, &options, 76_000, Evidence::Failed).unwrap());
    assert!(
        (open_for(76_000) - 1.0).abs() < 0.01,
        "the close was stable"
    );
}

#[test]
fn forced_open_stays_whatever_time_passes() {
    let options = options();
    let breaker = tripped(&options);
    breaker.force(Force::Open, &options, at(1)).unwrap();
    assert_eq!(breaker.force(Force::Open, &options, at(1)), None);
    assert_eq!(admit(&breaker, &options, 10_000), Err(Refusal::Forced));
    breaker.force(Force::Close, &options, at(10_001)).unwrap();
    assert_eq!(admit(&breaker, &options, 10_002), Ok(false));
    breaker.force(Force::Disable, &options, at(10_003)).unwrap();
    (0..100).for_each(|_| call(&breaker, &options, 10_004, Evidence::Failed).unwrap());
    assert_eq!(breaker.state(&options, at(10_004)), BreakerState::Disabled);
}

#[test]
fn one_that_only_measures_says_once_per_window_that_it_would_have_opened() {
    let options = BreakerOptions {
        mode: BreakerMode::MetricsOnly,
        ..options()
    };
    let breaker = Breaker::new(&options);
    let mut told = 0;
    for _ in 0..100 {
        let (permit, _) = breaker.admit(&options, at(0), || MIDDLE).unwrap();
        told += usize::from(
            permit
                .settle(&options, Evidence::Failed, at(0), || MIDDLE)
                .is_some(),
        );
    }
    assert_eq!(
        (told, breaker.state(&options, at(0))),
        (1, BreakerState::MetricsOnly)
    );
}

#[test]
fn after_a_close_a_growing_share_passes() {
    let options = BreakerOptions {
        ramp: Duration::from_secs(10),
        ..options()
    };
    let breaker = tripped(&options);
    call(&breaker, &options, 1_000, Evidence::Alive).unwrap();
    let share = |millis: u64| {
        let passed = (0..1000_u64).filter(|n| {
            let roll = Roll(n * (u64::MAX / 1000));
            breaker.admit(&options, at(millis), || roll).is_ok()
        });
        passed.count() / 10
    };
    assert_eq!(
        [
            share(1_000),
            share(3_500),
            share(6_000),
            share(10_999),
            share(11_001)
        ],
        [10, 25, 50, 100, 100]
    );
}

#[test]
fn clock_jumps_never_lengthen_an_open_time() {
    let options = BreakerOptions {
        open_for_max: Duration::from_secs(2),
        ..options()
    };
    let breaker = tripped(&options);
    // An hour back: what is left would be an hour, which no open time ever is.
    let back = Moment::from_nanos(at(0).as_nanos() - 3_600_000_000_000);
    assert!(breaker.admit(&options, back, || MIDDLE).is_ok());
    for now in [Moment::ZERO, Moment::NEVER, at(0)] {
        let _ = breaker
            .admit(&options, now, || MIDDLE)
            .map(|(permit, _)| permit.settle(&options, Evidence::Failed, now, || MIDDLE));
    }
}

#[test]
fn new_options_keep_window_permits_and_generation() {
    let old = BreakerOptions {
        consecutive_failures: 0,
        ..options()
    };
    let breaker = Breaker::new(&old);
    (0..15).for_each(|_| call(&breaker, &old, 0, Evidence::Failed).unwrap());
    let (permit, _) = breaker.admit(&old, at(1), || MIDDLE).unwrap();
    let new = BreakerOptions {
        calls_min: 16,
        window: Duration::from_secs(60),
        ..old.clone()
    };
    assert_eq!(breaker.reconfigure(&old, &new, at(2)), None);
    assert_eq!(
        (breaker.counts(at(2)).failed, breaker.generation()),
        (15, 0)
    );
    let told = permit
        .settle(&new, Evidence::Failed, at(3), || MIDDLE)
        .unwrap();
    assert!(matches!(told.to, BreakerState::Open { .. }));
}

#[test]
fn exactly_the_permitted_probes_pass_when_64_threads_meet_the_end_of_the_open_time() {
    for round in 0..200_u32 {
        let permitted = round % 4 + 1;
        let options = BreakerOptions {
            probes: permitted,
            ..options()
        };
        let breaker = tripped(&options);
        let start = Barrier::new(64);
        let passed: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..64)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        breaker
                            .admit(&options, at(1_000), || MIDDLE)
                            .map(std::mem::forget)
                            .is_ok()
                    })
                })
                .collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .filter(|passed| *passed)
                .count()
        });
        assert_eq!(passed, permitted as usize, "round {round}");
    }
}

#[test]
fn transitions_under_contention_happen_once_each() {
    let options = BreakerOptions {
        consecutive_failures: 1,
        open_for: Duration::from_millis(1),
        ..options()
    };
    let breaker = Breaker::new(&options);
    let told = std::sync::atomic::AtomicU32::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (breaker, options, told) = (&breaker, &options, &told);
            scope.spawn(move || {
                for step in 0..2_000_u64 {
                    let now = at(step * 2);
                    let Ok((permit, opened)) = breaker.admit(options, now, || MIDDLE) else {
                        continue;
                    };
                    let evidence = if (step + thread) % 3 == 0 {
                        Evidence::Failed
                    } else {
                        Evidence::Alive
                    };
                    let settled = permit.settle(options, evidence, now, || MIDDLE);
                    let count = u32::from(opened.is_some()) + u32::from(settled.is_some());
                    told.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(
        told.into_inner() & 0xF_FFFF,
        breaker.generation(),
        "each change is told once"
    );
    assert_eq!(breaker.probes_out(Moment::ZERO), 0);
}

#[test]
fn options_that_could_not_work_are_refused_together() {
    let wrong = BreakerOptions {
        window: Duration::from_millis(9),
        calls_min: 0,
        failure_ratio: f64::NAN,
        slow_ratio: 1.5,
        slow_after: Some(Duration::ZERO),
        open_for: Duration::from_secs(10),
        open_for_max: Duration::from_secs(5),
        open_jitter: -0.1,
        probes: PROBES_MAX + 1,
        successes_to_close: 0,
        probe_lease: Duration::ZERO,
        ..BreakerOptions::default()
    };
    assert_eq!(wrong.validate().len(), 10, "{:#?}", wrong.validate());
}

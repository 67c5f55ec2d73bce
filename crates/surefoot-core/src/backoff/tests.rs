//! Delays as tables, and what must hold for any values.

use proptest::prelude::*;

use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn doubling(jitter: Jitter) -> Backoff {
    Backoff::Exponential {
        base: s(1),
        factor: 2.0,
        cap: s(600),
        jitter,
    }
}

/// The shortest, the middle and the longest delay.
fn ends(backoff: &Backoff, failures: u32, previous: Option<Duration>) -> [Duration; 3] {
    [0, 1 << 63, u64::MAX].map(|roll| backoff.delay(failures, previous, Roll(roll)))
}

#[test]
fn the_default_is_a_list_give_or_take_a_quarter() {
    let table = [
        (0, [ms(7_500), s(10), ms(12_500)]),
        (1, [ms(7_500), s(10), ms(12_500)]),
        (2, [ms(22_500), s(30), ms(37_500)]),
        (3, [s(90), s(120), s(150)]),
        (4, [s(450), s(600), s(750)]),
        (5, [s(450), s(600), s(750)]),
        (u32::MAX, [s(450), s(600), s(750)]),
    ];
    for (failures, expected) in table {
        assert_eq!(
            ends(&Backoff::default(), failures, None),
            expected,
            "{failures}"
        );
        assert_eq!(
            Backoff::default().longest(failures),
            expected[2],
            "{failures}"
        );
    }
    assert_eq!(Backoff::default().validate(), Vec::<String>::new());
}

#[test]
fn delays_grow_to_the_cap_and_stay_spread_there() {
    let table = [
        (Jitter::None, 1, [s(1), s(1), s(1)]),
        (Jitter::None, 10, [s(512), s(512), s(512)]),
        (Jitter::None, 11, [s(600), s(600), s(600)]),
        (Jitter::None, u32::MAX, [s(600), s(600), s(600)]),
        (Jitter::Full, 4, [s(0), s(4), s(8)]),
        (Jitter::Full, 310, [s(0), s(300), s(600)]),
        (Jitter::Equal, 4, [s(4), s(6), s(8)]),
        (Jitter::Equal, u32::MAX, [s(300), s(450), s(600)]),
        (Jitter::Fraction(0.25), 4, [s(6), s(8), s(10)]),
        // The upper half of the range lies above the cap: the lower half is drawn from.
        (Jitter::Fraction(0.25), 64, [s(450), s(525), s(600)]),
        (Jitter::Fraction(1.0), 4, [s(0), s(8), s(16)]),
    ];
    for (jitter, failures, expected) in table {
        assert_eq!(
            ends(&doubling(jitter), failures, None),
            expected,
            "{jitter:?} {failures}"
        );
    }
}

#[test]
fn decorrelated_delays_follow_the_previous_one() {
    let table = [
        (None, [s(1), s(2), s(3)]),
        (Some(Duration::ZERO), [s(1), s(2), s(3)]),
        (Some(s(3)), [s(1), s(5), s(9)]),
        (Some(s(500)), [s(1), ms(300_500), s(600)]),
        (Some(Duration::MAX), [s(1), ms(300_500), s(600)]),
    ];
    for (previous, expected) in table {
        assert_eq!(
            ends(&doubling(Jitter::Decorrelated), 7, previous),
            expected,
            "{previous:?}"
        );
    }
    assert_eq!(doubling(Jitter::Decorrelated).longest(1), s(600));
}

#[test]
fn small_and_huge_values_keep_their_meaning() {
    let of = |base, factor, cap, jitter| Backoff::Exponential {
        base,
        factor,
        cap,
        jitter,
    };
    let ns = Duration::from_nanos;
    let table = [
        (of(ns(1), 2.0, s(1), Jitter::Full), 1, ns(1)),
        (of(ns(1), 2.0, s(1), Jitter::Fraction(0.25)), 1, ns(2)),
        (of(ns(1), 2.0, s(1), Jitter::None), 21, ns(1_048_576)),
        (of(ns(1_500), 1.5, s(1), Jitter::None), 2, ns(2_250)),
        (of(s(1), f64::INFINITY, s(9), Jitter::None), 2, s(9)),
        (
            of(s(1), f64::NAN, s(9), Jitter::Fraction(f64::NAN)),
            9,
            s(1),
        ),
        (of(s(1), -3.0, s(9), Jitter::None), 9, s(1)),
        (
            of(Duration::ZERO, f64::INFINITY, s(9), Jitter::None),
            9,
            Duration::ZERO,
        ),
        (of(s(9), 2.0, s(1), Jitter::None), 1, s(1)),
        (of(s(9), 2.0, s(1), Jitter::Decorrelated), 1, s(1)),
        (
            Backoff::List {
                delays: Vec::new(),
                jitter: Jitter::Full,
            },
            1,
            Duration::ZERO,
        ),
    ];
    for (backoff, failures, longest) in table {
        assert_eq!(backoff.longest(failures), longest, "{backoff:?}");
        assert_eq!(
            backoff.delay(failures, None, Roll(u64::MAX)),
            longest,
            "{backoff:?}"
        );
    }
}

#[test]
fn the_longest_duration_is_no_overflow() {
    let max = Duration::MAX;
    let of = |jitter| Backoff::Exponential {
        base: max,
        factor: 2.0,
        cap: max,
        jitter,
    };
    for jitter in [
        Jitter::Full,
        Jitter::Equal,
        Jitter::Fraction(1.0),
        Jitter::Decorrelated,
    ] {
        for backoff in [
            of(jitter),
            Backoff::List {
                delays: vec![max],
                jitter,
            },
        ] {
            assert_eq!(backoff.longest(u32::MAX), max, "{backoff:?}");
            let last = backoff.delay(u32::MAX, Some(max), Roll(u64::MAX));
            assert!(last > max / 4 * 3 && last <= max, "{backoff:?}");
        }
    }
}

#[test]
fn every_fault_is_told_with_its_remedy() {
    let list = |delays: &[Duration], jitter| Backoff::List {
        delays: delays.to_vec(),
        jitter,
    };
    let of = |base, factor, cap, jitter| Backoff::Exponential {
        base,
        factor,
        cap,
        jitter,
    };
    let table: [(Backoff, &[&str]); 8] = [
        (list(&[s(1)], Jitter::None), &[]),
        (of(s(1), 1.0, s(1), Jitter::Fraction(1.0)), &[]),
        (
            list(&[], Jitter::Decorrelated),
            &[
                "the list of delays is empty: give at least one delay",
                "a list of delays does not go with decorrelated jitter: choose full jitter or an exponential backoff",
            ],
        ),
        (
            list(&[s(1), s(0)], Jitter::Fraction(0.0)),
            &[
                "delay 2 of the list is zero: give a delay above zero",
                "jitter fraction 0 is not above 0 and at most 1: give 0.25 for a quarter, or choose no jitter",
            ],
        ),
        (
            list(&[s(1); 101], Jitter::Full),
            &["the list has 101 delays: give at most 100, the last one repeats"],
        ),
        (
            of(s(10), 0.5, s(1), Jitter::Fraction(f64::NAN)),
            &[
                "factor 0.5 does not let delays grow: give a finite factor of at least 1, such as 2",
                "base 10s is above the cap 1s: lower the base or raise the cap",
                "jitter fraction NaN is not above 0 and at most 1: give 0.25 for a quarter, or choose no jitter",
            ],
        ),
        (
            of(s(0), f64::INFINITY, s(0), Jitter::None),
            &[
                "the base delay is zero: give a base above zero",
                "factor inf does not let delays grow: give a finite factor of at least 1, such as 2",
            ],
        ),
        (
            of(s(5), 2.0, s(5), Jitter::Decorrelated),
            &["base and cap are both 5s, which leaves decorrelated jitter no range: raise the cap"],
        ),
    ];
    for (backoff, expected) in table {
        assert_eq!(backoff.validate(), expected, "{backoff:?}");
    }
}

/// Draws that are spread evenly over all rolls, so that the counts are the same in each run.
#[test]
fn at_the_cap_no_delay_is_favoured() {
    const DRAWS: u64 = 10_000;
    for jitter in [
        Jitter::Full,
        Jitter::Equal,
        Jitter::Fraction(0.25),
        Jitter::Decorrelated,
    ] {
        let backoff = doubling(jitter);
        let [low, _, high] = ends(&backoff, 64, Some(s(600)));
        let mut histogram = [0_u64; 10];
        for draw in 0..DRAWS {
            let roll = Roll(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let delay = backoff.delay(64, Some(s(600)), roll);
            let bucket = (delay - low).as_nanos() * 10 / ((high - low).as_nanos() + 1);
            histogram[usize::try_from(bucket).unwrap()] += 1;
        }
        assert!(
            histogram.iter().all(|count| (950..=1050).contains(count)),
            "{jitter:?} {histogram:?}"
        );
        assert!(high == s(600) && low <= s(450), "{jitter:?} {low:?}");
    }
}

fn any_jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        any::<f64>().prop_map(Jitter::Fraction),
        (0.0..=1.0).prop_map(Jitter::Fraction),
        Just(Jitter::Decorrelated),
    ]
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0_u64..5).prop_map(Duration::from_nanos),
        any::<u64>().prop_map(Duration::from_nanos),
        (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(secs, nanos)| Duration::new(secs, nanos)),
        Just(Duration::MAX),
    ]
}

fn any_backoff() -> impl Strategy<Value = Backoff> {
    let list = (prop::collection::vec(any_duration(), 0..4), any_jitter());
    let factor = prop_oneof![any::<f64>(), 1.0..3.0];
    let exponential = (any_duration(), factor, any_duration(), any_jitter());
    prop_oneof![
        list.prop_map(|(delays, jitter)| Backoff::List { delays, jitter }),
        exponential.prop_map(|(base, factor, cap, jitter)| Backoff::Exponential {
            base,
            factor,
            cap,
            jitter
        }),
    ]
}

fn has_jitter(backoff: &Backoff) -> bool {
    let (Backoff::List { jitter, .. } | Backoff::Exponential { jitter, .. }) = backoff;
    *jitter != Jitter::None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_delay_is_within_its_bound_and_spread(
        backoff in any_backoff(),
        failures in prop_oneof![0_u32..70, any::<u32>()],
        previous in prop::option::of(any_duration()),
        roll: u64,
    ) {
        let longest = backoff.longest(failures);
        let delay = backoff.delay(failures, previous, Roll(roll));
        let [low, _, high] = ends(&backoff, failures, previous);
        prop_assert!(low <= delay && delay <= high && high <= longest);
        if let Backoff::Exponential { cap, .. } = backoff {
            prop_assert!(longest <= cap);
        }
        if backoff.validate().is_empty() && has_jitter(&backoff) {
            prop_assert!(low < high, "{:?} {:?}", low, high);
        }
    }

    #[test]
    fn without_jitter_delays_never_shrink(
        base in any_duration(),
        factor in 1.0..1e9_f64,
        cap in any_duration(),
        failures in 1_u32..200,
    ) {
        let backoff = Backoff::Exponential { base, factor, cap, jitter: Jitter::None };
        prop_assert!(backoff.longest(failures) <= backoff.longest(failures + 1));
        prop_assert_eq!(backoff.longest(u32::MAX - 1), backoff.longest(u32::MAX));
    }
}

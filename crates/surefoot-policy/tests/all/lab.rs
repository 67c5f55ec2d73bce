//! The experiments give the figures of `fixtures/lab.json`.

use std::time::Duration;

use serde_json::Value;
use surefoot_policy::breaker::BreakerOptions;
use surefoot_policy::lab::{Spread, Step, amplification, breaker_trace, herd};

fn expected(experiment: &str) -> Value {
    let figures: Value = serde_json::from_str(include_str!("../fixtures/lab.json")).unwrap();
    figures[experiment]["expected"].clone()
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

#[test]
fn retries_at_every_layer_multiply_and_with_one_owner_they_do_not() {
    let expected = expected("amplification");
    assert_eq!(amplification(3, 4, false), expected["retry_at_every_layer"]);
    assert_eq!(amplification(3, 4, true), expected["retry_at_one_layer"]);
}

#[test]
fn without_jitter_a_herd_stays_together() {
    let expected = expected("jitter");
    for (spread, name) in [
        (Spread::Fixed, "fixed_1s"),
        (Spread::Exponential, "exponential_no_jitter"),
    ] {
        let figures: Vec<f64> = herd(spread, 1000, 5, 1)
            .into_iter()
            .map(f64::from)
            .collect();
        assert_eq!(figures, numbers(&expected[name]), "{name}");
    }
}

#[test]
fn full_jitter_spreads_a_herd_as_measured() {
    const SEEDS: u64 = 100;
    let expected = expected("jitter");
    let runs: Vec<Vec<f64>> = (0..SEEDS)
        .map(|seed| {
            herd(Spread::FullJitter, 1000, 5, seed)
                .into_iter()
                .map(f64::from)
                .collect()
        })
        .collect();
    let mission = numbers(&expected["exponential_full_jitter_mission_run"]);
    for (round, mean) in numbers(&expected["exponential_full_jitter_mean_of_300_seeds"])
        .into_iter()
        .enumerate()
    {
        let of_round: Vec<f64> = runs.iter().map(|run| run[round]).collect();
        let ours = of_round.iter().sum::<f64>() / SEEDS as f64;
        let tolerance = if round == 0 { 0.0 } else { 0.03 * mean };
        assert!(
            (ours - mean).abs() <= tolerance,
            "round {}: {ours}, not {mean}",
            round + 1
        );
        let lowest = of_round.iter().copied().fold(f64::MAX, f64::min);
        let highest = of_round.iter().copied().fold(0.0, f64::max);
        assert!(
            (lowest..=highest).contains(&mission[round]),
            "round {}: {lowest} to {highest}",
            round + 1
        );
    }
}

#[test]
fn the_breaker_takes_the_path_that_is_written_down() {
    let options = BreakerOptions {
        consecutive_failures: 3,
        open_for: Duration::from_millis(1000),
        open_for_max: Duration::from_millis(1000),
        open_jitter: 0.0,
        probes: 1,
        successes_to_close: 1,
        ramp: Duration::ZERO,
        ..BreakerOptions::default()
    };
    let rows = expected("breaker");
    let rows = rows.as_array().unwrap();
    let script: Vec<Step> = rows
        .iter()
        .map(|row| Step {
            at_ms: row[0].as_u64().unwrap(),
            up: row[1] == "up",
        })
        .collect();
    for (row, expected) in breaker_trace(&options, &script).iter().zip(rows) {
        let answer = if row.value { "value" } else { "fallback" };
        let found = serde_json::json!([
            row.at_ms,
            if row.up { "up" } else { "down" },
            answer,
            row.state,
            row.calls
        ]);
        assert_eq!(&found, expected);
    }
}

//! `lab jitter`: the most retries that fall into one tenth of a second, round by round.

use serde::Serialize;
use serde_json::{Value, json};
use surefoot_policy::lab::{Spread, herd};

use super::super::expected::{self, Figure};
use super::draw;
use super::plot::{Series, lines};
use crate::args::JitterArgs;
use crate::exit::Failed;
use crate::output::{Output, Table};

const NAME: &str = "jitter";
/// By how much of it a mean may differ.
const TOLERANCE: f64 = 0.03;
const TITLE: &str = "the most retries within 100 ms, by round";

#[derive(Debug, PartialEq, Serialize)]
struct Jitter {
    clients: u32,
    seeds: u32,
    /// One second each time.
    fixed: Vec<Round>,
    /// 100 ms, doubling.
    exponential: Vec<Round>,
    /// The same with full jitter.
    full_jitter: Vec<Round>,
}

/// One round over all seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Round {
    mean: f64,
    min: u32,
    max: u32,
}

pub(in crate::commands) fn run(args: &JitterArgs, output: Output) -> Result<(), Failed> {
    let shown = measure(args.clients, args.rounds, args.seeds);
    draw(args.plot.svg.as_deref(), || shown.svg())?;
    output.answer(&shown, || shown.text())?;
    Ok(())
}

/// Each figure beside the one that must come out, over a hundred seeds. Without jitter they are exact; with it the means may
/// differ by 3 %, and the one run that is known must lie within what was seen.
pub(in crate::commands) fn figures() -> [Figure; 4] {
    let (shown, expected) = (measure(1000, 5, 100), expected::of(NAME));
    let exact = |name: &str, rounds: &[Round]| {
        let lowest: Vec<u32> = rounds.iter().map(|round| round.min).collect();
        let highest: Vec<u32> = rounds.iter().map(|round| round.max).collect();
        let holds = json!(lowest) == expected[name] && lowest == highest;
        Figure::judged(NAME, name, &expected[name], highest, holds)
    };
    let rounds = &shown.full_jitter;
    let each = |name: &str, near: fn(&Round, f64) -> bool| {
        let figures = numbers(&expected[name]);
        figures.len() == rounds.len()
            && rounds
                .iter()
                .zip(figures)
                .all(|(round, one)| near(round, one))
    };
    let (means, run) = (
        "exponential_full_jitter_mean_of_300_seeds",
        "exponential_full_jitter_mission_run",
    );
    let near_mean = each(means, |round, mean| {
        (round.mean - mean).abs() <= TOLERANCE * mean
    });
    let in_range = each(run, |round, one| {
        (f64::from(round.min)..=f64::from(round.max)).contains(&one)
    });
    let mean: Vec<String> = rounds
        .iter()
        .map(|round| format!("{:.0}", round.mean))
        .collect();
    let range: Vec<[u32; 2]> = rounds.iter().map(|round| [round.min, round.max]).collect();
    [
        exact("fixed_1s", &shown.fixed),
        exact("exponential_no_jitter", &shown.exponential),
        Figure::judged(
            NAME,
            "full jitter: mean, within 3 %",
            &expected[means],
            mean,
            near_mean,
        ),
        Figure::judged(
            NAME,
            "full jitter: a known run lies within",
            &expected[run],
            range,
            in_range,
        ),
    ]
}

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(Value::as_f64).collect()
}

fn measure(clients: u32, rounds: u32, seeds: u32) -> Jitter {
    let over_seeds = |spread| -> Vec<Round> {
        let runs: Vec<Vec<u32>> = (0..seeds)
            .map(|seed| herd(spread, clients, rounds, u64::from(seed)))
            .collect();
        let count = rounds as usize;
        (0..count).map(|round| Round::of(&runs, round)).collect()
    };
    Jitter {
        clients,
        seeds,
        fixed: over_seeds(Spread::Fixed),
        exponential: over_seeds(Spread::Exponential),
        full_jitter: over_seeds(Spread::FullJitter),
    }
}

impl Round {
    fn of(runs: &[Vec<u32>], round: usize) -> Self {
        let figures: Vec<u32> = runs
            .iter()
            .filter_map(|run| run.get(round).copied())
            .collect();
        let sum: f64 = figures.iter().map(|figure| f64::from(*figure)).sum();
        let count = u32::try_from(figures.len()).unwrap_or(u32::MAX).max(1);
        Self {
            mean: sum / f64::from(count),
            min: figures.iter().copied().min().unwrap_or(0),
            max: figures.iter().copied().max().unwrap_or(0),
        }
    }
}

impl Jitter {
    fn series(&self) -> [(&'static str, &[Round]); 3] {
        [
            ("1 s each time", &self.fixed),
            ("100 ms, doubling", &self.exponential),
            ("100 ms, doubling, full jitter", &self.full_jitter),
        ]
    }

    fn text(&self) -> String {
        let mut table = Table::new(["wait", "round", "mean", "lowest", "highest"]);
        for (name, rounds) in self.series() {
            for (number, round) in (1..).zip(rounds) {
                table.row([
                    name.to_owned(),
                    number.to_string(),
                    format!("{:.0}", round.mean),
                    round.min.to_string(),
                    round.max.to_string(),
                ]);
            }
        }
        let (clients, seeds) = (self.clients, self.seeds);
        format!(
            "{clients} clients fail at once, {seeds} runs: {TITLE}\n\n{}",
            table.text()
        )
    }

    fn svg(&self) -> String {
        let series: Vec<Series> = self
            .series()
            .into_iter()
            .map(|(name, rounds)| Series {
                name,
                points: (1_u32..)
                    .zip(rounds)
                    .map(|(number, round)| (f64::from(number), round.mean))
                    .collect(),
            })
            .collect();
        lines(TITLE, "round", &series)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_that_must_come_out() {
        assert!(expected::hold(&figures()), "{:?}", figures());
    }

    #[test]
    fn without_jitter_nothing_is_spread() {
        let shown = measure(10, 2, 3);
        let together = Round {
            mean: 10.0,
            min: 10,
            max: 10,
        };
        assert_eq!(shown.fixed, [together; 2]);
        assert!(shown.full_jitter[1].mean < 10.0, "{shown:?}");
    }
}

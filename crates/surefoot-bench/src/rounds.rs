//! How often something is measured, and what is made of it. Surefoot and its floor take turns, so that a machine that
//! slows down slows both; the ratio is taken within each round, and the middle one counts.

use std::time::Duration;

use crate::Outcome;

/// How often two things are measured in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    pub(crate) min: usize,
    /// Rounds are added up to so many while they differ too much.
    pub(crate) max: usize,
}

/// The middle half of the ratios may be so wide, as a share of the middle one, before rounds are added.
const SPREAD_MAX: f64 = 0.15;

/// What came of measuring two things in turn, in the unit in which they were measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compared {
    pub(crate) surefoot: f64,
    pub(crate) floor: f64,
    /// Surefoot as a share of the floor: the middle of the ratios of the rounds.
    pub(crate) ratio: f64,
    /// The width of the middle half of the ratios, as a share of the middle one, where there are ratios of rounds.
    pub(crate) spread: Option<f64>,
}

/// Measures two rates in turn.
pub(crate) async fn compare(
    rounds: Rounds,
    mut surefoot: impl AsyncFnMut() -> Outcome<f64>,
    mut floor: impl AsyncFnMut() -> Outcome<f64>,
) -> Outcome<Compared> {
    let mut pairs = Vec::new();
    loop {
        let (ours, raw) = if pairs.len() % 2 == 0 {
            let raw = floor().await?;
            (surefoot().await?, raw)
        } else {
            let ours = surefoot().await?;
            (ours, floor().await?)
        };
        pairs.push((ours, raw));
        let compared = summed_up(&pairs);
        let steady =
            pairs.len() >= rounds.min && compared.spread.is_some_and(|spread| spread <= SPREAD_MAX);
        if steady || pairs.len() >= rounds.max {
            return Ok(compared);
        }
    }
}

fn summed_up(pairs: &[(f64, f64)]) -> Compared {
    let ratios = sorted(pairs.iter().map(|(ours, raw)| ours / raw));
    let ratio = quantile(&ratios, 0.5);
    Compared {
        surefoot: quantile(&sorted(pairs.iter().map(|pair| pair.0)), 0.5),
        floor: quantile(&sorted(pairs.iter().map(|pair| pair.1)), 0.5),
        ratio,
        spread: Some((quantile(&ratios, 0.75) - quantile(&ratios, 0.25)) / ratio),
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value below which this share of them lies; the middle one of an even number is the upper one.
fn quantile<T: Copy + Default>(sorted: &[T], share: f64) -> T {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list that fits in memory"
    )]
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(last)).copied().unwrap_or_default()
}

/// Many durations of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latencies(Vec<Duration>);

impl Latencies {
    pub(crate) fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The duration that this share of them does not exceed, in milliseconds.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        quantile(&sorted, share).as_secs_f64() * 1000.0
    }
}

/// How many of something were done in each second.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^52")]
pub(crate) fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_ratio_counts_and_not_the_ratio_of_the_middles() {
        let compared = summed_up(&[(10.0, 20.0), (30.0, 60.0), (100.0, 125.0)]);
        assert_eq!(compared.ratio, 0.5);
        assert_eq!((compared.surefoot, compared.floor), (30.0, 60.0));
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let mut latencies = Latencies::default();
        for ms in (1..=200).rev() {
            latencies.add(Duration::from_millis(ms));
        }
        assert_eq!(latencies.quantile_ms(0.5), 101.0);
        assert_eq!(latencies.quantile_ms(0.99), 199.0);
        assert_eq!(Latencies::default().quantile_ms(0.5), 0.0);
    }

    #[tokio::test]
    async fn rounds_are_added_while_they_differ() {
        let rounds = Rounds { min: 3, max: 6 };
        let (mut steady, mut noisy) = (0, 0);
        compare(
            rounds,
            async || {
                steady += 1;
                Ok(1.0)
            },
            async || Ok(1.0),
        )
        .await
        .unwrap();
        compare(
            rounds,
            async || {
                noisy += 1;
                Ok(f64::from(noisy))
            },
            async || Ok(1.0),
        )
        .await
        .unwrap();
        assert_eq!((steady, noisy), (3, 6));
    }
}

//! What an act looks like while it is on: figures of this moment, told several times a second to whoever watches.

use std::sync::Arc;
use std::time::Duration;

use crate::act::Act;
use crate::checkout::Standing;
use crate::customers::Outcomes;
use crate::plan::Phase;
use crate::provider::Books;
use crate::visitors::Views;

/// Who watches.
pub type Watcher = Arc<dyn Fn(&Live) + Send + Sync>;

/// One look at an act.
#[derive(Clone, Debug, PartialEq)]
pub struct Live {
    /// Which act.
    pub act: Act,
    /// What the provider is going through, by the orders that are placed at present.
    pub phase: Phase,
    /// How long the act has been on.
    pub elapsed: Duration,
    /// Whether the checkout is down.
    pub is_down: bool,
    /// How many orders have been placed.
    pub placed: usize,
    /// How many of them have no known outcome yet.
    pub open: usize,
    /// Calls of the provider that were to charge, so far.
    pub calls: u64,
    /// Questions to the provider, so far.
    pub asked: u64,
    /// Orders that were charged more than once, so far.
    pub charged_twice: u64,
    /// What the breaker towards the provider does; `None` where there is none, or nobody answers.
    pub breaker: Option<String>,
    /// Payments that wait or run in the background.
    pub queue: u64,
    /// Those of them that are asked about.
    pub verifying: u64,
    /// The median from a click to a known outcome, so far.
    pub p50: Duration,
    /// The 99th percentile of the same.
    pub p99: Duration,
    /// Views of pages that have ended, so far.
    pub views: u64,
    /// Those that showed a page in time.
    pub views_good: u64,
}

/// Where one look comes from.
pub(crate) struct Seen {
    pub(crate) act: Act,
    pub(crate) phase: Phase,
    pub(crate) elapsed: Duration,
    pub(crate) is_down: bool,
    pub(crate) outcomes: Outcomes,
    pub(crate) books: Books,
    pub(crate) standing: Standing,
    pub(crate) views: Views,
}

impl From<Seen> for Live {
    fn from(seen: Seen) -> Self {
        let latencies = seen.outcomes.latencies();
        Self {
            act: seen.act,
            phase: seen.phase,
            elapsed: seen.elapsed,
            is_down: seen.is_down,
            placed: seen.outcomes.placed(),
            open: seen.outcomes.open(),
            calls: seen.books.calls(),
            asked: seen.books.asked,
            charged_twice: seen.books.charged_twice(),
            breaker: seen.standing.breaker,
            queue: seen.standing.queue,
            verifying: seen.standing.verifying,
            p50: percentile(&latencies, 50),
            p99: percentile(&latencies, 99),
            views: seen.views.all,
            views_good: seen.views.good,
        }
    }
}

/// The value at which `percent` of 100 lie at or below it, by nearest rank; zero of nothing. `sorted` has the shortest first.
pub(crate) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_go_by_nearest_rank() {
        let all: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile(&all, 99), Duration::from_millis(198));
        assert_eq!(percentile(&all, 50), Duration::from_millis(100));
        assert_eq!(percentile(&all[..1], 99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 99), Duration::ZERO);
    }
}

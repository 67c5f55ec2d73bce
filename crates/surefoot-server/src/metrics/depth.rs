//! Gauges of what waits, runs, is dead or parked, read from the store when somebody scrapes. However many scrape, the store
//! is asked once in a few seconds; when it does not answer, the gauges are left out and `surefoot_store_up` is 0.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use surefoot::Client;
use surefoot_core::error::StoreError;
use surefoot_core::job::StateName;
use surefoot_core::port::{Depth, Messages, RequestDepth, Requests, SinkDepth};
use surefoot_core::request::RequestStateName;
use surefoot_core::time::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::dependencies;
use super::jobs::Metrics;
use super::labels::{Names, OTHER};
use super::message_depth;
use crate::dependency::Dependencies;

/// How long an answer of the store is served.
const FRESH: Duration = Duration::from_secs(5);
/// How long the store may take; a scrape must not wait longer.
const PATIENCE: Duration = Duration::from_secs(4);
/// How long it may take to count messages, which costs more the more of them wait: the other gauges must not go with it.
const PATIENCE_WITH_MESSAGES: Duration = Duration::from_secs(3);
/// The most queues with series of their own.
const QUEUES_MAX: usize = 100;
/// The most (queue, kind) pairs with series of their own.
const PAIRS_MAX: usize = 500;

/// The last depth that the store answered.
#[derive(Debug)]
pub(crate) struct DepthCache {
    last: Mutex<Option<Look>>,
    queues: Names,
    pairs: Names,
}

#[derive(Clone, Debug)]
struct Look {
    at: Instant,
    /// `None` when the store did not answer.
    depth: Option<Arc<Depths>>,
}

/// What the store counts.
#[derive(Debug)]
struct Depths {
    jobs: Depth,
    requests: RequestDepth,
    /// None where counting them took too long.
    sinks: Option<Vec<SinkDepth>>,
}

impl Default for DepthCache {
    fn default() -> Self {
        Self {
            last: Mutex::default(),
            queues: Names::up_to(QUEUES_MAX),
            pairs: Names::up_to(PAIRS_MAX),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestsLabel {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct JobsLabel {
    queue: String,
    kind: String,
    state: &'static str,
}

impl DepthCache {
    /// The whole exposition.
    pub(crate) async fn scrape(
        &self,
        client: &Client,
        requests: &dyn Requests,
        messages: &dyn Messages,
        metrics: &Metrics,
        called: &dyn Dependencies,
    ) -> String {
        let depth = self.look(client, requests, messages).await;
        let sinks = depth.iter().flat_map(|depth| &depth.sinks).flatten();
        sinks.for_each(|depth| metrics.messages.seen(&depth.sink));
        let mut gauges = Registry::default();
        self.register(&mut gauges, depth.as_deref(), metrics, client.now());
        let mut text = String::new();
        let written = encode_registry(&mut text, metrics.registry())
            .and_then(|()| encode_registry(&mut text, &gauges))
            .and_then(|()| dependencies::write(&mut text, called))
            .and_then(|()| encode_eof(&mut text));
        if written.is_err() {
            tracing::error!("the metrics could not be written");
        }
        text
    }

    async fn look(
        &self,
        client: &Client,
        requests: &dyn Requests,
        messages: &dyn Messages,
    ) -> Option<Arc<Depths>> {
        let mut last = self.last.lock().await;
        if let Some(look) = last.as_ref()
            && look.at.elapsed() < FRESH
        {
            return look.depth.clone();
        }
        let all = async {
            let rest = async { Ok((client.depth().await?, requests.request_depth().await?)) };
            let ((jobs, requests), sinks) = tokio::try_join!(rest, sinks(messages))?;
            Ok::<_, StoreError>(Depths {
                jobs,
                requests,
                sinks,
            })
        };
        let depth = match tokio::time::timeout(PATIENCE, all).await {
            Ok(Ok(depth)) => Some(Arc::new(depth)),
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the depth could not be read"
                );
                None
            }
            Err(_) => None,
        };
        *last = Some(Look {
            at: Instant::now(),
            depth: depth.clone(),
        });
        depth
    }

    fn register(
        &self,
        registry: &mut Registry,
        depths: Option<&Depths>,
        metrics: &Metrics,
        now: Timestamp,
    ) {
        let own = registry.sub_registry_with_prefix("surefoot");
        let up: Gauge = Gauge::default();
        up.set(i64::from(depths.is_some()));
        own.register(
            "store_up",
            "Whether the store answered the last look at the depth",
            up,
        );
        let Some(Depths {
            jobs: depth,
            requests,
            sinks,
        }) = depths
        else {
            return;
        };
        let jobs: Family<JobsLabel, Gauge> = Family::default();
        for (label, count) in self.folded(depth, metrics) {
            jobs.get_or_create(&label).set(gauge(count));
        }
        own.register("jobs", "Jobs that wait, run or are dead", jobs);
        let dead = depth
            .counts
            .iter()
            .filter(|line| line.state == StateName::Dead)
            .map(|line| line.count)
            .sum();
        let letters: Gauge = Gauge::default();
        letters.set(gauge(dead));
        own.register(
            "dead_letters",
            "Dead letters that wait for a person",
            letters,
        );
        let open: Family<RequestsLabel, Gauge> = Family::default();
        for (state, count) in [
            (RequestStateName::Claimed, requests.claimed),
            (RequestStateName::Unknown, requests.unknown),
            (RequestStateName::NeedsHuman, requests.needs_human),
        ] {
            let state = state.as_str();
            open.get_or_create(&RequestsLabel { state })
                .set(gauge(count));
        }
        own.register(
            "requests_open",
            "Requests of the front door that run, are of unknown outcome or wait for a person",
            open,
        );
        if let Some(sinks) = sinks {
            message_depth::register(own, sinks, &metrics.messages, now);
        }
        let mut age = |name: &str, help: &str, since: Option<Timestamp>| {
            let age: Gauge<f64, std::sync::atomic::AtomicU64> = Gauge::default();
            age.set(since.map_or(0.0, |since| now.since(since).as_secs_f64()));
            own.register_with_unit(name, help, Unit::Seconds, age);
        };
        age(
            "oldest_due_job_age",
            "How long the job is due that is due the longest; 0 when none is",
            depth.oldest_due,
        );
        age(
            "oldest_dead_letter_age",
            "How long the oldest dead letter waits; 0 when none does",
            depth.oldest_dead,
        );
        age(
            "oldest_unknown_request_age",
            "How long the outcome of a request is unknown, that of the oldest; 0 when none is",
            requests.oldest_unknown,
        );
    }

    /// The counts with every label value within its limit.
    fn folded(&self, depth: &Depth, metrics: &Metrics) -> BTreeMap<JobsLabel, u64> {
        let mut sums = BTreeMap::new();
        for line in &depth.counts {
            let (queue, kind) = (
                self.queues.fold(line.queue.as_str()),
                metrics.fold_kind(line.kind.as_str()),
            );
            let pair = format!("{queue} {kind}");
            let kept = self.pairs.fold(&pair) == pair;
            let (queue, kind) = if kept { (queue, kind) } else { (OTHER, OTHER) };
            let label = JobsLabel {
                queue: queue.to_owned(),
                kind: kind.to_owned(),
                state: line.state.as_str(),
            };
            *sums.entry(label).or_insert(0) += line.count;
        }
        sums
    }
}

/// What is open for each sink; `None` when that was not counted in time.
async fn sinks(messages: &dyn Messages) -> Result<Option<Vec<SinkDepth>>, StoreError> {
    match tokio::time::timeout(PATIENCE_WITH_MESSAGES, messages.message_depth()).await {
        Ok(answer) => answer.map(Some),
        Err(_) => {
            tracing::warn!("what is open for each sink was not counted in time");
            Ok(None)
        }
    }
}

fn gauge(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use surefoot_core::id::{Kind, Queue};
    use surefoot_core::port::DepthCount;

    use super::*;
    use crate::metrics::jobs::KINDS_MAX;

    #[test]
    fn however_many_queues_and_kinds_there_are_the_series_are_bounded_and_nothing_is_lost() {
        let line = |queue: usize, kind: usize| DepthCount {
            queue: Queue::new(format!("q{queue}")).unwrap(),
            kind: Kind::new(format!("k{kind}")).unwrap(),
            state: StateName::Pending,
            count: 2,
        };
        let lines = (0..150).flat_map(|queue| (0..150).map(move |kind| (queue, kind)));
        let depth = Depth {
            counts: lines.map(|(queue, kind)| line(queue, kind)).collect(),
            ..Depth::default()
        };
        let cache = DepthCache::default();
        let sums = cache.folded(&depth, &Metrics::new());
        assert_eq!(sums.values().sum::<u64>(), 150 * 150 * 2);
        assert!(sums.len() <= PAIRS_MAX + 1, "{}", sums.len());
        let kinds: std::collections::BTreeSet<&str> =
            sums.keys().map(|label| label.kind.as_str()).collect();
        assert_eq!(kinds.len(), KINDS_MAX + 1);
    }
}

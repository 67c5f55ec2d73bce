//! Visitors of the pages, at a steady rate, who wait so long and no longer. What they saw is the health of the pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::task::{AbortHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::error::DemoError;
use crate::outbound;
use crate::times::{VISITOR_EVERY, VISITOR_TIMEOUT};

/// Every so many-th visitor comes to the home page, which has no widget.
const HOME_EVERY: u64 = 4;

/// How many views there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Views {
    /// All that have ended.
    pub(crate) all: u64,
    /// Those that showed a page in time.
    pub(crate) good: u64,
}

#[derive(Debug, Default)]
struct Counted {
    all: AtomicU64,
    good: AtomicU64,
}

/// The stream of visitors; it ends when this is dropped.
pub(crate) struct Visitors {
    counted: Arc<Counted>,
    stream: AbortHandle,
}

impl Visitors {
    /// Visitors of the pages at `pages`, from here on.
    pub(crate) fn start(pages: &str) -> Result<Self, DemoError> {
        let (client, pages) = (outbound::client()?, pages.to_owned());
        let counted = Arc::new(Counted::default());
        let counts = counted.clone();
        let stream = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(VISITOR_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let mut views = JoinSet::new();
            for number in 0_u64.. {
                ticks.tick().await;
                let url = match number % HOME_EVERY {
                    0 => format!("{pages}/"),
                    _ => format!("{pages}/products/{number}"),
                };
                let (client, counts) = (client.clone(), counts.clone());
                views.spawn(async move {
                    let view = tokio::time::timeout(VISITOR_TIMEOUT, view(&client, &url)).await;
                    counts.all.fetch_add(1, Ordering::Relaxed);
                    if view == Ok(Some(())) {
                        counts.good.fetch_add(1, Ordering::Relaxed);
                    }
                });
                while views.try_join_next().is_some() {}
            }
        })
        .abort_handle();
        Ok(Self { counted, stream })
    }

    pub(crate) fn views(&self) -> Views {
        self.counted.views()
    }

    /// The same, for who watches meanwhile.
    pub(crate) fn watched(&self) -> Watched {
        Watched(self.counted.clone())
    }
}

/// How many views there were, for who watches.
pub(crate) struct Watched(Arc<Counted>);

impl Watched {
    pub(crate) fn views(&self) -> Views {
        self.0.views()
    }
}

impl Counted {
    fn views(&self) -> Views {
        let good = self.good.load(Ordering::Relaxed);
        Views {
            all: self.all.load(Ordering::Relaxed).max(good),
            good,
        }
    }
}

async fn view(client: &reqwest::Client, url: &str) -> Option<()> {
    let answer = client.get(url).send().await.ok()?;
    answer.error_for_status().ok()?.bytes().await.ok()?;
    Some(())
}

impl Drop for Visitors {
    fn drop(&mut self) {
        self.stream.abort();
    }
}

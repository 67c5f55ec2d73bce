//! Looks at an act several times a second while it is on, and tells whoever watches. It changes nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::task::AbortHandle;

use crate::act::Act;
use crate::checkout::Standing;
use crate::customers::Watched as Customers;
use crate::error::DemoError;
use crate::live::{Live, Seen, Watcher};
use crate::outbound;
use crate::plan::Phase;
use crate::provider::Provider;
use crate::times::LIVE_EVERY;
use crate::visitors::Watched as Visitors;

/// Where the act is, told by its script.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) phase: Phase,
    /// Where the checkout listens; `None` while it is down.
    pub(crate) checkout: Option<String>,
}

/// The scene, shared by the script and who watches.
#[derive(Clone)]
pub(crate) struct Scenes(Arc<Mutex<Scene>>);

impl Scenes {
    pub(crate) fn open(checkout: &str) -> Self {
        Self(Arc::new(Mutex::new(Scene {
            phase: Phase::Calm,
            checkout: Some(checkout.to_owned()),
        })))
    }

    pub(crate) fn turn_to(&self, phase: Phase) {
        self.scene().phase = phase;
    }

    pub(crate) fn checkout(&self, at: Option<&str>) {
        self.scene().checkout = at.map(str::to_owned);
    }

    fn scene(&self) -> MutexGuard<'_, Scene> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is looked at.
pub(crate) struct Sights {
    pub(crate) act: Act,
    pub(crate) scenes: Scenes,
    pub(crate) provider: Arc<Provider>,
    pub(crate) customers: Customers,
    pub(crate) visitors: Visitors,
}

/// Tells a watcher what an act looks like, until this is dropped.
pub(crate) struct Watching(AbortHandle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Watching {
    pub(crate) fn start(sights: Sights, watcher: Watcher) -> Result<Self, DemoError> {
        let client = outbound::client()?;
        let begun = Instant::now();
        let task = tokio::spawn(async move {
            loop {
                watcher(&sights.look(&client, begun).await);
                tokio::time::sleep(LIVE_EVERY).await;
            }
        });
        Ok(Self(task.abort_handle()))
    }
}

impl Sights {
    async fn look(&self, client: &reqwest::Client, begun: Instant) -> Live {
        let scene = self.scenes.scene().clone();
        let standing = match &scene.checkout {
            Some(url) => standing(client, &format!("{url}/standing")).await,
            None => Standing::default(),
        };
        Live::from(Seen {
            act: self.act,
            phase: scene.phase,
            elapsed: begun.elapsed(),
            is_down: scene.checkout.is_none(),
            outcomes: self.customers.outcomes(),
            books: self.provider.books(),
            standing,
            views: self.visitors.views(),
        })
    }
}

/// How the checkout stands; nothing of it while it does not answer.
async fn standing(client: &reqwest::Client, url: &str) -> Standing {
    let asked = async { client.get(url).send().await.ok()?.json().await.ok() };
    let answer = tokio::time::timeout(LIVE_EVERY, asked).await;
    answer.ok().flatten().unwrap_or_default()
}

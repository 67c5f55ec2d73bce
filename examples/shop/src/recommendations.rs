//! What else the customer may like. The page can do without it, so a service that hangs costs a page the short time-out at
//! most, and soon nothing: what was said last is shown, or what everybody buys.

use std::sync::Arc;

use surefoot_policy::clock::TokioClock;
use surefoot_policy::fallback::{FallbackKind, FallbackOptions, Served, Source, StaleCache};
use surefoot_policy::{Dependency, Meta};

use crate::Fault;
use crate::settings::Settings;

/// The name of the service where it is called and where it is watched.
pub const NAME: &str = "recommendations";
/// What is shown when nothing is known.
const BEST_SELLERS: [&str; 2] = ["rope", "chalk"];

/// The widget; cheap to clone.
#[derive(Clone)]
pub struct Recommendations {
    dependency: Dependency,
    said: Arc<StaleCache<String, Vec<String>>>,
    client: reqwest::Client,
    url: String,
}

impl Recommendations {
    /// The widget of the settings.
    ///
    /// # Errors
    /// A policy that contradicts itself.
    pub fn new(settings: &Settings, client: reqwest::Client) -> Result<Self, Fault> {
        let policy = settings.widget_policy();
        let fallback = policy.fallback.clone();
        let fallback = fallback.unwrap_or_else(|| FallbackOptions::of(FallbackKind::Stale));
        Ok(Self {
            dependency: Dependency::new(NAME, policy)?,
            said: Arc::new(StaleCache::new(fallback.stale, Arc::new(TokioClock))),
            client,
            url: settings.recommendations.clone(),
        })
    }

    /// What goes with a product. It always has an answer.
    pub async fn beside(&self, product: &str) -> Served<Vec<String>> {
        let ask = || {
            self.dependency
                .call(&Meta::idempotent(), |_| self.ask(product))
        };
        match self.said.get(&product.to_owned(), ask).await {
            Ok(served) => served,
            Err(_) => Served {
                value: BEST_SELLERS.map(str::to_owned).to_vec(),
                source: Source::Fallback,
            },
        }
    }

    async fn ask(&self, product: &str) -> Result<Vec<String>, reqwest::Error> {
        let url = format!("{}/recommendations/{product}", self.url);
        let answer = self.client.get(url).send().await?;
        answer.error_for_status()?.json().await
    }
}

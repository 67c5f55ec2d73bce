//! The widget of act two: a short time-out, a bulkhead, a breaker, and a list of best sellers where it does not answer.

use std::time::Duration;

use surefoot_policy::breaker::BreakerOptions;
use surefoot_policy::bulkhead::BulkheadOptions;
use surefoot_policy::fallback::{Fallback, FallbackKind, FallbackOptions, WithFallback};
use surefoot_policy::retry::RetryOptions;
use surefoot_policy::timeout::TimeoutOptions;
use surefoot_policy::{Criticality, Dependency, Meta, Policy};

use crate::error::DemoError;
use crate::outbound;
use crate::times::{PAGES_AT_ONCE, WIDGET_TIMEOUT};

/// What is shown without the widget.
const BEST_SELLERS: &str = "[\"rope\"]";

#[derive(Clone)]
pub(super) struct Widget {
    recommendations: WithFallback<String>,
    client: reqwest::Client,
    url: String,
}

/// The page can do without it, so it gets half of the pool at most, and never for long.
fn policy() -> Policy {
    Policy {
        criticality: Criticality::Optional,
        timeout: TimeoutOptions {
            connect: WIDGET_TIMEOUT / 2,
            attempt: WIDGET_TIMEOUT,
            total: WIDGET_TIMEOUT,
            ..TimeoutOptions::default()
        },
        retry: RetryOptions {
            attempts_max: 1,
            ..RetryOptions::default()
        },
        breaker: BreakerOptions {
            window: Duration::from_secs(2),
            consecutive_failures: 5,
            open_for: Duration::from_millis(500),
            open_for_max: Duration::from_millis(1000),
            probe_lease: WIDGET_TIMEOUT,
            ..BreakerOptions::default()
        },
        bulkhead: BulkheadOptions {
            limit: PAGES_AT_ONCE as u32 / 2,
            queue_max: 0,
            ..BulkheadOptions::default()
        },
        fallback: Some(FallbackOptions::of(FallbackKind::Value)),
        ..Policy::default()
    }
}

impl Widget {
    pub(super) fn new(service: &str) -> Result<Self, DemoError> {
        let dependency = Dependency::new("recommendations", policy())
            .map_err(DemoError::unsound("the policy of the widget"))?;
        Ok(Self {
            recommendations: WithFallback::new(
                dependency,
                Fallback::Value(BEST_SELLERS.to_owned()),
            ),
            client: outbound::client()?,
            url: format!("{service}/recommendations"),
        })
    }

    pub(super) async fn ask(&self) -> Option<String> {
        let served = self
            .recommendations
            .call(&Meta::idempotent(), |_| async move {
                let answer = self.client.get(&self.url).send().await?;
                answer.error_for_status()?.text().await
            })
            .await;
        served.ok().map(|served| served.value)
    }
}

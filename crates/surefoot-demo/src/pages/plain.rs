//! The widget of act one: one call, no time-out, and no page without it.

use crate::error::DemoError;
use crate::outbound;

#[derive(Clone)]
pub(super) struct Widget {
    client: reqwest::Client,
    url: String,
}

impl Widget {
    pub(super) fn new(service: &str) -> Result<Self, DemoError> {
        Ok(Self {
            client: outbound::client()?,
            url: format!("{service}/recommendations"),
        })
    }

    pub(super) async fn ask(&self) -> Option<String> {
        let answer = self.client.get(&self.url).send().await.ok()?;
        answer.error_for_status().ok()?.text().await.ok()
    }
}

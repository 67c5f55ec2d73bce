//! A client's requests, and what it was told.

use std::time::Duration;

use serde_json::json;

use crate::error::LabError;

/// How long one request may take.
const REQUEST_MAX: Duration = Duration::from_secs(20);

/// What a client was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) status: u16,
    /// `Idempotency-Status`.
    pub(super) marked: Option<String>,
    pub(super) body: String,
}

impl Told {
    /// Whether the other request was over when this one came: a payment that was found, or an answer from before.
    pub(super) fn came_after(&self) -> bool {
        self.status == 200 || self.marked.as_deref() == Some("replayed")
    }
}

/// Two clients of one service, each with a connection of its own.
pub(super) struct Shots {
    clients: [reqwest::Client; 2],
    url: String,
}

impl Shots {
    pub(super) fn of(url: &str) -> Result<Self, LabError> {
        let client = || {
            reqwest::Client::builder()
                .no_proxy()
                .tls_certs_only([])
                .timeout(REQUEST_MAX)
                .build()
                .map_err(LabError::Client)
        };
        Ok(Self {
            clients: [client()?, client()?],
            url: url.to_owned(),
        })
    }

    /// Asks for one payment.
    pub(super) async fn pay(&self, key: &str, amount: u64) -> Result<Told, LabError> {
        self.send(&self.clients[0], key, amount).await
    }

    /// Asks for the same payment twice at the same moment, over connections that are open already.
    pub(super) async fn pay_twice(&self, key: &str, amount: u64) -> Result<[Told; 2], LabError> {
        for client in &self.clients {
            client.get(&self.url).send().await.map_err(LabError::Call)?;
        }
        let [one, other] = &self.clients;
        let (one, other) =
            tokio::try_join!(self.send(one, key, amount), self.send(other, key, amount))?;
        Ok([one, other])
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        key: &str,
        amount: u64,
    ) -> Result<Told, LabError> {
        let request = client
            .post(format!("{}/payments", self.url))
            .header("idempotency-key", key)
            .json(&json!({ "amount": amount }));
        let response = request.send().await.map_err(LabError::Call)?;
        let marked = response.headers().get("idempotency-status");
        let marked = marked
            .and_then(|mark| mark.to_str().ok())
            .map(str::to_owned);
        Ok(Told {
            status: response.status().as_u16(),
            marked,
            body: response.text().await.map_err(LabError::Call)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_from_before_says_that_the_requests_did_not_meet() {
        let told = |status, marked: Option<&str>| Told {
            status,
            marked: marked.map(str::to_owned),
            body: String::new(),
        };
        assert!(told(200, None).came_after());
        assert!(told(201, Some("replayed")).came_after());
        assert!(!told(201, Some("executed")).came_after());
        assert!(!told(500, None).came_after());
        assert!(!told(409, None).came_after());
    }
}

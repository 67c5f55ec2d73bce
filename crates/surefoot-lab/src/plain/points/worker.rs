//! One process of the consumer: it takes what comes after the committed offset, applies it, and commits the offset. Its
//! standard error is its log.

use std::time::Duration;

use serde_json::json;

use super::account::Account;
use super::inbox::Inbox;
use crate::consumer::Event;
use crate::error::LabError;
use crate::place::Database;

/// How long to wait when there is nothing new.
const POLL: Duration = Duration::from_millis(20);

/// Where the account is and where events come from.
#[derive(Clone, Debug)]
pub struct ConsumerOptions {
    /// Where the account is.
    pub database: Database,
    /// The broker's URL, without a slash at the end.
    pub broker: String,
}

/// Consumes until the process is ended. `ready` is called before the first event is taken.
///
/// # Errors
/// The database or the broker does not answer.
pub async fn consume(
    options: ConsumerOptions,
    inbox: impl Inbox,
    ready: impl FnOnce() -> std::io::Result<()>,
) -> Result<(), LabError> {
    // A commit of an offset may take as long as the broker likes.
    let broker = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .map_err(LabError::Client)?;
    let mut account = Account::open(&options.database).await?;
    ready().map_err(LabError::io("say that it is ready"))?;
    loop {
        let events = take(&broker, &options.broker).await?;
        let Some(last) = events.last().map(|event| event.offset) else {
            tokio::time::sleep(POLL).await;
            continue;
        };
        for event in &events {
            let applied = account.apply(&inbox, &event.id, event.delta).await?;
            let became = if applied { "applied" } else { "skipped" };
            eprintln!("{} {became}", event.id);
        }
        commit(&broker, &options.broker, last).await?;
    }
}

async fn take(client: &reqwest::Client, broker: &str) -> Result<Vec<Event>, LabError> {
    let answered = async {
        let response = client.get(format!("{broker}/events")).send().await?;
        response.error_for_status()?.json().await
    };
    answered.await.map_err(LabError::Call)
}

async fn commit(client: &reqwest::Client, broker: &str, offset: u64) -> Result<(), LabError> {
    let request = client.post(format!("{broker}/offset"));
    let response = request.json(&json!({ "offset": offset })).send().await;
    let response = response.map_err(LabError::Call)?;
    response.error_for_status().map_err(LabError::Call)?;
    Ok(())
}

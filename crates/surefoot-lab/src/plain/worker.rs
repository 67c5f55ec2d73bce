//! One process of the plain loop.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

use super::{Row, Table};
use crate::error::LabError;

/// The same times as Surefoot's in the lab.
const CALL_MAX: Duration = Duration::from_secs(1);
const CONNECT_MAX: Duration = Duration::from_millis(500);
const LEASE: Duration = Duration::from_millis(2500);
const PAUSE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(200);
const CONCURRENCY: usize = 100;
/// Many queues try more often; more tries would charge more often.
const TRIES_MAX: u32 = 5;

/// Where the rows are and whom to call.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// The SQLite file.
    pub rows: PathBuf,
    /// The provider's URL, without a slash at the end.
    pub provider: String,
}

/// Works until the process is ended.
///
/// # Errors
/// The rows could not be opened or claimed, or the HTTP client could not be made.
pub async fn work(options: WorkerOptions) -> Result<(), LabError> {
    let table = Arc::new(Mutex::new(Table::open(&options.rows)?));
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .connect_timeout(CONNECT_MAX)
        .timeout(CALL_MAX)
        .build()
        .map_err(LabError::Client)?;
    let free = Arc::new(Semaphore::new(CONCURRENCY));
    let url: Arc<str> = format!("{}/refunds", options.provider).into();
    loop {
        let claimed = with(&table, {
            let most = free.available_permits();
            move |table| table.claim(most, LEASE)
        })
        .await?;
        if claimed.is_empty() {
            tokio::time::sleep(POLL).await;
        }
        for row in claimed {
            let Ok(place) = Arc::clone(&free).acquire_owned().await else {
                return Ok(());
            };
            let (table, client, url) = (Arc::clone(&table), client.clone(), Arc::clone(&url));
            tokio::spawn(async move {
                run(&table, &client, &url, row).await;
                drop(place);
            });
        }
    }
}

/// One try of one row.
async fn run(table: &Arc<Mutex<Table>>, client: &reqwest::Client, url: &str, row: Row) {
    let called = call(client, url, &row).await;
    let Row { id, tries, .. } = row;
    let marked = with(table, move |table| match called {
        Ok(result) => table.done(id, &result),
        Err(_) if tries < TRIES_MAX => table.again(id, PAUSE),
        Err(error) => table.fail(id, &error.to_string()),
    })
    .await;
    if let Err(error) = marked {
        eprintln!("row {id}: {error}");
    }
}

/// The row's number goes along as the key, the same on every try.
async fn call(client: &reqwest::Client, url: &str, row: &Row) -> reqwest::Result<String> {
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("idempotency-key", row.id)
        .body(row.payload.clone());
    request.send().await?.error_for_status()?.text().await
}

async fn with<T: Send + 'static>(
    table: &Arc<Mutex<Table>>,
    work: impl FnOnce(&Table) -> Result<T, LabError> + Send + 'static,
) -> Result<T, LabError> {
    let table = Arc::clone(table);
    let done = tokio::task::spawn_blocking(move || {
        work(&table.lock().unwrap_or_else(PoisonError::into_inner))
    });
    done.await
        .map_err(|error| LabError::io("use the rows")(std::io::Error::other(error)))?
}

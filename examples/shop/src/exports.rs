//! `POST /exports`: a customer's orders as a file. It may take longer than anybody waits, so the answer is 202 and where to look;
//! `GET /exports/{id}` and `GET /exports/{id}/events` are those of the front door (`Accept`), and the file is here.

use std::path::{Path, PathBuf};

use axum::Extension;
use axum::extract::{Path as Segment, State};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use surefoot::core::id::{JobId, Queue, Tenant};
use surefoot::core::job::JobState;
use surefoot::{Client, Cx, Failure, Intent, Job, Outcome};
use surefoot_http::{Accept, AcceptRefused, InTransaction, RequestContext};
use surefoot_store::sqlite::{SqliteStore, SqliteTransaction};

use crate::orders::Orders;
use crate::refused::Refused;

/// Where exports are.
pub const PATH: &str = "/exports";

/// The export of all orders of whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {}

/// An export that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    /// How many orders.
    pub orders: usize,
    /// Where it is to be had.
    pub file: String,
}

impl Job for Export {
    const KIND: &'static str = "export";
    type Output = Exported;
}

/// What the routes of exports share; cheap to clone.
#[derive(Clone)]
pub struct Desk {
    /// Makes jobs of requests.
    pub accept: Accept,
    /// Looks.
    pub client: Client,
    /// Where the files are.
    pub folder: PathBuf,
}

/// Takes an export in the transaction of its request.
///
/// # Errors
/// Nothing of it happened, and the key is free.
pub async fn hand_in(
    State(desk): State<Desk>,
    Extension(request): Extension<RequestContext>,
    mut tx: InTransaction<SqliteTransaction>,
) -> Result<Response, AcceptRefused> {
    let job = desk.accept.draft(&request, Intent::of(&Export {})?).await?;
    let (id, now) = (job.id, desk.client.now());
    let handed_in = tx
        .run(move |tx| SqliteStore::enqueue_in(tx, &job, now))
        .await;
    handed_in.map_err(surefoot::Error::from)?;
    tx.after_commit(move || desk.client.has_work(&Queue::standard()));
    Ok(tx.commit_with(desk.accept.accepted(id)))
}

/// Writes an export. It is called after its job and moved into place whole: another run writes the same file.
///
/// # Errors
/// What the database or the disk answered.
pub async fn write(_: Export, cx: Cx, orders: Orders, folder: PathBuf) -> Outcome<Exported> {
    let orders = orders.of_customer(cx.tenant()).await?;
    let mut text = String::from("order,product,cents,state\n");
    for order in &orders {
        let (id, product) = (&order.id, &order.product);
        text.push_str(&format!(
            "{id},{product},{},{}\n",
            order.cents,
            order.state.as_str()
        ));
    }
    tokio::fs::create_dir_all(&folder).await?;
    let part = folder.join(format!("{}.{}.part", cx.job(), cx.attempt()));
    tokio::fs::write(&part, text).await?;
    tokio::fs::rename(&part, place(&folder, cx.job())).await?;
    Ok(Exported {
        orders: orders.len(),
        file: format!("{PATH}/{}/file", cx.job()),
    })
}

/// The file of an export that is done.
///
/// # Errors
/// This customer has no such export, or it is not done.
pub async fn file(
    State(desk): State<Desk>,
    Extension(customer): Extension<Tenant>,
    Segment(id): Segment<String>,
) -> Result<Response, Refused> {
    let unknown = || Refused::unknown("file");
    let id: JobId = id.parse().map_err(|_| unknown())?;
    let record = desk.client.job(id).await.map_err(Failure::from)?;
    let job = record.map(|record| record.job).ok_or_else(unknown)?;
    let is_done = matches!(job.state, JobState::Succeeded { .. });
    if job.tenant != customer || job.kind.as_str() != Export::KIND || !is_done {
        return Err(unknown());
    }
    let text = tokio::fs::read(place(&desk.folder, id))
        .await
        .map_err(Failure::from)?;
    Ok(([(CONTENT_TYPE, "text/csv")], text).into_response())
}

fn place(folder: &Path, job: JobId) -> PathBuf {
    folder.join(format!("{job}.csv"))
}

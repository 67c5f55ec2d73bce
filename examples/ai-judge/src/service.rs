//! The whole service: the engine over its file, the students' port and the operators'.

use std::net::SocketAddr;
use std::sync::Arc;

use surefoot::Engine;
use surefoot_server::{Metrics, ServerOptions, check_listen};
use surefoot_store::sqlite::SqliteStore;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::Fault;
use crate::book::Book;
use crate::grading::grade;
use crate::model::Model;
use crate::routes::{Desk, routes};
use crate::settings::Settings;

/// Serves until the process is told to stop (SIGTERM), then lets what runs end.
///
/// # Errors
/// A setting that contradicts another, a database or an address that cannot be had.
pub async fn run(settings: Settings) -> Result<(), Fault> {
    let store = Arc::new(SqliteStore::open(&settings.database).await?);
    let book = Book::open(Arc::clone(&store)).await.map_err(said)?;
    let model = Model::new(&settings)?;
    let metrics = Arc::new(Metrics::new());
    let graded_in = book.clone();
    let handler = move |work, cx| grade(work, cx, model.clone(), graded_in.clone());
    let engine = Engine::over(store.clone())
        .handle(handler, settings.job_policy())
        .checklist(settings.checklist()?)
        .observer(metrics.clone())
        .start()
        .await?;

    check_listen(settings.operators, false)?;
    let (students, operators) = (
        bind(settings.listen).await?,
        bind(settings.operators).await?,
    );
    let facts = serde_json::json!({
        "listen": format!("http://{}", students.local_addr()?),
        "operators": format!("http://{}", operators.local_addr()?),
    });
    println!("{facts}");
    let client = engine.client().clone();
    let student_routes = routes(Desk {
        client: client.clone(),
        book,
    });
    let ready = engine.clone();
    let readiness = move || match ready.health().is_ready() {
        true => Ok(()),
        false => Err("the database does not answer, or the service stops".to_owned()),
    };
    let options = ServerOptions::new(readiness);
    let operator_routes = surefoot_server::router(client, store.clone(), store, metrics, options);
    let stop = CancellationToken::new();
    let served = [
        tokio::spawn(surefoot_server::serve(
            students,
            student_routes,
            stop.clone(),
        )),
        tokio::spawn(surefoot_server::serve(
            operators,
            operator_routes,
            stop.clone(),
        )),
    ];
    signal(SignalKind::terminate())?.recv().await;
    engine.drain().await;
    stop.cancel();
    for port in served {
        port.await?;
    }
    Ok(())
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Fault> {
    TcpListener::bind(address)
        .await
        .map_err(|error| format!("{address}: {error}").into())
}

fn said(failure: surefoot::Failure) -> Fault {
    failure.text.as_str().into()
}

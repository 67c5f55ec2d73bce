//! The whole service: the engine over its file, and the callers' port.

use surefoot::Engine;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::Fault;
use crate::message::send;
use crate::provider::Provider;
use crate::routes::routes;
use crate::settings::Settings;

/// Serves until the process is told to stop (SIGTERM), then lets what runs end.
///
/// # Errors
/// A setting that contradicts another, a database or an address that cannot be had.
pub async fn run(settings: Settings) -> Result<(), Fault> {
    let url = format!("sqlite:{}", settings.database.display());
    let (provider, told) = (Provider::new(&settings)?, settings.clone());
    let engine = Engine::over(surefoot_store::open(&url).await?)
        .handle(
            move |message, cx| send(message, cx, provider.clone(), told.clone()),
            settings.job_policy(),
        )
        .checklist(settings.checklist()?)
        .start()
        .await?;

    let listener = TcpListener::bind(settings.listen).await?;
    let facts = serde_json::json!({ "listen": format!("http://{}", listener.local_addr()?) });
    println!("{facts}");
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        terminate.recv().await;
    };
    axum::serve(listener, routes(engine.client().clone()))
        .with_graceful_shutdown(stop)
        .await?;
    engine.drain().await;
    Ok(())
}

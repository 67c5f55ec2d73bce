//! Where refunds are carried out: one engine over one store and one provider, held to its checklist. It never hands in a refund
//! of its own accord.

use std::time::Duration;

use serde_json::{Value, json};
use surefoot::Engine;

use crate::Fault;
use crate::psp::{Psp, calls};
use crate::refund::{Provider, Refund, checklist, policy, refund};

/// How long [`pay`] waits for the end of a refund. It goes on with the next start.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// An engine that carries out refunds.
///
/// # Errors
/// The database does not open, or what was put together contradicts itself.
pub async fn engine(database: &str, psp: &str, provider: Provider) -> Result<Engine, Fault> {
    let store = surefoot_store::open(database).await?;
    let psp = Psp::new(psp)?;
    let handler = move |job, cx| refund(job, cx, psp.clone(), provider);
    let engine = Engine::over(store)
        .handle(handler, policy())
        .checklist(checklist(provider, &calls())?)
        .start();
    Ok(engine.await?)
}

/// Hands in a refund and carries it out. A refund that was handed in before is that one, whatever became of the process.
/// A line tells where it is as soon as it is on record, and another one what the provider answered.
///
/// # Errors
/// Its end is not known within a minute, or it waits for a person.
pub async fn pay(database: &str, psp: &str, job: Refund) -> Result<(), Fault> {
    let engine = engine(database, psp, Provider::Answers).await?;
    let job = engine.enqueue(job).await?;
    println!("{}", json!({ "job": job.id.to_string() }));
    let receipt: Value = tokio::time::timeout(WAIT_MAX, engine.result_of(job.id)).await??;
    println!("{receipt}");
    engine.drain().await;
    Ok(())
}

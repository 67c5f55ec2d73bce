//! The smallest complete program: a job with one effect. It keeps its jobs in `surefoot.db`; run it twice and the second
//! run finds the refund done.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use surefoot::{Cx, Engine, Job, JobPolicy, Outcome, SameKey};

#[derive(Serialize, Deserialize)]
struct Refund {
    id: String,
    cents: u64,
}

impl Job for Refund {
    const KIND: &'static str = "refund";
    type Output = String;

    fn key(&self) -> Option<String> {
        Some(self.id.clone())
    }
}

async fn refund(job: Refund, cx: Cx) -> Outcome<String> {
    let day = Duration::from_secs(24 * 60 * 60);
    cx.effect("psp.refund")
        .recover(SameKey::kept_for(day)) // what to do when the outcome is unknown; it does not compile without
        .call(|key| async move {
            // The place to call the provider: under this key, the same over every retry and crash.
            println!("refunding {} cents under the key {key}", job.cents);
            Ok(format!("refunded {} cents", job.cents))
        })
        .await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = surefoot_store::open("sqlite:surefoot.db").await?;
    let engine = Engine::over(store).handle(refund, JobPolicy::default());
    let engine = engine.start().await?;

    let (id, cents) = ("r-1".to_owned(), 1999);
    let job = engine.enqueue(Refund { id, cents }).await?;
    println!("{} (new: {})", job.id, job.created);
    println!("{}", engine.result(job).await?);

    engine.drain().await;
    Ok(())
}

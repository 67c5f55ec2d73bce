//! Takes away the answers and keys of requests whose time is over, batch by batch, so that no call of the database holds
//! up others for long. It takes away nothing whose outcome is open; what that is, the store decides by core's clocks.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::port::{BATCH_MAX, Requests};
use surefoot_core::time::Timestamp;
use tokio_util::sync::CancellationToken;

/// How often to look.
const EVERY: Duration = Duration::from_secs(10);
/// The pause between two batches of one look.
const PAUSE: Duration = Duration::from_millis(50);
/// How long one batch may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Cleans up until `stop`. A database that is away is asked again later.
pub(super) async fn run(
    requests: Arc<dyn Requests>,
    now: impl Fn() -> Timestamp + Send,
    stop: CancellationToken,
) {
    let limit = u32::try_from(BATCH_MAX).unwrap_or(u32::MAX);
    loop {
        let batch = requests.forget_requests(now(), limit);
        let pause = match tokio::time::timeout(TIMEOUT, batch).await {
            Ok(Ok(forgotten)) if forgotten.more => PAUSE,
            Ok(Ok(_)) => EVERY,
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "old requests could not be taken away"
                );
                EVERY
            }
            Err(_) => {
                tracing::warn!("old requests were not taken away in time");
                EVERY
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

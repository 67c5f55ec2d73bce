//! Has the store prepare and drop history. Slow, rare and in bounded steps.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::node::Node;

/// How often.
const EVERY: Duration = Duration::from_secs(3600);
/// The first time is within this long after the start, so that nodes that start together do not collide.
const FIRST_WITHIN: Duration = Duration::from_secs(60);
/// The rest between two steps.
const BETWEEN_STEPS: Duration = Duration::from_millis(100);
/// The most steps at once; the next time goes on.
const STEPS_MAX: usize = 1000;

/// Runs until it is stopped.
pub(super) async fn run(node: Arc<Node>) {
    sleep(node.client.dice().up_to(FIRST_WITHIN)).await;
    loop {
        for _ in 0..STEPS_MAX {
            match node
                .client
                .store()
                .maintain(node.options.keep, node.client.now())
                .await
            {
                Ok(maintained) if maintained.more => sleep(BETWEEN_STEPS).await,
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "upkeep broke off, the next one goes on");
                    break;
                }
            }
        }
        sleep(node.client.dice().around(EVERY)).await;
    }
}

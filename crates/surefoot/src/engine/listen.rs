//! Listens to the announcements of other nodes where the database carries them. It only hastens: polling finds what it
//! misses, so it gives up nothing but time when the connection is gone.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::{Announcements, Queues};
use tokio::time::{Instant, sleep, timeout_at};

use super::node::Node;
use crate::dice::Rest;

/// A connection that is silently gone looks like one on which nothing happens, so each is renewed after this time.
const RENEW: Duration = Duration::from_secs(300);

/// Runs until it is stopped, or until it is known that the database carries no announcements.
pub(super) async fn run(node: Arc<Node>) {
    let mut rest = Rest::new();
    loop {
        match node.client.store().announcements().await {
            Ok(None) => return,
            Ok(Some(mut stream)) => {
                // Work may have been announced while nobody listened.
                node.client.local().work.notify_one();
                match listen(&node, &mut *stream).await {
                    Ok(()) => rest.reset(),
                    Err(error) => {
                        tracing::warn!(%error, "the announcements broke off, connecting again")
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "no announcements, connecting again"),
        }
        sleep(rest.after_failure(node.client.dice())).await;
    }
}

/// Listens until the stream is due to be renewed.
async fn listen(node: &Node, stream: &mut dyn Announcements) -> Result<(), StoreError> {
    let renew_at = Instant::now() + node.client.dice().around(RENEW);
    while let Ok(next) = timeout_at(renew_at, stream.next()).await {
        if serves(&node.options.queues, &next?) {
            node.client.local().work.notify_one();
        }
    }
    Ok(())
}

fn serves(queues: &Queues, queue: &Queue) -> bool {
    match queues {
        Queues::All => true,
        Queues::Only(queues) => queues.contains(queue),
    }
}

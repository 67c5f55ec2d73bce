//! Announcements between the engines that share one [`MemoryStore`](super::MemoryStore). Best effort, as the port
//! says: a listener that falls too far behind misses some.

use async_trait::async_trait;
use surefoot_core::error::StoreError;
use surefoot_core::id::Queue;
use surefoot_core::port::Announcements;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// The most announcements that wait for a slow listener.
const WAITING_MAX: usize = 1024;

#[derive(Clone)]
pub(super) struct Wakes {
    sender: broadcast::Sender<Queue>,
}

impl Wakes {
    pub(super) fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(WAITING_MAX),
        }
    }

    pub(super) fn announce(&self, queues: &[Queue]) {
        for queue in queues {
            // Nobody listening is no fault.
            let _ = self.sender.send(queue.clone());
        }
    }

    pub(super) fn listen(&self) -> Listener {
        Listener {
            receiver: self.sender.subscribe(),
        }
    }
}

pub(super) struct Listener {
    receiver: broadcast::Receiver<Queue>,
}

#[async_trait]
impl Announcements for Listener {
    async fn next(&mut self) -> Result<Queue, StoreError> {
        loop {
            match self.receiver.recv().await {
                Ok(queue) => return Ok(queue),
                Err(RecvError::Lagged(_)) => {}
                Err(gone @ RecvError::Closed) => {
                    return Err(StoreError::Unavailable(Box::new(gone)));
                }
            }
        }
    }
}

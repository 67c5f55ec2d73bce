//! Where messages go.

use std::future::Future;

use async_trait::async_trait;
use surefoot_core::failure::Failure;
use surefoot_core::message::{Message, Proof};

/// Takes messages. An async function `(Message) -> Result<Proof, Failure>` is one.
///
/// It is given each message at least once: again when an answer was lost, when it took too long, and when a relay died in
/// between. Whoever must not process a message twice keeps a receipt
/// ([`Receipt`](surefoot_core::message::Receipt)) in the same transaction as what it makes of the message.
///
/// The future may be dropped at any await: after the time-out of the sink, or at the end of a drain. It must not block its
/// thread. A panic is caught and counts as an unknown outcome.
#[async_trait]
pub trait Sink: Send + Sync + 'static {
    /// Delivers one message. The proof says why the relay may believe that it arrived, such as the place that a broker
    /// has put it.
    ///
    /// # Errors
    /// A [`Failure`], whose class says whether the message is tried again or parked.
    async fn deliver(&self, message: Message) -> Result<Proof, Failure>;
}

#[async_trait]
impl<F, Fut> Sink for F
where
    F: Fn(Message) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Proof, Failure>> + Send + 'static,
{
    async fn deliver(&self, message: Message) -> Result<Proof, Failure> {
        self(message).await
    }
}

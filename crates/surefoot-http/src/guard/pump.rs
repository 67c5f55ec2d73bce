//! An answer that is too large to be kept, on its way from the handler to the client. Its digest is taken of all of it, also
//! when the client has gone or reads too slowly, within a limit.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::BoxError;
use super::body::Passing;

/// How many parts wait for the client.
const PARTS_MAX: usize = 4;

/// How long a client may leave what was sent to it unread.
const STALL_MAX: Duration = Duration::from_secs(30);

/// How long the rest is read for its digest after the client has gone.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// What passed.
pub(super) enum Passed {
    /// All of it.
    Whole {
        /// Its digest.
        sha256: [u8; 32],
        /// Its size.
        bytes: u64,
    },
    /// It broke off, or nobody waited for its end.
    Part,
}

type Part = Result<Bytes, BoxError>;

/// The body for the client, and the work that fills it.
pub(super) fn pump(passing: Passing) -> (Body, impl Future<Output = Passed>) {
    let (client, parts) = mpsc::channel::<Part>(PARTS_MAX);
    let parts = stream::unfold(parts, |mut parts| async move {
        parts.recv().await.map(|part| (part, parts))
    });
    (Body::from_stream(parts), fill(passing, client))
}

async fn fill(passing: Passing, client: mpsc::Sender<Part>) -> Passed {
    let Passing { read, mut rest } = passing;
    let mut client = Some(client);
    let mut drained_at = None;
    let mut digest = Sha256::new();
    let mut bytes = 0_u64;
    for part in read {
        take(&mut digest, &mut bytes, &part);
        send(&mut client, Ok(part), &mut drained_at).await;
    }
    loop {
        let frame = match drained_at {
            None => rest.frame().await,
            Some(until) => match tokio::time::timeout_at(until, rest.frame()).await {
                Ok(frame) => frame,
                Err(_) => return Passed::Part,
            },
        };
        match frame {
            None => {
                let sha256 = digest.finalize().into();
                return Passed::Whole { sha256, bytes };
            }
            Some(Err(error)) => {
                send(&mut client, Err(error.into()), &mut drained_at).await;
                return Passed::Part;
            }
            Some(Ok(frame)) => {
                if let Ok(part) = frame.into_data() {
                    take(&mut digest, &mut bytes, &part);
                    send(&mut client, Ok(part), &mut drained_at).await;
                }
            }
        }
    }
}

fn take(digest: &mut Sha256, bytes: &mut u64, part: &Bytes) {
    digest.update(part);
    *bytes = bytes.saturating_add(part.len() as u64);
}

/// Hands a part to the client. One that has gone, or does not read, gets no more, and its body breaks off.
async fn send(
    client: &mut Option<mpsc::Sender<Part>>,
    part: Part,
    drained_at: &mut Option<Instant>,
) {
    let Some(open) = client else { return };
    if open.send_timeout(part, STALL_MAX).await.is_err() {
        // The body must not look complete to a client that stood still.
        drop(open.try_send(Err("the client did not read".into())));
        *client = None;
        *drained_at = Some(Instant::now() + DRAIN_MAX);
    }
}

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

#[cfg(test)]
mod tests {
    use surefoot_core::id::{Tenant, Worker};
    use surefoot_core::port::{RequestFilter, RequestWritten};
    use surefoot_core::request::{
        Arrived, Clocks, Content, End, Fingerprint, Finish, Identity, Kept, NewRequest, Operation,
        RequestId, RequestKey, finish,
    };
    use surefoot_core::time::Clock;
    use surefoot_testkit::{ManualClock, MemoryStore};

    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_796_034_600_000_000);

    /// Runs a request at `now`; `ends` says whether its outcome is known.
    async fn request(store: &MemoryStore, now: Timestamp, number: u32, ends: bool) {
        let operation = Operation::new("POST", "*").unwrap();
        let identity = Identity {
            tenant: Tenant::single(),
            key: RequestKey::new(format!("k{number}")).unwrap(),
        };
        let content = Content {
            operation: &operation,
            path: "/",
            query: None,
            content_type: None,
            body: b"",
        };
        let mut random = [0; 10];
        random[..4].copy_from_slice(&number.to_be_bytes());
        let new = NewRequest {
            id: RequestId::new(now, random),
            fingerprint: Fingerprint::of(&identity, &content),
            identity,
            operation,
            clocks: Clocks::default(),
            holder: Worker::new("proxy-1").unwrap(),
        };
        let Arrived::Run(request) = store.begin(&new, now).await.unwrap() else {
            panic!("the key is new");
        };
        if !ends {
            return;
        }
        let kept = Kept::told(200, Vec::new(), Some(Vec::new())).unwrap();
        let Finish::Write(finished) = finish(&request, request.epoch, End::Answered(kept), now)
        else {
            panic!("it runs");
        };
        let written = store.write_request(&finished).await.unwrap();
        assert_eq!(written, RequestWritten::Applied);
    }

    /// Far more than one batch goes within one look, and what is open stays.
    #[tokio::test(start_paused = true)]
    async fn what_is_over_goes_batch_by_batch_and_what_is_open_stays() {
        let clock = Arc::new(ManualClock::new(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let many = u32::try_from(BATCH_MAX).unwrap() * 3 + 7;
        for number in 0..many {
            request(&store, START, number, number > 0).await;
        }
        let clocks = Clocks::default();
        clock.advance(clocks.tombstone + Duration::from_secs(1));
        let stop = CancellationToken::new();
        let now = move || clock.now();
        let cleaning = tokio::spawn(run(store.clone(), now, stop.clone()));
        tokio::time::sleep(EVERY / 2).await;
        stop.cancel();
        cleaning.await.unwrap();
        let left = store.requests(&RequestFilter::default(), None, 10).await;
        let left: Vec<_> = left
            .unwrap()
            .into_iter()
            .map(|head| head.identity.key.to_string())
            .collect();
        assert_eq!(left, ["k0"], "one is still claimed");
    }
}

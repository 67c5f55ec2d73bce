//! Waiting with an end: nothing in the lab waits for ever.

use std::time::Duration;

use tokio::time::Instant;

/// How long to wait before looking again.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Waits until something holds, but no longer than `within`. Answers whether it came to hold.
pub(crate) async fn holds<E>(
    within: Duration,
    mut look: impl AsyncFnMut() -> Result<bool, E>,
) -> Result<bool, E> {
    let ends_at = Instant::now() + within;
    loop {
        if look().await? {
            return Ok(true);
        }
        if Instant::now() >= ends_at {
            return Ok(false);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

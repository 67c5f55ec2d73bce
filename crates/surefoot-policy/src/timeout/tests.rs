//! When an attempt ends, and what it costs when it is ready at once.

use std::cell::Cell;
use std::future::{pending, ready};
use std::pin::pin;
use std::time::Duration;

use super::*;
use crate::context::Ambient;

async fn guarded<F: Future>(inner: F, within_ms: u64) -> Ran<F::Output> {
    let within = Duration::from_millis(within_ms);
    let ambient = Ambient::default();
    Guarded::new(pin!(inner), pin!(None), &ambient, None, within, || {}).await
}

#[test]
fn an_attempt_that_is_ready_needs_no_runtime_and_so_no_timer() {
    let mut attempt = std::pin::pin!(guarded(ready(7), 10));
    assert!(!crate::testing::pending_once(attempt.as_mut()));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_at_its_time_out() {
    let started = tokio::time::Instant::now();
    assert_eq!(guarded(pending::<()>(), 250).await, Ran::TimedOut);
    assert_eq!(started.elapsed(), Duration::from_millis(250));
}

#[tokio::test(start_paused = true)]
async fn the_slow_line_is_told_once_and_does_not_move_the_time_out() {
    let (told, started) = (Cell::new(None), tokio::time::Instant::now());
    let slow = Some(Duration::from_millis(100));
    let within = Duration::from_millis(250);
    let (inner, timer) = (pin!(pending::<()>()), pin!(None));
    let ambient = Ambient::default();
    let attempt = Guarded::new(inner, timer, &ambient, slow, within, || {
        assert_eq!(told.replace(Some(started.elapsed())), None);
    });
    assert_eq!(attempt.await, Ran::TimedOut);
    assert_eq!(told.get(), Some(Duration::from_millis(100)));
    assert_eq!(started.elapsed(), Duration::from_millis(250));
}

#[test]
fn every_fault_of_the_options_is_told_at_once() {
    let options = TimeoutOptions {
        connect: Duration::from_secs(9),
        attempt: Duration::from_secs(8),
        total: Duration::from_secs(7),
        attempt_min: Duration::from_secs(10),
    };
    assert_eq!(options.validate().len(), 3, "{:?}", options.validate());
    assert_eq!(TimeoutOptions::default().validate(), Vec::<String>::new());
}

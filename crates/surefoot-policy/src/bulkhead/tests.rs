//! Seats come back, whatever happens.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;
use crate::testing::{pending_once, ready_at_once};

const LONG: Duration = Duration::from_secs(3600);

fn options(limit: u32, queue_max: u32) -> BulkheadOptions {
    BulkheadOptions {
        limit,
        queue_max,
        queue_wait_max: Duration::from_millis(100),
    }
}

#[tokio::test(start_paused = true)]
async fn beyond_the_queue_a_call_is_turned_away_at_once_and_in_the_queue_in_time() {
    let options = options(1, 1);
    let bulkhead = Bulkhead::new(&options);
    let seat = bulkhead.sit(&options, LONG).await.unwrap();
    let started = tokio::time::Instant::now();
    let (waited, turned_away) =
        tokio::join!(bulkhead.sit(&options, LONG), bulkhead.sit(&options, LONG));
    assert_eq!(
        (waited.err(), turned_away.err()),
        (Some(Full::Waited), Some(Full::Queue))
    );
    assert_eq!(started.elapsed(), Duration::from_millis(100));
    assert_eq!(
        bulkhead.sit(&options, Duration::from_millis(7)).await.err(),
        Some(Full::Waited),
        "the deadline is nearer"
    );
    assert_eq!(started.elapsed().as_millis(), 107);
    drop(seat);
    assert_eq!((bulkhead.taken(), bulkhead.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_goes_away_leaves_no_trace() {
    let options = options(1, 1);
    let bulkhead = Bulkhead::new(&options);
    let seat = bulkhead.try_sit().unwrap();
    for _ in 0..100 {
        let mut waiter = Box::pin(bulkhead.sit(&options, LONG));
        assert!(pending_once(waiter.as_mut()));
        assert_eq!(bulkhead.waiting(), 1);
        drop(waiter);
        assert_eq!(bulkhead.waiting(), 0);
    }
    drop(seat);
    assert!(bulkhead.try_sit().is_some());
    assert_eq!(bulkhead.taken(), 0);
}

#[test]
fn a_lower_limit_is_reached_as_calls_come_back_and_a_higher_one_at_once() {
    let bulkhead = Bulkhead::new(&options(4, 0));
    let mut seats: Vec<_> = (0..4).map(|_| bulkhead.try_sit().unwrap()).collect();
    bulkhead.set_limit(2);
    assert_eq!((bulkhead.taken(), bulkhead.limit()), (4, 2));
    seats.truncate(2);
    assert!(bulkhead.try_sit().is_none());
    seats.truncate(1);
    seats.push(bulkhead.try_sit().unwrap());
    assert!(bulkhead.try_sit().is_none());
    bulkhead.set_limit(5);
    seats.extend((0..3).map(|_| bulkhead.try_sit().unwrap()));
    assert!(bulkhead.try_sit().is_none());
    drop(seats);
    assert_eq!(bulkhead.taken(), 0);
}

#[test]
fn detached_work_keeps_the_seat_of_its_call_until_it_ends() {
    let bulkhead = Bulkhead::new(&options(2, 0));
    let seat = bulkhead.try_sit().unwrap();
    let hold = bulkhead.hold();
    drop(seat);
    assert_eq!((bulkhead.taken(), bulkhead.detached()), (1, 1));
    let other = bulkhead.try_sit().unwrap();
    assert!(bulkhead.try_sit().is_none());
    drop(hold);
    assert_eq!((bulkhead.taken(), bulkhead.detached()), (1, 0));
    drop(other);
    assert_eq!(bulkhead.taken(), 0);
}

#[test]
fn threads_together_never_share_the_last_seat() {
    let (bulkhead, out) = (Bulkhead::new(&options(1, 0)), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000_000 {
                    if let Some(seat) = bulkhead.try_sit() {
                        assert_eq!(out.fetch_add(1, Ordering::SeqCst), 0, "one too many");
                        out.fetch_sub(1, Ordering::SeqCst);
                        drop(seat);
                    }
                }
            });
        }
    });
    assert_eq!(bulkhead.taken(), 0);
}

/// Threads that take seats, wait for them, give up while they wait, and detach work, under a limit that moves.
#[test]
fn threads_that_come_and_go_exceed_no_limit_and_lose_no_seat() {
    const LIMIT_MAX: u32 = 4;
    let options = options(LIMIT_MAX, 3);
    let (bulkhead, out) = (Bulkhead::new(&options), AtomicU32::new(0));
    let visit = async |n: u32, seat: Seat<'_>| {
        let others = out.fetch_add(1, Ordering::SeqCst);
        assert!(others < LIMIT_MAX, "one too many");
        let hold = n.is_multiple_of(7).then(|| bulkhead.hold());
        if n.is_multiple_of(3) {
            tokio::task::yield_now().await;
        }
        out.fetch_sub(1, Ordering::SeqCst);
        drop(seat);
        drop(hold);
    };
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (bulkhead, options, visit) = (&bulkhead, &options, &visit);
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    for n in thread..100_000 {
                        let wait = Duration::from_millis(1 + u64::from(n % 3));
                        let sit = bulkhead.sit(options, wait);
                        let seat = match n % 4 {
                            0 => bulkhead.try_sit().ok_or(Full::Queue),
                            // Who would wait goes away.
                            1 | 2 => ready_at_once(sit).unwrap_or(Err(Full::Waited)),
                            _ => sit.await,
                        };
                        if let Ok(seat) = seat {
                            visit(n, seat).await;
                        }
                    }
                });
            });
        }
        for n in 0..100_000 {
            bulkhead.set_limit(n % LIMIT_MAX + 1);
            std::thread::yield_now();
        }
    });
    bulkhead.set_limit(LIMIT_MAX);
    assert_eq!(
        (bulkhead.taken(), bulkhead.waiting(), bulkhead.detached()),
        (0, 0, 0)
    );
    let seats: Vec<_> = std::iter::from_fn(|| bulkhead.try_sit()).take(9).collect();
    assert_eq!(seats.len(), LIMIT_MAX as usize);
}

#[test]
fn extreme_numbers_are_refused_and_not_added_up() {
    let faults = options(0, u32::MAX).validate();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert_eq!(options(1, 0).validate(), Vec::<String>::new());
}

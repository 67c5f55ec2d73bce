//! P2: with real threads, through the whole stack.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use surefoot_policy::breaker::BreakerState;
use surefoot_policy::clock::{ManualClock, Moment};
use surefoot_policy::meaning::Meaning;
use surefoot_policy::{Dependency, Meta, Policy};

/// P2: probes in half-open never exceed the limit, and reach it, when 64 threads meet the end of the open time.
#[test]
fn p2_exactly_the_permitted_probes_are_sent() {
    for round in 0..60_u32 {
        let permitted = round % 3 + 1;
        let clock = std::sync::Arc::new(ManualClock::at(Moment::from_nanos(1 << 44)));
        let mut policy = Policy::default();
        policy.breaker.consecutive_failures = 1;
        policy.breaker.probes = permitted;
        policy.breaker.successes_to_close = 64;
        policy.retry.attempts_max = 1;
        let dependency =
            Dependency::with_sources("psp", policy, Some(clock.clone()), None).unwrap();
        let failing = dependency.call(&Meta::once_only(), |_| {
            std::future::ready(Err::<(), _>(Meaning::TRANSIENT))
        });
        block_on(failing).unwrap_err();
        clock.advance(Duration::from_secs(6));
        let (start, sent, out_max) = (Barrier::new(64), AtomicU32::new(0), AtomicU32::new(0));
        let release = Barrier::new(64);
        std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    start.wait();
                    let probe = dependency.call(&Meta::once_only(), |_| {
                        let out = sent.fetch_add(1, Ordering::SeqCst) + 1;
                        out_max.fetch_max(out, Ordering::SeqCst);
                        std::future::pending::<Result<(), Meaning>>()
                    });
                    let mut probe = Box::pin(probe);
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .unwrap();
                    let _entered = runtime.enter();
                    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
                    let _ = std::future::Future::poll(probe.as_mut(), &mut cx);
                    release.wait();
                });
            }
        });
        assert_eq!(
            (sent.into_inner(), out_max.into_inner()),
            (permitted, permitted),
            "round {round}"
        );
        assert_eq!(dependency.status().breaker, BreakerState::HalfOpen);
        assert_eq!(dependency.status().probes_out, 0);
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

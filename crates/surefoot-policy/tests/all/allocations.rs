//! What a call costs the allocator: nothing on the happy path (P10), nothing for a rejection, however many.

use std::future::{poll_fn, ready};
use std::task::Poll;
use std::time::Duration;

use surefoot_policy::breaker::Force;
use surefoot_policy::meaning::Meaning;
use surefoot_policy::{Dependency, Meta, Policy};

const CALLS: u32 = 1_000;

/// How many allocations `calls` calls make beyond those of the runtime itself.
fn allocations(dependency: &Dependency, meta: &Meta<'_>, pending_polls: u32) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let run = |calls: u32| {
        let counted = allocation_counter::measure(|| {
            runtime.block_on(async {
                for _ in 0..calls {
                    let _ = dependency.call(meta, |_| answer(pending_polls)).await;
                }
            });
        });
        counted.count_total
    };
    // The first call of a thread sets up its own things, such as the dice.
    run(10);
    run(CALLS) - run(0)
}

async fn answer(mut pending_polls: u32) -> Result<u8, Meaning> {
    poll_fn(|cx| {
        if pending_polls == 0 {
            return Poll::Ready(());
        }
        pending_polls -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
    ready(Ok(1)).await
}

fn dependency(change: impl FnOnce(&mut Policy)) -> Dependency {
    let mut policy = Policy::default();
    policy.breaker.slow_after = Some(Duration::from_secs(1));
    policy.rate = Some(
        serde_json::from_str(r#"{"calls": 1000000000, "per": "1s", "burst": 1000000000}"#).unwrap(),
    );
    change(&mut policy);
    Dependency::new("psp", policy).unwrap()
}

#[test]
fn p10_no_allocation_on_the_happy_path() {
    for (meta, pending_polls) in [
        (Meta::idempotent(), 0),
        (Meta::keyed("k1"), 0),
        (Meta::once_only(), 2),
    ] {
        assert_eq!(
            allocations(&dependency(|_| {}), &meta, pending_polls),
            0,
            "{meta:?} {pending_polls}"
        );
    }
}

#[test]
fn a_rejection_allocates_nothing_and_nothing_grows() {
    let open = dependency(|_| {});
    open.force(Force::Open);
    assert_eq!(allocations(&open, &Meta::idempotent(), 0), 0);
    let counted = allocation_counter::measure(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            for _ in 0..1_000_000 / 10 {
                assert!(open.call(&Meta::idempotent(), |_| answer(0)).await.is_err());
            }
        });
    });
    assert!(counted.bytes_current.abs() < 4096, "{counted:?}");
}

#[test]
fn a_million_fast_calls_leave_no_timer_behind() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let dependency = dependency(|_| {});
    let counted = allocation_counter::measure(|| {
        runtime.block_on(async {
            for _ in 0..100_000 {
                dependency
                    .call(&Meta::idempotent(), |_| answer(1))
                    .await
                    .unwrap();
            }
        });
    });
    assert!(counted.bytes_max < 64 * 1024, "{counted:?}");
}

//! What protection costs per call: nanoseconds and allocations, side by side on the same inner call, in one run.
//! `cargo bench -p surefoot-policy`. Figures are the best of several rounds; the machine's noise only adds.
#![expect(
    clippy::expect_used,
    reason = "a benchmark that cannot be set up has nothing to measure"
)]

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::hint::black_box;
use std::time::{Duration, Instant};

use surefoot_core::time::Roll;
use surefoot_policy::breaker::{Breaker, BreakerOptions, Evidence, Force};
use surefoot_policy::clock::{Clock, Moment, TokioClock};
use surefoot_policy::layer::{HttpPlan, Protect};
use surefoot_policy::meaning::Meaning;
use surefoot_policy::{Dependency, Meta, Policy};
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};
use tower_resilience_bulkhead::BulkheadLayer;
use tower_resilience_circuitbreaker::CircuitBreakerLayer;
use tower_resilience_timelimiter::TimeLimiterLayer;

/// Short rounds and many of them: on a busy machine some of them run undisturbed.
const CALLS: u32 = 2_000;
const ROUNDS: u32 = 500;

fn main() {
    println!(
        "{:<58} {:>9} {:>12} {:>12}",
        "inner call ready at once", "ns/call", "allocs/call", "bytes/call"
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let bench = Bench(
        runtime,
        std::env::args()
            .skip(1)
            .find(|argument| !argument.starts_with('-')),
    );
    bare(&bench);
    surefoot(&bench);
    tower_own(&bench);
    resilience(&bench);
    rejections(&bench);
    if bench.1.is_none() {
        println!(
            "\n{:<58} {:>9}",
            "admit and settle, with so many calls in the window", "ns/call"
        );
        windows();
    }
}

/// A runtime, and what the names of the measurements must contain.
struct Bench(tokio::runtime::Runtime, Option<String>);

impl Bench {
    /// Makes calls one after another and prints what one costs.
    fn measure<R>(&self, name: &str, mut call: impl AsyncFnMut() -> R) {
        if self
            .1
            .as_ref()
            .is_some_and(|wanted| !name.contains(wanted.as_str()))
        {
            return;
        }
        let mut run = |calls: u32| {
            self.0.block_on(tokio::task::coop::unconstrained(async {
                let started = Instant::now();
                for _ in 0..calls {
                    black_box(call().await);
                }
                started.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
            }))
        };
        let best = (0..ROUNDS).map(|_| run(CALLS)).fold(f64::MAX, f64::min);
        let info = allocation_counter::measure(|| {
            run(CALLS);
        });
        let per_call = |total: u64| total as f64 / f64::from(CALLS);
        let (count, bytes) = (per_call(info.count_total), per_call(info.bytes_total));
        println!("{name:<58} {best:>9.1} {count:>12.2} {bytes:>12.1}");
    }
}

fn inner(n: u64) -> Ready<Result<u64, Meaning>> {
    ready(Ok(black_box(n)))
}

fn dependency(change: impl FnOnce(&mut Policy)) -> Dependency {
    let mut policy = Policy::default();
    change(&mut policy);
    Dependency::new("bench", policy).expect("a sound policy")
}

fn bare(bench: &Bench) {
    bench.measure("bare future", async || inner(1).await);
    bench.measure("tokio::time::timeout around it", async || {
        tokio::time::timeout(Duration::from_secs(5), inner(1)).await
    });
    bench.measure("reading tokio's clock twice", async || {
        black_box((TokioClock.now(), TokioClock.now()));
        inner(1).await
    });
}

fn surefoot(bench: &Bench) {
    let (meta, standard) = (Meta::idempotent(), dependency(|_| {}));
    bench.measure("surefoot: call, standard stack", async || {
        standard.call(&meta, |_| inner(1)).await
    });
    let all = dependency(|policy| {
        policy.breaker.slow_after = Some(Duration::from_secs(1));
        policy.rate = toml::from_str("calls = 1000000000\nper = \"1s\"\nburst = 1000000000").ok();
    });
    bench.measure(
        "surefoot: call, with slow line and rate limit",
        async || all.call(&meta, |_| inner(1)).await,
    );
    let listened = dependency(|_| {});
    listened.listen(|_: &Dependency, event: &surefoot_policy::event::Event| {
        black_box(event);
    });
    bench.measure("surefoot: call, with a listener", async || {
        listened.call(&meta, |_| inner(1)).await
    });
    let service =
        service_fn(|_: http::Request<()>| ready(Ok::<_, Infallible>(http::Response::new(()))));
    let layered = ServiceBuilder::new()
        .layer(Protect::new(dependency(|_| {}), HttpPlan::new()))
        .service(service);
    let mut layered = layered;
    bench.measure("surefoot: tower layer around an HTTP service", async || {
        layered.ready().await?.call(http::Request::new(())).await
    });
}

#[derive(Clone)]
struct Retries(u32);

impl tower::retry::Policy<u64, u64, tower::BoxError> for Retries {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        _: &mut u64,
        result: &mut Result<u64, tower::BoxError>,
    ) -> Option<Ready<()>> {
        if result.is_ok() || self.0 == 0 {
            return None;
        }
        self.0 -= 1;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &u64) -> Option<u64> {
        Some(*request)
    }
}

fn tower_own(bench: &Bench) {
    let service = ServiceBuilder::new()
        .timeout(Duration::from_secs(20))
        .retry(Retries(2))
        .load_shed()
        .concurrency_limit(256)
        .timeout(Duration::from_secs(5))
        .service(service_fn(|n: u64| {
            ready(Ok::<u64, Infallible>(black_box(n)))
        }));
    let mut service = service;
    bench.measure("tower: timeout, retry, shed, limit, timeout", async || {
        service.ready().await?.call(1).await
    });
}

fn resilience(bench: &Bench) {
    let service = ServiceBuilder::new()
        .layer(
            BulkheadLayer::builder()
                .max_concurrent_calls(256)
                .build()
                .expect("sound"),
        )
        .layer(
            CircuitBreakerLayer::builder()
                .failure_rate_threshold(0.5)
                .sliding_window_size(100)
                .build()
                .expect("sound"),
        )
        .layer(
            TimeLimiterLayer::builder()
                .timeout_duration(Duration::from_secs(5))
                .build(),
        )
        .service(service_fn(|n: u64| async move {
            Ok::<u64, String>(black_box(n))
        }));
    let mut service = service;
    bench.measure(
        "tower-resilience: bulkhead, breaker, time limiter",
        async || {
            service
                .ready()
                .await
                .map_err(drop)?
                .call(1)
                .await
                .map_err(drop)
        },
    );
}

fn rejections(bench: &Bench) {
    let (meta, open) = (Meta::idempotent(), dependency(|_| {}));
    open.force(Force::Open);
    bench.measure(
        "surefoot: call turned away by an open breaker",
        async || open.call(&meta, |_| inner(1)).await,
    );
    let options = BreakerOptions {
        consecutive_failures: 1,
        ..BreakerOptions::default()
    };
    let breaker = tripped(&options);
    let now = TokioClock.now();
    bench.measure(
        "surefoot: the open breaker alone, no clock read",
        async || {
            black_box(breaker.admit(&options, now, || Roll(0)).is_err());
        },
    );
    bench.measure(
        "surefoot: the open breaker alone, one clock read",
        async || {
            black_box(
                breaker
                    .admit(&options, TokioClock.now(), || Roll(0))
                    .is_err(),
            );
        },
    );
}

fn tripped(options: &BreakerOptions) -> Breaker {
    let (breaker, now) = (Breaker::new(options), TokioClock.now());
    if let Ok((permit, _)) = breaker.admit(options, now, || Roll(0)) {
        permit.settle(options, Evidence::Failed, now, || Roll(0));
    }
    breaker
}

fn windows() {
    let options = BreakerOptions {
        consecutive_failures: 0,
        failure_ratio: 1.0,
        ..BreakerOptions::default()
    };
    for (name, evidence) in [
        ("success", Evidence::Alive),
        ("failure, with the window summed", Evidence::Failed),
    ] {
        for records in [100_u32, 1_000, 10_000, 100_000, 1_000_000] {
            let breaker = Breaker::new(&options);
            let now = Moment::from_nanos(1 << 44);
            let one = |evidence| {
                if let Ok((permit, _)) = breaker.admit(&options, now, || Roll(0)) {
                    black_box(permit.settle(&options, evidence, now, || Roll(0)));
                }
            };
            (0..records).for_each(|_| one(Evidence::Alive));
            let mut best = f64::MAX;
            for _ in 0..ROUNDS {
                let started = Instant::now();
                (0..CALLS).for_each(|_| one(evidence));
                best = best.min(started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
            }
            println!("{:<58} {best:>9.1}", format!("{name}, {records}"));
        }
    }
}

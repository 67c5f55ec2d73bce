//! P1 and P3 to P9: what holds whatever happens. Each was seen to fail on a deliberate break of the code.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use surefoot_core::classify::Certainty;
use surefoot_core::time::Roll;
use surefoot_policy::breaker::{Breaker, BreakerOptions, BreakerState, Evidence, Force};
use surefoot_policy::clock::{Clock, Dice, ManualClock, Moment, SeededDice, Steady};
use surefoot_policy::event::Event;
use surefoot_policy::meaning::Meaning;
use surefoot_policy::retry::{BackoffOptions, Exponential, JitterOptions};
use surefoot_policy::{Dependency, Meta, Policy};

fn paused<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(work)
}

fn dependency(seed: u64, policy: Policy) -> Dependency {
    Dependency::with_sources("psp", policy, None, Some(Arc::new(SeededDice::new(seed)))).unwrap()
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Polls a future at most so often, then drops it.
struct DropAfter<F> {
    future: Option<Pin<Box<F>>>,
    polls: u32,
}

impl<F: Future> Future for DropAfter<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(future) = self.future.as_mut() else {
            return Poll::Ready(());
        };
        let ready = future.as_mut().poll(cx).is_ready();
        self.polls = self.polls.saturating_sub(1);
        if ready || self.polls == 0 {
            self.future = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Ok,
    Transient,
    NotSent,
    Throttled,
    Refused,
    Panic,
    Hang,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        3 => Just(Fate::Ok),
        2 => Just(Fate::Transient),
        1 => Just(Fate::NotSent),
        1 => Just(Fate::Throttled),
        1 => Just(Fate::Refused),
        1 => Just(Fate::Panic),
        1 => Just(Fate::Hang),
    ]
}

/// What one attempt does: it takes a while, and ends.
async fn meet(fate: Fate, takes: u64) -> Result<u8, Meaning> {
    if takes > 0 {
        tokio::time::sleep(ms(takes)).await;
    }
    match fate {
        Fate::Ok => Ok(1),
        Fate::Transient => Err(Meaning::TRANSIENT),
        Fate::NotSent => Err(Meaning::NOT_SENT),
        Fate::Throttled => Err(Meaning::THROTTLED.retry_after(Some(ms(takes)))),
        Fate::Refused => Err(Meaning::REFUSED),
        Fate::Panic => panic!("on purpose"),
        Fate::Hang => pending().await,
    }
}

/// Small numbers everywhere, so that every guard is met.
fn tight(hedge: bool) -> Policy {
    let mut policy: Policy = toml::from_str(
        r#"
        timeout = { connect = "10ms", attempt = "100ms", total = "600ms" }
        breaker = { window = "1s", calls_min = 4, consecutive_failures = 3, open_for = "50ms", open_for_max = "200ms",
                    probes = 2, successes_to_close = 2, probe_lease = "100ms", slow_after = "60ms", ramp = "100ms" }
        bulkhead = { limit = 3, queue_max = 3, queue_wait_max = "40ms" }
        retry = { attempts_max = 4, backoff = { base = "5ms", cap = "40ms" }, retry_after_max = "50ms" }
        budget = { reserve_per_second = 5.0, window = "1s" }
        rate = { calls = 500, per = "1s", burst = 20, wait_max = "20ms" }
        "#,
    )
    .unwrap();
    policy.hedge = hedge.then(|| toml::from_str("after = \"20ms\"").unwrap());
    policy
}

#[derive(Clone, Debug)]
struct OneCall {
    starts: u64,
    fates: Vec<Fate>,
    takes: u64,
    polls: u32,
    idempotent: bool,
    holds: bool,
}

fn one_call() -> impl Strategy<Value = OneCall> {
    (
        0..800_u64,
        vec(fate(), 1..5),
        prop_oneof![Just(0), 0..150_u64],
        prop_oneof![Just(1000), 1..6_u32],
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(starts, fates, takes, polls, idempotent, holds)| OneCall {
            starts,
            fates,
            takes,
            polls,
            idempotent,
            holds,
        })
}

async fn drive(dependency: &Dependency, call: OneCall) {
    tokio::time::sleep(ms(call.starts)).await;
    let meta = Meta {
        idempotent: call.idempotent,
        ..Meta::once_only()
    };
    let sends = AtomicU32::new(0);
    let made = dependency.call(&meta, |attempt| {
        let send = sends.fetch_add(1, Ordering::SeqCst) as usize;
        let fate = call.fates[send.min(call.fates.len() - 1)];
        let hold = call.holds.then(|| attempt.hold());
        async move {
            let result = meet(fate, call.takes).await;
            drop(hold);
            result
        }
    });
    DropAfter {
        future: Some(Box::pin(made)),
        polls: call.polls,
    }
    .await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// P1: permits return to capacity under any mix of ok, error, panic, drop at any poll, time-out.
    #[test]
    fn p1_permits_return_to_capacity(calls in vec(one_call(), 1..40), hedge in any::<bool>(), seed in any::<u64>()) {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let (status, seats) = paused(async {
            let dependency = dependency(seed, tight(hedge));
            let tasks: Vec<_> = calls
                .into_iter()
                .map(|call| {
                    let dependency = dependency.clone();
                    tokio::spawn(async move { drive(&dependency, call).await })
                })
                .collect();
            for task in tasks {
                let _ = task.await;
            }
            let status = dependency.status();
            dependency.force(Force::Open);
            dependency.force(Force::Close);
            dependency.open_gate();
            tokio::time::sleep(Duration::from_secs(2)).await;
            // Every seat can be taken again, and not one more.
            let mut calls: Vec<_> =
                (0..4).map(|_| Box::pin(dependency.call(&Meta::once_only(), |_| pending::<Result<u8, Meaning>>()))).collect();
            std::future::poll_fn(|cx| {
                calls.iter_mut().for_each(|call| assert!(call.as_mut().poll(cx).is_pending()));
                Poll::Ready(())
            })
            .await;
            let full = dependency.status();
            (status, (full.out, full.waiting))
        });
        std::panic::set_hook(hook);
        prop_assert_eq!((status.out, status.waiting, status.detached, status.probes_out), (0, 0, 0, 0));
        prop_assert_eq!(seats, (3, 1));
    }

    /// P7: an unsafe call is never sent again once an attempt may have been applied.
    #[test]
    fn p7_after_the_first_byte_left_an_unsafe_call_is_not_sent_again(
        script in vec((fate(), 0..120_u64), 1..6), hedge in any::<bool>(), seed in any::<u64>(),
    ) {
        let outcomes = paused(async {
            let mut policy = tight(hedge);
            policy.budget.enabled = false;
            let dependency = dependency(seed, policy);
            let outcomes = Arc::new(Mutex::new(Vec::new()));
            let sends = AtomicU32::new(0);
            let made = dependency.call(&Meta::once_only(), |_| {
                let send = sends.fetch_add(1, Ordering::SeqCst) as usize;
                let (fate, takes) = script[send.min(script.len() - 1)];
                let fate = if matches!(fate, Fate::Panic) { Fate::Hang } else { fate };
                let outcomes = Arc::clone(&outcomes);
                // Until it is proven otherwise, a send may be applied.
                outcomes.lock().unwrap().push(Certainty::MaybeApplied);
                async move {
                    let result = meet(fate, takes).await;
                    outcomes.lock().unwrap()[send] = match &result {
                        Ok(_) => Certainty::Applied,
                        Err(meaning) => meaning.certainty,
                    };
                    result
                }
            });
            let _ = made.await;
            outcomes.lock().unwrap().clone()
        });
        let unproven = outcomes.iter().position(|certainty| !certainty.is_harmless());
        prop_assert!(unproven.is_none_or(|at| at + 1 == outcomes.len()), "{outcomes:?}");
    }

    /// P3: over any 60 s, extra sends are at most a tenth of the calls (those of the ten seconds before, whose
    /// deposits still last, included) plus the reserve, under any outage script.
    #[test]
    fn p3_extra_sends_stay_within_the_budget(
        phases in vec((1..40_u64, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64], 1..30_u64), 1..8), hedge in any::<bool>(), seed in any::<u64>(),
    ) {
        let (calls, extras) = paused(outage_script(phases, hedge, seed));
        for begin in extras.iter().copied() {
            let end = begin + 60_000;
            let within = |from: u64, list: &[u64]| list.iter().filter(|at| (from..=end).contains(*at)).count() as f64;
            let allowed = 0.1 * within(begin.saturating_sub(10_000), &calls) + 0.1 * 60.0 + 1.0;
            prop_assert!(within(begin, &extras) <= allowed, "{} > {allowed} from {begin}", within(begin, &extras));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, ..ProptestConfig::default() })]

    /// P8: no attempt starts after the deadline, nor with less time than an attempt needs.
    #[test]
    fn p8_no_attempt_starts_after_the_deadline(calls in vec(one_call(), 1..30), within in prop_oneof![5..60_u64, 5..300_u64], hedge in any::<bool>(), seed in any::<u64>()) {
        let late = paused(async {
            let dependency = dependency(seed, tight(hedge));
            let late = AtomicU32::new(0);
            let all = calls.into_iter().map(|call| {
                let (dependency, late) = (&dependency, &late);
                async move {
                    tokio::time::sleep(ms(call.starts % 50)).await;
                    let deadline = tokio::time::Instant::now() + ms(within);
                    let meta = Meta { idempotent: true, within: Some(ms(within)), ..Meta::once_only() };
                    let made = dependency.call(&meta, |attempt| {
                        let left = deadline.saturating_duration_since(tokio::time::Instant::now());
                        if left < ms(5) || attempt.left() > left {
                            late.fetch_add(1, Ordering::SeqCst);
                        }
                        let fate = match call.fates[0] { Fate::Panic => Fate::Transient, other => other };
                        meet(fate, call.takes)
                    });
                    let _ = made.await;
                }
            });
            join_all(all.collect()).await;
            late.into_inner()
        });
        prop_assert_eq!(late, 0);
    }
}

#[derive(Clone, Copy, Debug)]
enum Jump {
    To(u64),
    Back(u64),
}

fn jump() -> impl Strategy<Value = Jump> {
    prop_oneof![
        prop_oneof![Just(0), Just(u64::MAX), any::<u64>()].prop_map(Jump::To),
        (1..100_000_u64).prop_map(Jump::Back),
    ]
}

/// The times of the calls and of the extra sends, in milliseconds.
async fn outage_script(
    phases: Vec<(u64, f64, u64)>,
    hedge: bool,
    seed: u64,
) -> (Vec<u64>, Vec<u64>) {
    let mut policy = Policy::default();
    policy.breaker.mode = surefoot_policy::breaker::BreakerMode::Disabled;
    policy.retry.attempts_max = 4;
    policy.hedge = hedge.then(|| toml::from_str("after = \"50ms\"\npercentile = 50.0").unwrap());
    let (dependency, dice) = (dependency(seed, policy), Arc::new(SeededDice::new(!seed)));
    let started = tokio::time::Instant::now();
    let (calls, extras) = (Mutex::new(Vec::new()), Arc::new(Mutex::new(Vec::new())));
    let mut tasks = Vec::new();
    for (seconds, failing, per_second) in phases {
        for _ in 0..seconds * per_second {
            tokio::time::sleep(Duration::from_nanos(1_000_000_000 / per_second)).await;
            calls
                .lock()
                .unwrap()
                .push(started.elapsed().as_millis() as u64);
            let (dependency, dice, extras) =
                (dependency.clone(), Arc::clone(&dice), Arc::clone(&extras));
            tasks.push(tokio::spawn(async move {
                let made = dependency.call(&Meta::idempotent(), |attempt| {
                    if attempt.number() > 1 {
                        extras
                            .lock()
                            .unwrap()
                            .push(started.elapsed().as_millis() as u64);
                    }
                    let draw = dice.roll().fraction();
                    async move {
                        tokio::time::sleep(ms(if draw < 0.2 { 200 } else { 10 })).await;
                        if draw < failing {
                            Err(Meaning::TRANSIENT)
                        } else {
                            Ok(1)
                        }
                    }
                });
                let _ = made.await;
            }));
        }
    }
    for task in tasks {
        let _ = task.await;
    }
    let extras = extras.lock().unwrap().clone();
    (calls.into_inner().unwrap(), extras)
}

async fn join_all<F: Future<Output = ()>>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures
        .into_iter()
        .map(|future| Some(Box::pin(future)))
        .collect();
    std::future::poll_fn(|cx| {
        for slot in &mut futures {
            if slot
                .as_mut()
                .is_some_and(|future| future.as_mut().poll(cx).is_ready())
            {
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

proptest! {
    /// P4: a delay lies within [0, cap], and its jitter has variance at every attempt number, base and cap.
    #[test]
    fn p4_delays_are_finite_capped_and_spread(
        base in prop_oneof![1_000..2_000_000_000_u64, Just(u64::MAX)],
        more in prop_oneof![0..u64::MAX, Just(u64::MAX)],
        seconds in any::<bool>(),
        failures in prop_oneof![0..5_u32, any::<u32>(), Just(u32::MAX)],
        factor in prop_oneof![Just(2.0), 1.0..1e300_f64],
        jitter in prop_oneof![Just(JitterOptions::Full), Just(JitterOptions::Equal), (0.1..=1.0_f64).prop_map(JitterOptions::Fraction)],
    ) {
        let scale = |n: u64| if seconds { Duration::from_secs(n) } else { Duration::from_nanos(n) };
        let base = scale(base);
        let cap = base.checked_add(scale(more)).unwrap_or(Duration::MAX);
        let options = BackoffOptions::Exponential(Exponential { base, factor, cap, jitter });
        let (backoff, dice) = (options.backoff(), SeededDice::new(u64::from(failures)));
        prop_assume!(backoff.validate().is_empty());
        let delays: Vec<_> = (0..50).map(|_| backoff.delay(failures, None, dice.roll())).collect();
        prop_assert!(delays.iter().all(|delay| *delay <= cap));
        prop_assert!(delays.iter().any(|delay| *delay != delays[0]), "{:?}", delays[0]);
        prop_assert!(backoff.delay(failures, Some(Duration::MAX), Roll(u64::MAX)) <= cap);
    }

    /// P5: a stale generation never changes state.
    #[test]
    fn p5_a_stale_generation_never_changes_state(
        steps in vec((0..6_u8, 0..64_usize, 0..400_u64), 1..300),
    ) {
        let options = BreakerOptions {
            consecutive_failures: 2, calls_min: 4, open_for: ms(50), open_for_max: ms(100),
            probes: 2, successes_to_close: 2, probe_lease: ms(80), ramp: Duration::ZERO, ..BreakerOptions::default()
        };
        let breaker = Breaker::new(&options);
        let (mut now, mut out) = (Moment::from_nanos(1 << 44), Vec::new());
        for (step, which, millis) in steps {
            now = now.after(ms(millis / 10));
            match step {
                0..=2 => {
                    if let Ok((permit, _)) = breaker.admit(&options, now, || Roll(0)) {
                        out.push((permit, breaker.generation()));
                    }
                }
                _ if out.is_empty() => {}
                step => {
                    let (permit, generation) = out.swap_remove(which % out.len());
                    let before = (breaker.state(&options, now), breaker.generation(), breaker.counts(now));
                    let evidence = [Evidence::Alive, Evidence::Failed, Evidence::Neutral][usize::from(step) - 3];
                    let told = permit.settle(&options, evidence, now, || Roll(0));
                    if generation != before.1 {
                        prop_assert!(told.is_none());
                        let after = (breaker.state(&options, now), breaker.generation(), breaker.counts(now));
                        prop_assert_eq!(before, after);
                    }
                    prop_assert!(breaker.probes_out(now) <= 2);
                }
            }
        }
        out.clear();
        prop_assert_eq!(breaker.probes_out(Moment::ZERO), 0);
    }

    /// P6: clock jumps never panic and never lengthen the open time.
    #[test]
    fn p6_clock_jumps_never_lengthen_an_open_time(
        jumps in vec(jump(), 0..20),
        before in 0..100_usize,
    ) {
        let options = BreakerOptions { consecutive_failures: 1, open_for: ms(1_000), open_jitter: 0.0, ..BreakerOptions::default() };
        let (breaker, raw) = (Breaker::new(&options), Arc::new(ManualClock::at(Moment::from_nanos(1 << 40))));
        let clock = Steady::new(Arc::clone(&raw));
        let (permit, _) = breaker.admit(&options, clock.now(), || Roll(0)).unwrap();
        permit.settle(&options, Evidence::Failed, clock.now(), || Roll(0));
        let mut jumps = jumps.into_iter();
        for step in 0..100 {
            raw.advance(ms(10));
            let _ = clock.now();
            if step >= before && let Some(jump) = jumps.next() {
                raw.set(match jump {
                    Jump::To(nanos) => Moment::from_nanos(nanos),
                    Jump::Back(millis) => Moment::from_nanos(raw.now().as_nanos().saturating_sub(millis * 1_000_000)),
                });
            }
            let _ = (breaker.state(&options, clock.now()), breaker.counts(clock.now()));
        }
        prop_assert!(breaker.admit(&options, clock.now(), || Roll(0)).is_ok(), "still open after a second");
    }
}

/// P9: no lock is held across a callback or an await: while calls are under way, a listener and another thread
/// may ask for anything and force any state.
#[test]
fn p9_no_lock_is_held_across_a_callback_or_an_await() {
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut policy = tight(true);
        policy.fault = Some(toml::from_str("errors = 0.3\nhangs = 0.1").unwrap());
        policy.adaptive = Some(toml::from_str("every = \"10ms\"").unwrap());
        let dependency = dependency(5, policy);
        let kinds = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
        let seen = Arc::clone(&kinds);
        dependency.listen(move |dependency: &Dependency, event: &Event| {
            ask_everything(dependency);
            let name = format!("{event:?}");
            seen.lock()
                .unwrap()
                .insert(name.split([' ', '(']).next().unwrap_or_default().to_owned());
        });
        let stop = Arc::new(AtomicBool::new(false));
        let outsider = std::thread::spawn({
            let (dependency, stop) = (dependency.clone(), Arc::clone(&stop));
            move || {
                while !stop.load(Ordering::SeqCst) {
                    ask_everything(&dependency);
                }
            }
        });
        paused(async {
            let calls = (0..300_u64).map(|n| {
                let call = OneCall {
                    starts: n * 3,
                    fates: vec![Fate::Ok, Fate::Transient, Fate::Throttled],
                    takes: n % 70,
                    polls: 1000,
                    idempotent: true,
                    holds: false,
                };
                drive(&dependency, call)
            });
            join_all(calls.collect()).await;
        });
        stop.store(true, Ordering::SeqCst);
        let _ = outsider.join();
        let kinds = kinds.lock().unwrap().len();
        let _ = done.send(kinds);
    });
    let kinds = finished
        .recv_timeout(Duration::from_secs(60))
        .expect("a lock was held: the calls never ended");
    assert!(kinds >= 6, "only {kinds} kinds of event were heard");
}

fn ask_everything(dependency: &Dependency) {
    let status = dependency.status();
    let _ = (dependency.policy(), dependency.name(), dependency.now());
    match status.breaker {
        BreakerState::Closed => dependency.force(Force::Open),
        BreakerState::Open { .. } | BreakerState::HalfOpen | BreakerState::ForcedOpen => {
            dependency.force(Force::Close)
        }
        BreakerState::Disabled | BreakerState::MetricsOnly => dependency.force(Force::Close),
    };
    if status.generation.is_multiple_of(7) {
        let _ = dependency.reconfigure(Policy::clone(&dependency.policy()));
    }
}

/// P1, by hand: a call dropped at each of its polls gives everything back.
#[test]
fn p1_dropped_at_each_poll() {
    for polls in 1..40 {
        paused(async {
            let dependency = dependency(1, tight(false));
            let made = dependency.call(&Meta::idempotent(), |_| meet(Fate::Transient, 7));
            DropAfter {
                future: Some(Box::pin(made)),
                polls,
            }
            .await;
            let status = dependency.status();
            assert_eq!((status.out, status.waiting, status.probes_out), (0, 0, 0));
        });
    }
}

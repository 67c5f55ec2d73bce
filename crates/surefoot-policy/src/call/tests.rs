//! One call through all guards, in virtual time.

use std::future::{pending, ready};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use surefoot_core::classify::Certainty;
use surefoot_core::timeouts::TimeoutKind;
use tokio::time::Instant;

use crate::breaker::{BreakerState, Force};
use crate::context::{Ambient, Outer};
use crate::error::{Kind, Rejection};
use crate::event::Event;
use crate::meaning::Meaning;
use crate::retry::{BackoffOptions, Suppressed};
use crate::{CallError, Criticality, Dependency, Meta, Policy};

const READ: Meta<'static> = Meta::idempotent();
const PAY: Meta<'static> = Meta::once_only();

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A policy whose retries cost nothing to wait for and are not bounded by the budget.
fn policy() -> Policy {
    let mut policy = Policy::default();
    policy.budget.enabled = false;
    policy.retry.backoff = BackoffOptions::exponential(ms(1), ms(2));
    policy.breaker.consecutive_failures = 0;
    policy
}

fn with(change: impl FnOnce(&mut Policy)) -> Dependency {
    let mut policy = policy();
    change(&mut policy);
    Dependency::new("psp", policy).unwrap()
}

type Answer = Result<u8, Meaning>;

/// Calls with these answers in turn, the last one again and again; what came of it and how many were sent.
async fn scripted(
    dependency: &Dependency,
    meta: &Meta<'_>,
    answers: &[Answer],
) -> (Result<u8, CallError<Meaning>>, u32) {
    let sends = AtomicU32::new(0);
    let result = dependency
        .call(meta, |_| {
            let send = sends.fetch_add(1, Ordering::SeqCst) as usize;
            ready(answers[send.min(answers.len() - 1)])
        })
        .await;
    (result, sends.into_inner())
}

fn events(dependency: &Dependency) -> Arc<Mutex<Vec<Event>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&heard);
    dependency.listen(move |_: &Dependency, event: &Event| keep.lock().unwrap().push(*event));
    heard
}

#[tokio::test(start_paused = true)]
async fn attempts_are_exact() {
    for attempts_max in [1, 2, 5] {
        let dependency = with(|policy| policy.retry.attempts_max = attempts_max);
        let (result, sends) = scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)]).await;
        let error = result.unwrap_err();
        assert_eq!(
            (sends, error.attempts().len() as u32),
            (attempts_max, attempts_max)
        );
        assert_eq!(error.suppressed(), Some(Suppressed::Attempts));
        let (result, sends) = scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT), Ok(7)]).await;
        assert_eq!(
            (result.ok(), sends),
            if attempts_max == 1 {
                (None, 1)
            } else {
                (Some(7), 2)
            }
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_unsafe_call_is_sent_again_only_when_nothing_was_applied() {
    let table = [
        (
            Meaning::TRANSIENT,
            1,
            Suppressed::NotRepeatable,
            Certainty::MaybeApplied,
        ),
        (
            Meaning::NOT_SENT,
            3,
            Suppressed::Attempts,
            Certainty::NotSent,
        ),
        (
            Meaning::THROTTLED,
            3,
            Suppressed::Attempts,
            Certainty::Rejected,
        ),
        (
            Meaning::REFUSED,
            1,
            Suppressed::Permanent,
            Certainty::Rejected,
        ),
    ];
    for (meaning, expected, suppressed, certainty) in table {
        let (result, sends) = scripted(&with(|_| {}), &PAY, &[Err(meaning)]).await;
        let error = result.unwrap_err();
        assert_eq!(
            (sends, error.suppressed(), error.certainty()),
            (expected, Some(suppressed), certainty)
        );
    }
    let (result, sends) = scripted(
        &with(|_| {}),
        &PAY,
        &[Err(Meaning::NOT_SENT), Err(Meaning::TRANSIENT), Ok(1)],
    )
    .await;
    assert_eq!(
        (result.unwrap_err().certainty(), sends),
        (Certainty::MaybeApplied, 2)
    );
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_timed_out_is_unknown_and_the_next_one_may_succeed() {
    let dependency = with(|_| {});
    let heard = events(&dependency);
    let started = Instant::now();
    let result: Result<u8, CallError<Meaning>> = dependency
        .call(&READ, |attempt| async move {
            if attempt.number() == 1 {
                pending().await
            } else {
                Ok(attempt.number() as u8)
            }
        })
        .await;
    assert_eq!((result.unwrap(), started.elapsed().as_secs()), (2, 5));
    let heard = heard.lock().unwrap();
    let Some(Event::AttemptFailed(record)) = heard.first() else {
        panic!("{heard:?}")
    };
    assert_eq!(
        (record.kind, record.certainty),
        (
            Kind::TimedOut(TimeoutKind::Attempt),
            Certainty::MaybeApplied
        )
    );
    assert!(matches!(
        heard.last(),
        Some(Event::Succeeded { sends: 2, .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn the_total_deadline_starts_at_submission_and_the_queue_counts() {
    let dependency = with(|policy| {
        policy.bulkhead.limit = 1;
        policy.timeout.total = ms(5_100);
        policy.bulkhead.queue_wait_max = Duration::from_secs(10);
    });
    let busy = dependency.call(&PAY, |_| async {
        tokio::time::sleep(ms(4_000)).await;
        Ok::<_, Meaning>(1)
    });
    let started = Instant::now();
    let queued = dependency.call(&PAY, |_| pending::<Result<u8, Meaning>>());
    let (busy, queued) = tokio::join!(busy, queued);
    assert_eq!(busy.unwrap(), 1);
    assert_eq!(
        queued.unwrap_err().kind(),
        Kind::TimedOut(TimeoutKind::Deadline)
    );
    assert_eq!(started.elapsed(), ms(5_100));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_sends_nothing_and_says_nothing_about_the_dependency() {
    let dependency = with(|_| {});
    let passed = Ambient::default().narrowed(dependency.now());
    let (result, sends) = passed.scope(scripted(&dependency, &READ, &[Ok(1)])).await;
    assert_eq!(
        (result.unwrap_err().kind(), sends),
        (Kind::Rejected(Rejection::DeadlinePassed), 0)
    );
    let within = Meta {
        within: Some(ms(4)),
        ..READ
    };
    assert_eq!(
        scripted(&dependency, &within, &[Ok(1)]).await.1,
        0,
        "less than an attempt needs"
    );
    assert_eq!(dependency.status().window.total, 0);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_handed_down_narrowed_to_the_attempt() {
    let dependency = with(|_| {});
    let left = |ambient: Ambient| {
        let dependency = &dependency;
        ambient.scope(async move {
            let call = dependency.call(&READ, |attempt| async move {
                Ok::<_, Meaning>((attempt.left(), Ambient::current()))
            });
            call.await.unwrap()
        })
    };
    assert_eq!(left(Ambient::default()).await.0, Duration::from_secs(5));
    let (within, inner) = left(Ambient::default().narrowed(dependency.now().after(ms(700)))).await;
    assert_eq!(within, ms(700));
    assert_eq!(inner.outer, Some(Outer { attempt: 1 }));
    assert_eq!(Ambient::current(), Ambient::default());
}

#[tokio::test(start_paused = true)]
async fn three_layers_of_four_tries_stay_four_calls() {
    let layers: Vec<_> = (0..3)
        .map(|_| with(|policy| policy.retry.attempts_max = 4))
        .collect();
    let calls = Arc::new(AtomicU32::new(0));
    let [gateway, api, service] = layers.as_slice() else {
        panic!()
    };
    let result: Result<u8, _> = gateway
        .call(&READ, |_| {
            let calls = Arc::clone(&calls);
            async move {
                api.call(&READ, |_| {
                    let calls = Arc::clone(&calls);
                    async move {
                        service
                            .call(&READ, |_| {
                                calls.fetch_add(1, Ordering::SeqCst);
                                ready(Err::<u8, _>(Meaning::TRANSIENT))
                            })
                            .await
                    }
                })
                .await
            }
        })
        .await;
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    let inner = result
        .unwrap_err()
        .into_last()
        .and_then(CallError::into_last)
        .unwrap();
    assert_eq!(inner.suppressed(), Some(Suppressed::Owner));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_of_a_layer_above_is_counted() {
    let dependency = with(|_| {});
    let heard = events(&dependency);
    let above = Ambient::new(None, Some(Outer { attempt: 3 }));
    let (_, sends) = above
        .scope(scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)]))
        .await;
    assert_eq!(sends, 1);
    assert_eq!(
        heard.lock().unwrap().first(),
        Some(&Event::Amplified { attempt: 3 })
    );
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_budget_gives_the_last_error_and_says_so() {
    let dependency = with(|policy| {
        policy.budget.enabled = true;
        policy.budget.reserve_per_second = 0.0;
    });
    let (result, sends) = scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)]).await;
    let error = result.unwrap_err();
    assert_eq!(
        (sends, error.suppressed(), error.last()),
        (1, Some(Suppressed::Budget), Some(&Meaning::TRANSIENT))
    );
    for _ in 0..10 {
        scripted(&dependency, &READ, &[Ok(1)]).await.0.unwrap();
    }
    assert_eq!(
        scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)])
            .await
            .1,
        2,
        "ten successes pay for one"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_that_goes_away_in_its_backoff_gives_its_draw_back() {
    let dependency = with(|policy| {
        policy.budget.enabled = true;
        policy.budget.reserve_per_second = 0.0;
        policy.retry.backoff =
            BackoffOptions::exponential(Duration::from_secs(2), Duration::from_secs(2));
    });
    for _ in 0..10 {
        scripted(&dependency, &READ, &[Ok(1)]).await.0.unwrap();
    }
    assert_eq!(dependency.status().budget_left, 1);
    let call = scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)]);
    tokio::select! {
        biased;
        _ = call => panic!("it waits"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(dependency.status().budget_left, 1);
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_turns_calls_away_and_does_not_mask_the_error_of_a_retry() {
    let dependency = with(|policy| policy.breaker.consecutive_failures = 2);
    let (result, sends) = scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)]).await;
    let error = result.unwrap_err();
    assert_eq!(
        (sends, error.kind(), error.suppressed()),
        (2, Kind::Failed, Some(Suppressed::Guard))
    );
    let (result, sends) = scripted(&dependency, &READ, &[Ok(1)]).await;
    let error = result.unwrap_err();
    assert_eq!(
        (sends, error.kind(), error.certainty()),
        (
            0,
            Kind::Rejected(Rejection::BreakerOpen),
            Certainty::NotSent
        )
    );
    assert!(
        error
            .retry_after()
            .is_some_and(|after| after > Duration::from_secs(4))
    );
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(scripted(&dependency, &READ, &[Ok(1)]).await.0.unwrap(), 1);
    assert_eq!(dependency.status().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn callers_that_go_away_say_nothing_about_the_dependency() {
    let dependency = with(|policy| policy.breaker.consecutive_failures = 1);
    for _ in 0..1000 {
        let call = dependency.call(&READ, |_| pending::<Answer>());
        let mut call = Box::pin(call);
        assert!(crate::testing::pending_once(call.as_mut()));
        assert_eq!(dependency.status().out, 1);
    }
    let status = dependency.status();
    assert_eq!(
        (status.window.total, status.out, status.breaker),
        (0, 0, BreakerState::Closed)
    );
}

#[tokio::test(start_paused = true)]
async fn our_own_time_out_counts_against_the_dependency_and_a_tight_deadline_does_not() {
    let dependency = with(|policy| policy.retry.attempts_max = 1);
    let hang = |within| {
        let meta = Meta {
            within: Some(within),
            ..READ
        };
        let dependency = dependency.clone();
        async move {
            dependency
                .call(&meta, |_| pending::<Answer>())
                .await
                .unwrap_err()
                .kind()
        }
    };
    assert_eq!(
        hang(Duration::from_secs(10)).await,
        Kind::TimedOut(TimeoutKind::Attempt)
    );
    assert_eq!(dependency.status().window.failed, 1);
    assert_eq!(hang(ms(1_000)).await, Kind::TimedOut(TimeoutKind::Deadline));
    assert_eq!(dependency.status().window.failed, 1);
    assert_eq!(hang(ms(2_000)).await, Kind::TimedOut(TimeoutKind::Deadline));
    assert_eq!(
        dependency.status().window.failed,
        2,
        "long enough to be fair"
    );
}

#[tokio::test(start_paused = true)]
async fn our_own_full_bulkhead_is_no_failure_of_a_probe() {
    let dependency = with(|policy| {
        policy.breaker.consecutive_failures = 1;
        policy.retry.attempts_max = 1;
        policy.bulkhead.limit = 1;
        policy.bulkhead.queue_max = 0;
    });
    let mut hung = Box::pin(dependency.call(&READ, |_| pending::<Answer>()));
    assert!(crate::testing::pending_once(hung.as_mut()));
    // The one seat is taken by a call that was admitted before the breaker opened.
    dependency
        .0
        .breaker
        .admit(&dependency.policy().breaker, dependency.now(), || {
            surefoot_core::time::Roll(0)
        })
        .unwrap()
        .0
        .settle(
            &dependency.policy().breaker,
            crate::breaker::Evidence::Failed,
            dependency.now(),
            || surefoot_core::time::Roll(0),
        );
    tokio::time::advance(Duration::from_secs(6)).await;
    let (result, _) = scripted(&dependency, &READ, &[Ok(1)]).await;
    assert_eq!(
        result.unwrap_err().kind(),
        Kind::Rejected(Rejection::BulkheadFull)
    );
    let status = dependency.status();
    assert_eq!(
        (status.breaker, status.probes_out),
        (BreakerState::HalfOpen, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_a_call_of_the_same_dependency_passes_its_breaker_once() {
    let dependency = with(|policy| policy.breaker.consecutive_failures = 1);
    scripted(&dependency, &PAY, &[Err(Meaning::TRANSIENT)])
        .await
        .0
        .unwrap_err();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let inner = &dependency;
    let result = dependency
        .call(&PAY, |_| async move {
            inner.call(&PAY, |_| ready(Ok::<u8, Meaning>(1))).await
        })
        .await;
    assert_eq!(result.unwrap(), 1);
    assert_eq!(dependency.status().breaker, BreakerState::Closed);
}

#[tokio::test(start_paused = true)]
async fn retry_after_closes_the_gate_for_all_and_beyond_the_deadline_fails_at_once() {
    let dependency = with(|_| {});
    let long = Meaning::THROTTLED.retry_after(Some(Duration::from_secs(60)));
    let started = Instant::now();
    let (result, sends) = scripted(&dependency, &READ, &[Err(long)]).await;
    let error = result.unwrap_err();
    assert_eq!(
        (sends, error.suppressed()),
        (1, Some(Suppressed::RetryAfterExceedsDeadline))
    );
    assert_eq!(
        (error.retry_after(), started.elapsed()),
        (Some(Duration::from_secs(60)), Duration::ZERO)
    );
    let (result, sends) = scripted(&dependency, &READ, &[Ok(1)]).await;
    let error = result.unwrap_err();
    assert_eq!(
        (sends, error.kind()),
        (0, Kind::Rejected(Rejection::GateClosed))
    );
    assert_eq!(error.retry_after(), Some(Duration::from_secs(60)));
    assert_eq!(
        dependency.status().window.failed,
        0,
        "throttling is no failure"
    );
    dependency.open_gate();
    let short = Meaning::THROTTLED.retry_after(Some(Duration::from_secs(2)));
    let (result, sends) = scripted(&dependency, &READ, &[Err(short), Ok(1)]).await;
    assert_eq!((result.unwrap(), sends), (1, 2));
    assert!(
        (2_000..=2_600).contains(&started.elapsed().as_millis()),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_ask_and_force_anything() {
    let dependency = with(|policy| policy.breaker.consecutive_failures = 1);
    let heard = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&heard);
    dependency.listen(move |dependency: &Dependency, event: &Event| {
        count.fetch_add(1, Ordering::SeqCst);
        assert!(!dependency.name().is_empty());
        let _ = (dependency.status(), dependency.policy());
        if matches!(event, Event::Breaker(_)) {
            dependency.force(Force::Open);
            dependency.force(Force::Close);
        }
        if count.load(Ordering::SeqCst) < 5 {
            dependency
                .reconfigure(Policy::clone(&dependency.policy()))
                .unwrap();
        }
    });
    scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT)])
        .await
        .0
        .unwrap_err();
    assert!(heard.load(Ordering::SeqCst) > 5);
}

#[tokio::test(start_paused = true)]
async fn detached_work_keeps_its_seat_until_it_ends() {
    let dependency = with(|policy| {
        policy.bulkhead.limit = 1;
        policy.bulkhead.queue_max = 0;
        policy.retry.attempts_max = 1;
    });
    let kept = Mutex::new(None);
    let result = dependency
        .call(&READ, |attempt| {
            *kept.lock().unwrap() = Some(attempt.hold());
            pending::<Answer>()
        })
        .await;
    assert_eq!(
        result.unwrap_err().kind(),
        Kind::TimedOut(TimeoutKind::Attempt)
    );
    assert_eq!(
        (dependency.status().out, dependency.status().detached),
        (1, 1)
    );
    assert_eq!(
        scripted(&dependency, &READ, &[Ok(1)]).await.1,
        0,
        "the work still runs"
    );
    kept.lock().unwrap().take();
    assert_eq!(scripted(&dependency, &READ, &[Ok(1)]).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn what_matters_least_is_shed_first() {
    let dependency = with(|policy| policy.bulkhead.limit = 10);
    let mut busy: Vec<_> = (0..8)
        .map(|_| Box::pin(dependency.call(&READ, |_| pending::<Answer>())))
        .collect();
    for call in &mut busy {
        assert!(crate::testing::pending_once(call.as_mut()));
    }
    for (criticality, kind) in [
        (Criticality::Optional, Some(Kind::Rejected(Rejection::Shed))),
        (Criticality::Degradable, None),
        (Criticality::Critical, None),
    ] {
        let meta = Meta {
            criticality,
            ..READ
        };
        let (result, _) = scripted(&dependency, &meta, &[Ok(1)]).await;
        assert_eq!(result.err().map(|error| error.kind()), kind);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_makes_calls_wait_their_turn_or_go() {
    let dependency = with(|policy| {
        policy.rate = toml::from_str("calls = 10\nper = \"1s\"\nwait_max = \"150ms\"").unwrap();
    });
    let started = Instant::now();
    let call = || scripted(&dependency, &READ, &[Ok(1)]);
    let (one, two, three) = tokio::join!(call(), call(), call());
    assert_eq!((one.0.unwrap(), two.0.unwrap()), (1, 1));
    assert_eq!(three.0.unwrap_err().retry_after(), Some(ms(200)));
    assert_eq!(started.elapsed().as_millis(), 100);
}

#[tokio::test(start_paused = true)]
async fn a_slow_call_that_may_be_repeated_gets_a_second_copy_and_another_does_not() {
    for (meta, took, sends) in [
        (READ, 60, 2),
        (PAY, 1_000, 1),
        (Meta { once: true, ..READ }, 1_000, 1),
    ] {
        let dependency = with(|policy| policy.hedge = toml::from_str("after = \"50ms\"").unwrap());
        let (started, count) = (Instant::now(), AtomicU32::new(0));
        let result = dependency
            .call(&meta, |attempt| {
                count.fetch_add(1, Ordering::SeqCst);
                async move {
                    tokio::time::sleep(ms(if attempt.is_hedge() { 10 } else { 1_000 })).await;
                    Ok::<_, Meaning>(attempt.number())
                }
            })
            .await;
        assert_eq!((result.unwrap(), count.into_inner()), (sends, sends));
        assert_eq!(started.elapsed(), ms(took));
        assert_eq!(dependency.status().out, 0, "the loser is gone at once");
    }
}

#[tokio::test(start_paused = true)]
async fn second_copies_draw_on_the_same_budget() {
    let dependency = with(|policy| {
        policy.budget.enabled = true;
        policy.hedge = toml::from_str("after = \"50ms\"\npercentile = 50.0").unwrap();
    });
    let sends = AtomicU32::new(0);
    for n in 0..200 {
        let call = dependency.call(&READ, |_| {
            sends.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::time::sleep(ms(if n % 5 < 3 { 10 } else { 250 })).await;
                Ok::<_, Meaning>(())
            }
        });
        call.await.unwrap();
    }
    let extra = sends.into_inner() - 200;
    assert!(
        (15..=24).contains(&extra),
        "{extra} of 80 slow calls: a tenth of all, and the reserve of 21 s"
    );
}

#[tokio::test(start_paused = true)]
async fn injected_faults_go_through_the_whole_stack() {
    for (fault, kind, certainty) in [
        (
            "errors = 1.0",
            Kind::Injected(crate::fault::Injected::Error),
            Certainty::Rejected,
        ),
        (
            "resets = 1.0",
            Kind::Injected(crate::fault::Injected::Reset),
            Certainty::MaybeApplied,
        ),
        (
            "hangs = 1.0",
            Kind::TimedOut(TimeoutKind::Attempt),
            Certainty::MaybeApplied,
        ),
    ] {
        let dependency = with(|policy| policy.fault = toml::from_str(fault).unwrap());
        let (result, sends) = scripted(&dependency, &PAY, &[Ok(1)]).await;
        let error = result.unwrap_err();
        assert_eq!(
            (error.kind(), error.certainty(), sends),
            (kind, certainty, 0)
        );
        assert!(dependency.status().window.failed > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_counts_for_new_calls_and_keeps_what_is_out() {
    let dependency = with(|_| {});
    for _ in 0..5 {
        scripted(&dependency, &PAY, &[Err(Meaning::TRANSIENT)])
            .await
            .0
            .unwrap_err();
    }
    let mut out = Box::pin(dependency.call(&READ, |_| pending::<Answer>()));
    assert!(crate::testing::pending_once(out.as_mut()));
    let mut new = policy();
    new.bulkhead.limit = 1;
    new.breaker.window = Duration::from_secs(30);
    dependency.reconfigure(new).unwrap();
    let status = dependency.status();
    assert_eq!(
        (
            status.window.failed,
            status.out,
            status.limit,
            status.generation
        ),
        (5, 1, 1, 0)
    );
    let mut wrong = policy();
    wrong.bulkhead.limit = 0;
    assert!(dependency.reconfigure(wrong).is_err());
    assert_eq!(dependency.policy().bulkhead.limit, 1);
    drop(out);
    assert_eq!(dependency.status().out, 0);
}

#[test]
fn a_call_can_move_between_threads_and_live_anywhere() {
    fn sendable<T: Send>(_: &T) {}
    let dependency = with(|policy| policy.hedge = toml::from_str("after = \"50ms\"").unwrap());
    sendable(&dependency.call(&READ, |_| ready(Ok::<u8, Meaning>(1))));
}

#[test]
fn a_call_is_small() {
    let dependency = with(|_| {});
    let call = dependency.call(&READ, |_| ready(Ok::<u8, Meaning>(1)));
    let size = std::mem::size_of_val(&call);
    assert!(size <= 1_280, "{size} bytes");
}

#[test]
fn a_call_that_is_done_holds_nothing_even_while_its_value_is_kept() {
    let dependency = with(|_| {});
    let mut done = Box::pin(dependency.call(&READ, |_| ready(Ok::<u8, Meaning>(1))));
    assert!(!crate::testing::pending_once(done.as_mut()));
    assert_eq!(dependency.status().out, 0);
    drop(done);
    assert_eq!(dependency.status().out, 0);
}

#[test]
fn each_draw_of_each_dependency_is_another() {
    let draws: std::collections::BTreeSet<u64> = (0..1000).map(|_| with(|_| {}).roll().0).collect();
    assert_eq!(draws.len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn one_success_is_one_deposit_however_many_sends_it_took() {
    let dependency = with(|policy| {
        policy.budget.enabled = true;
        policy.budget.ratio = 1.0;
        policy.budget.reserve_per_second = 1.0;
    });
    scripted(&dependency, &READ, &[Err(Meaning::TRANSIENT), Ok(1)])
        .await
        .0
        .unwrap();
    assert_eq!(dependency.status().budget_left, 1);
}

#[tokio::test(start_paused = true)]
async fn a_second_copy_that_fails_fast_does_not_end_the_first() {
    let dependency = with(|policy| {
        policy.hedge = toml::from_str("after = \"50ms\"").unwrap();
        policy.retry.attempts_max = 1;
    });
    let result = dependency
        .call(&READ, |attempt| async move {
            if attempt.is_hedge() {
                return Err(Meaning::TRANSIENT);
            }
            tokio::time::sleep(ms(200)).await;
            Ok(attempt.number())
        })
        .await;
    assert_eq!(result.unwrap(), 1);
    let both: Result<u32, _> = dependency
        .call(&READ, |_| async {
            tokio::time::sleep(ms(200)).await;
            Err(Meaning::TRANSIENT)
        })
        .await;
    let error = both.unwrap_err();
    let numbers: Vec<u32> = error
        .attempts()
        .iter()
        .map(|attempt| attempt.number)
        .collect();
    assert_eq!(numbers, [2, 1], "both are told, each under its own number");
}

#[tokio::test(start_paused = true)]
async fn latencies_are_kept_only_where_somebody_asks_for_them() {
    for hedges in [false, true] {
        let dependency = with(|policy| {
            policy.hedge = hedges.then(|| toml::from_str("after = \"50ms\"").unwrap())
        });
        for _ in 0..50 {
            scripted(&dependency, &READ, &[Ok(1)]).await.0.unwrap();
        }
        assert_eq!(dependency.0.latency.percentile(50.0).is_some(), hedges);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_finds_itself_starts_low_and_moves_the_bulkhead() {
    let dependency = with(|policy| policy.adaptive = toml::from_str("limit_min = 4").unwrap());
    assert_eq!(dependency.status().limit, 4);
    let heard = events(&dependency);
    for _ in 0..100 {
        let call = || {
            dependency.call(&READ, |_| async {
                tokio::time::sleep(ms(10)).await;
                Ok::<_, Meaning>(())
            })
        };
        let (one, two, three, four) = tokio::join!(call(), call(), call(), call());
        assert!(one.is_ok() && two.is_ok() && three.is_ok() && four.is_ok());
    }
    assert!(dependency.status().limit > 4, "{:?}", dependency.status());
    assert!(
        heard
            .lock()
            .unwrap()
            .iter()
            .any(|event| matches!(event, Event::LimitMoved { .. }))
    );
    let mut fixed = policy();
    fixed.bulkhead.limit = 33;
    dependency.reconfigure(fixed).unwrap();
    assert_eq!(dependency.status().limit, 33);
}

//! Each row: what the job was, what the attempt reported, what follows.

use std::time::Duration;

use super::*;
use crate::backoff::{Backoff, Jitter};
use crate::id::{Kind, Queue, Tenant, Worker};
use crate::job::{Job, Run};
use crate::policy::Recovery;

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn policy() -> JobPolicy {
    JobPolicy {
        attempts_max: 3,
        backoff: Backoff::List {
            delays: [10, 30, 120].map(Duration::from_secs).to_vec(),
            jitter: Jitter::None,
        },
        ..JobPolicy::default()
    }
}

fn job(recovery: Option<Recovery>, counts: Counts) -> LeasedJob {
    Job {
        id: JobId::new(NOW, [1; 10]),
        tenant: Tenant::single(),
        kind: Kind::new("refund").unwrap(),
        key: None,
        queue: Queue::standard(),
        priority: 0,
        order_key: None,
        concurrency_key: None,
        payload: Payload::null(),
        revision: 0,
        generation: 1,
        trace: None,
        enqueued_at: NOW,
        deadline_at: None,
        counts,
        state: Run {
            epoch: Epoch(7),
            worker: Worker::new("w1").unwrap(),
            started_at: NOW,
            lease_until: NOW.after(Duration::from_secs(40)),
            recovery,
            cancel_requested: false,
        },
    }
}

fn failed(n: u32) -> Counts {
    Counts {
        starts: n + 1,
        failed: n,
        ..Counts::default()
    }
}

/// The settlement in one line: outcome, next state with its datum, counts as failed/crashed/deferred.
fn line(job: &LeasedJob, report: Report) -> String {
    let settlement = settle(job, &[], report, &policy(), NOW, Roll(0));
    let counts = settlement.counts;
    let next = match settlement.next {
        Next::Pending { due_at } => format!("pending +{:?}", due_at.since(NOW)),
        Next::Retrying { due_at, .. } => format!("retrying +{:?}", due_at.since(NOW)),
        Next::Verifying { due_at, .. } => format!("verifying +{:?}", due_at.since(NOW)),
        Next::Succeeded { .. } => "succeeded".to_owned(),
        Next::Dead(death) => format!("dead {}", death.reason.as_str()),
        Next::Cancelled { .. } => "cancelled".to_owned(),
    };
    format!(
        "{} {next} {}/{}/{}",
        settlement.outcome.as_str(),
        counts.failed,
        counts.crashed,
        counts.deferred
    )
}

#[test]
fn what_follows_from_each_report() {
    use Recovery::{AtMostOnce, Repeatable, SameKey};
    let transient = || Report::Failed(Failure::transient("x"));
    let unknown = || Report::Failed(Failure::unknown("x"));
    let crashed = Counts {
        crashed: 2,
        ..failed(0)
    };
    let after_unknown = Counts {
        unknown: 1,
        ..failed(2)
    };
    let secs = Duration::from_secs;
    let cases = [
        (
            None,
            failed(0),
            Report::Succeeded(Payload::null()),
            "succeeded succeeded 0/0/0",
        ),
        (
            None,
            failed(0),
            transient(),
            "transient retrying +10s 1/0/0",
        ),
        (
            None,
            failed(1),
            transient(),
            "transient retrying +30s 2/0/0",
        ),
        (
            None,
            failed(2),
            transient(),
            "transient dead exhausted 3/0/0",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            transient(),
            "transient retrying +10s 1/0/0",
        ),
        (
            None,
            failed(0),
            Report::Failed(Failure::permanent("x")),
            "permanent dead permanent 1/0/0",
        ),
        (
            None,
            failed(0),
            Report::Failed(Failure::retry_after(secs(37), "x")),
            "transient retrying +37s 1/0/0",
        ),
        (
            None,
            failed(2),
            Report::Failed(Failure::rate_limited(secs(37), "x")),
            "released retrying +37s 2/0/1",
        ),
        (
            None,
            failed(0),
            Report::Failed(Failure::rate_limited(secs(0), "x")),
            "released retrying +1s 0/0/1",
        ),
        (
            None,
            failed(0),
            Report::Failed(Failure::cancelled("x")),
            "cancelled cancelled 0/0/0",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            Report::Failed(Failure::cancelled("x")),
            "cancelled dead outcome_unknown 0/0/0",
        ),
        (
            None,
            failed(0),
            unknown(),
            "unknown dead outcome_unknown 1/0/0",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            unknown(),
            "unknown dead outcome_unknown 1/0/0",
        ),
        (
            Some(SameKey),
            failed(0),
            unknown(),
            "unknown retrying +10s 1/0/0",
        ),
        (
            Some(SameKey),
            failed(2),
            unknown(),
            "unknown dead outcome_unknown 3/0/0",
        ),
        (
            Some(SameKey),
            after_unknown,
            transient(),
            "transient dead outcome_unknown 3/0/0",
        ),
        (
            Some(SameKey),
            after_unknown,
            Report::Failed(Failure::permanent("x")),
            "permanent dead outcome_unknown 3/0/0",
        ),
        (
            Some(SameKey),
            failed(1),
            Report::Interrupted("drain".into()),
            "released pending +0ns 1/0/1",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            Report::Interrupted("drain".into()),
            "unknown dead outcome_unknown 0/0/0",
        ),
        (
            Some(Repeatable),
            failed(2),
            unknown(),
            "unknown dead exhausted 3/0/0",
        ),
        (
            None,
            failed(0),
            Report::TimedOut(TimeoutKind::Job),
            "timed_out retrying +10s 1/0/0",
        ),
        (
            None,
            failed(2),
            Report::TimedOut(TimeoutKind::Job),
            "timed_out dead exhausted 3/0/0",
        ),
        (
            Some(SameKey),
            failed(2),
            Report::TimedOut(TimeoutKind::Job),
            "timed_out dead outcome_unknown 3/0/0",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            Report::TimedOut(TimeoutKind::Job),
            "timed_out dead outcome_unknown 1/0/0",
        ),
        (
            None,
            failed(0),
            Report::TimedOut(TimeoutKind::Deadline),
            "timed_out dead deadline 1/0/0",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            Report::TimedOut(TimeoutKind::Deadline),
            "timed_out dead outcome_unknown 1/0/0",
        ),
        (
            None,
            failed(1),
            Report::Released("drain".into()),
            "released pending +0ns 1/0/1",
        ),
        (None, failed(0), Report::Lost, "lost retrying +10s 0/1/0"),
        (
            Some(SameKey),
            failed(2),
            Report::Lost,
            "lost retrying +10s 2/1/0",
        ),
        (
            Some(AtMostOnce),
            failed(0),
            Report::Lost,
            "lost dead outcome_unknown 0/1/0",
        ),
        (None, crashed, Report::Lost, "lost dead crash_loop 0/3/0"),
    ];
    for (recovery, counts, report, expected) in cases {
        assert_eq!(
            line(&job(recovery, counts), report.clone()),
            expected,
            "{recovery:?} {counts:?} {report:?}"
        );
    }
}

#[test]
fn a_cancellation_that_was_asked_for_wins_over_a_retry_but_not_over_a_success() {
    let mut asked = job(None, failed(0));
    asked.state.cancel_requested = true;
    assert_eq!(
        line(&asked, Report::Failed(Failure::transient("x"))),
        "transient cancelled 1/0/0"
    );
    assert_eq!(
        line(&asked, Report::Released("drain".into())),
        "released cancelled 0/0/1"
    );
    assert_eq!(line(&asked, Report::Lost), "lost cancelled 0/1/0");
    assert_eq!(
        line(&asked, Report::Succeeded(Payload::null())),
        "succeeded succeeded 0/0/0"
    );
}

#[test]
fn a_retry_that_cannot_start_before_the_deadline_is_dead_at_once() {
    let mut late = job(None, failed(0));
    late.deadline_at = Some(NOW.after(Duration::from_secs(10)));
    assert_eq!(
        line(&late, Report::Failed(Failure::transient("x"))),
        "transient dead deadline 1/0/0"
    );
    late.deadline_at = Some(NOW.after(Duration::from_millis(10_001)));
    assert_eq!(
        line(&late, Report::Failed(Failure::transient("x"))),
        "transient retrying +10s 1/0/0"
    );
    let hour = Failure::retry_after(Duration::from_secs(3600), "x");
    assert_eq!(
        line(&late, Report::Failed(hour)),
        "transient dead deadline 1/0/0"
    );
}

#[test]
fn only_a_lost_lease_is_fenced_by_its_end() {
    let job = job(None, failed(0));
    let lost = settle(&job, &[], Report::Lost, &policy(), NOW, Roll(0));
    assert_eq!(
        lost.fence,
        Fence {
            epoch: Epoch(7),
            lapsed_before: Some(NOW)
        }
    );
    let done = settle(
        &job,
        &[],
        Report::Succeeded(Payload::null()),
        &policy(),
        NOW,
        Roll(0),
    );
    assert_eq!(
        done.fence,
        Fence {
            epoch: Epoch(7),
            lapsed_before: None
        }
    );
}

#[test]
fn what_is_put_off_together_does_not_come_back_together() {
    let job = job(None, failed(0));
    let hundred = Failure::rate_limited(Duration::from_secs(100), "x");
    let due = |failure: &Failure, roll| match settle(
        &job,
        &[],
        Report::Failed(failure.clone()),
        &policy(),
        NOW,
        Roll(roll),
    )
    .next
    {
        Next::Retrying { due_at, .. } => due_at.since(NOW),
        other => panic!("{other:?}"),
    };
    assert_eq!(due(&hundred, 0), Duration::from_secs(100));
    let latest = due(&hundred, u64::MAX);
    assert!(latest > Duration::from_secs(124) && latest <= Duration::from_secs(125));
    assert_eq!(
        due(&Failure::put_off("x"), 0),
        DEFERRAL,
        "nobody named a time"
    );
    let at_once = Failure::rate_limited(Duration::ZERO, "x");
    assert_eq!(due(&at_once, 0), DEFERRAL_MIN);
}

#[test]
fn deferrals_end() {
    let worn = job(
        None,
        Counts {
            deferred: DEFERRALS_MAX - 1,
            ..failed(0)
        },
    );
    let report = Report::Failed(Failure::rate_limited(Duration::from_secs(1), "x"));
    assert_eq!(line(&worn, report), "released dead exhausted 0/0/1000");
}

#[test]
fn what_may_have_happened_is_counted_where_a_second_effect_matters() {
    let cases = [
        (
            Some(Recovery::SameKey),
            Report::Interrupted("drain".into()),
            1,
        ),
        (
            Some(Recovery::AtMostOnce),
            Report::Interrupted("drain".into()),
            1,
        ),
        (Some(Recovery::SameKey), Report::Released("drain".into()), 0),
        (Some(Recovery::SameKey), Report::Lost, 1),
        (
            Some(Recovery::SameKey),
            Report::TimedOut(TimeoutKind::Job),
            1,
        ),
        (
            Some(Recovery::SameKey),
            Report::Failed(Failure::unknown("x")),
            1,
        ),
        (
            Some(Recovery::SameKey),
            Report::Failed(Failure::transient("x")),
            0,
        ),
        (Some(Recovery::Repeatable), Report::Lost, 0),
        (None, Report::Lost, 0),
    ];
    for (recovery, report, expected) in cases {
        let settled = settle(
            &job(recovery, failed(0)),
            &[],
            report.clone(),
            &policy(),
            NOW,
            Roll(0),
        );
        assert_eq!(settled.counts.unknown, expected, "{recovery:?} {report:?}");
    }
    let kind = Kind::new("refund").unwrap();
    assert_eq!(expired(&kind, 0, None, NOW).reason, DeadReason::Deadline);
    assert_eq!(
        expired(&kind, 1, None, NOW).reason,
        DeadReason::OutcomeUnknown
    );
}

#[test]
fn what_may_have_happened_is_not_withdrawn() {
    let counts = Counts {
        unknown: 1,
        ..failed(1)
    };
    let mut asked = job(Some(Recovery::SameKey), counts);
    asked.state.cancel_requested = true;
    let transient = Report::Failed(Failure::transient("x"));
    assert_eq!(
        line(&asked, transient),
        "transient dead outcome_unknown 2/0/0"
    );
}

fn asked_at(seconds: u64) -> Vec<Effect> {
    use crate::effect::{Answer, Begin, Declared, EffectRecovery, EffectTerms, answered, begin};
    let declared = Declared {
        place: 0,
        name: crate::id::EffectName::new("psp.refund").unwrap(),
        dependency: None,
        terms: EffectTerms {
            recovery: EffectRecovery::Verify {
                settles_within: Duration::from_secs(60),
            },
            timeout: Duration::from_secs(10),
        },
        cost: 0,
    };
    let now = NOW.after(Duration::from_secs(seconds));
    let Begin::Send(sent) = begin(None, &declared, &job(None, failed(0)), now, now) else {
        panic!("a first effect is sent");
    };
    vec![answered(
        &sent,
        Answer::MaybeApplied("no answer".into()),
        None,
        now,
    )]
}

#[test]
fn a_handler_that_fails_before_it_asks_is_run_at_its_own_pace_and_not_for_ever() {
    let next = |counts, report| {
        let settled = settle(
            &job(None, counts),
            &asked_at(0),
            report,
            &policy(),
            NOW,
            Roll(0),
        );
        match settled.next {
            Next::Verifying { due_at, .. } => format!("verifying +{:?}", due_at.since(NOW)),
            Next::Dead(death) => death.reason.as_str().to_owned(),
            other => format!("{other:?}"),
        }
    };
    let cases = [
        (0, Report::Failed(Failure::unknown("x")), "verifying +0ns"),
        (0, Report::Failed(Failure::transient("x")), "verifying +10s"),
        (
            0,
            Report::Failed(Failure::rate_limited(Duration::from_secs(40), "x")),
            "verifying +40s",
        ),
        (2, Report::TimedOut(TimeoutKind::Job), "verifying +0ns"),
        (3, Report::StillUnknown("x".into()), "verifying +0ns"),
        (
            3,
            Report::Failed(Failure::permanent("x")),
            "outcome_unknown",
        ),
    ];
    for (failures, report, expected) in cases {
        assert_eq!(
            next(failed(failures), report.clone()),
            expected,
            "{report:?}"
        );
    }
}

#[test]
fn an_unknown_outcome_that_is_sent_again_waits_as_long_as_the_dependency_asked() {
    let failure = Failure {
        retry_after: Some(Duration::from_secs(37)),
        ..Failure::unknown("409")
    };
    assert_eq!(
        line(
            &job(Some(Recovery::SameKey), failed(0)),
            Report::Failed(failure)
        ),
        "unknown retrying +37s 1/0/0"
    );
}

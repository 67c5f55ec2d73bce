//! What one job may cost at worst, as long as no person runs it again.

use std::time::Duration;

use super::KindFacts;
use crate::effect::EffectRecovery;
use crate::policy::JobPolicy;

/// The most that one job may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Calls that may reach the provider, tries inside of an attempt and second copies included.
    pub calls_max: u32,
    /// Questions to the provider on top.
    pub questions_max: u32,
    /// From the first start to the end, without waiting in the queue, without what a provider asks for by Retry-After and
    /// without questions.
    pub time_max: Duration,
}

/// The worst case of a kind.
#[must_use]
pub fn worst(kind: &KindFacts) -> Worst {
    let policy = &kind.policy;
    let tries = kind.call.as_ref().map_or(1, |call| call.sends_max);
    // A lost lease uses up a crash; the last one of them runs nothing any more.
    let crashes = match kind.recovery {
        Some(EffectRecovery::AtMostOnce) => 0,
        Some(
            EffectRecovery::Step
            | EffectRecovery::Verify { .. }
            | EffectRecovery::SameKey { .. }
            | EffectRecovery::Repeatable,
        )
        | None => policy.crashes_max.saturating_sub(1),
    };
    let calls = policy.attempts_max.saturating_add(crashes);
    let asks = kind
        .verify
        .as_ref()
        .map_or(0, |verify| verify.plan.asks_max);
    Worst {
        calls_max: calls.saturating_mul(tries),
        questions_max: calls.saturating_mul(asks),
        time_max: time_max(policy),
    }
}

/// How long a job may go on, counted as [`Worst::time_max`] is: every failure but the last is followed by its longest
/// delay, and so is every crash; the last attempt ends it.
#[must_use]
pub fn time_max(policy: &JobPolicy) -> Duration {
    let each = |count: u32, attempt: Duration| {
        let one = |number| attempt.saturating_add(policy.backoff.longest(number));
        (1..count)
            .map(one)
            .fold(Duration::ZERO, Duration::saturating_add)
    };
    let lost = policy.lease.saturating_add(policy.timeout);
    let time = each(policy.attempts_max, policy.timeout)
        .saturating_add(each(policy.crashes_max, lost))
        .saturating_add(lost);
    policy.deadline.map_or(time, |deadline| {
        time.min(deadline.saturating_add(policy.lease))
    })
}

/// How long after the first call the last one may leave, when every attempt fails.
pub(super) fn horizon(kind: &KindFacts) -> Duration {
    time_max(&kind.policy).saturating_sub(kind.policy.timeout)
}

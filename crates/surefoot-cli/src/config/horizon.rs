//! How long a job can go on at worst. It adds up what a policy says and reads no clock.

use std::time::Duration;

use surefoot_core::policy::JobPolicy;

/// From the first start of a job to its end, without waiting in the queue and without what a service asks for by
/// `Retry-After`: every failure but the last is followed by its longest delay, and so is every crash; the last attempt ends
/// it.
pub(crate) fn time_max(policy: &JobPolicy) -> Duration {
    let each = |count: u32, attempt: Duration| {
        let one = |number| attempt.saturating_add(policy.backoff.longest(number));
        (1..count)
            .map(one)
            .fold(Duration::ZERO, Duration::saturating_add)
    };
    let failures = each(policy.attempts_max, policy.timeout);
    let crashes = each(
        policy.crashes_max,
        policy.lease.saturating_add(policy.timeout),
    );
    let time = failures
        .saturating_add(crashes)
        .saturating_add(policy.lease.saturating_add(policy.timeout));
    policy.deadline.map_or(time, |deadline| {
        time.min(deadline.saturating_add(policy.lease))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use surefoot_core::backoff::{Backoff, Jitter};

    #[test]
    fn the_worst_case_adds_up() {
        let s = Duration::from_secs;
        let policy = JobPolicy {
            attempts_max: 3,
            crashes_max: 2,
            backoff: Backoff::List {
                delays: vec![s(10), s(20)],
                jitter: Jitter::None,
            },
            ..JobPolicy::with_timeout(s(30))
        };
        // 30 + 10 + 30 + 20 for two failures, 40 + 30 + 10 for a crash, 40 + 30 for the last attempt if it is lost.
        assert_eq!(time_max(&policy), s(240));
        let limited = JobPolicy {
            deadline: Some(s(60)),
            ..policy
        };
        assert_eq!(time_max(&limited), s(100));
    }
}

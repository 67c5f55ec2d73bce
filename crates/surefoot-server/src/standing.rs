//! Whether what a job does outside may have happened without anybody knowing. Effects on record say so themselves; where a
//! job has none, its attempts do, taken together: an attempt that failed says nothing about the one before it, and only a
//! success or a person settles what it left open.

use surefoot_core::effect::{Effect, EffectRecovery};
use surefoot_core::job::AttemptOutcome;
use surefoot_core::port::{Action, ActionVerb, JobRecord};
use surefoot_core::time::Timestamp;

/// Whether it may have happened, by the job's effects or else by its attempts.
#[must_use]
pub fn may_have_happened(record: &JobRecord, effects: &[Effect]) -> bool {
    let mut outside = effects
        .iter()
        .filter(|effect| effect.terms.recovery != EffectRecovery::Step)
        .peekable();
    if outside.peek().is_none() {
        return left_open(record);
    }
    // What a person replaced by a new effect is in question no longer.
    outside.any(|effect| effect.is_open() && effect.generation >= record.job.generation)
}

/// Whether an attempt left it open, and the job did not succeed since, nor did a person replay it as a new effect.
fn left_open(record: &JobRecord) -> bool {
    let since = new_effect_at(&record.actions);
    let attempts = record.attempts.iter().rev();
    let mut of_this_effect = attempts.take_while(|attempt| attempt.started_at >= since);
    let latest = of_this_effect.find_map(|attempt| match attempt.outcome? {
        AttemptOutcome::Unknown | AttemptOutcome::TimedOut | AttemptOutcome::Lost => Some(true),
        AttemptOutcome::Succeeded => Some(false),
        AttemptOutcome::Transient
        | AttemptOutcome::Permanent
        | AttemptOutcome::Cancelled
        | AttemptOutcome::Released => None,
    });
    latest.unwrap_or(false)
}

fn new_effect_at(actions: &[Action]) -> Timestamp {
    let mut latest = actions.iter().rev();
    let replay = latest.find(|action| action.verb == ActionVerb::ReplayNew);
    replay.map_or(Timestamp::MIN, |replay| replay.at)
}

#[cfg(test)]
mod tests {
    use surefoot_core::id::{Actor, Epoch, JobId, Kind, Queue, Tenant, Worker};
    use surefoot_core::job::{Attempt, Counts, Job, JobState};
    use surefoot_core::payload::Payload;
    use surefoot_core::port::By;
    use surefoot_core::text::ErrorText;

    use super::*;

    /// A job whose n-th attempt started at second n, and a replay at each of `replays`.
    fn record(outcomes: &[Option<AttemptOutcome>], replays: &[(ActionVerb, i64)]) -> JobRecord {
        let second = |number: i64| Timestamp::from_micros(number * 1_000_000);
        let job = Job {
            id: JobId::new(Timestamp::MIN, [0; 10]),
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
            enqueued_at: Timestamp::MIN,
            deadline_at: None,
            counts: Counts::default(),
            state: JobState::Pending {
                due_at: Timestamp::MIN,
            },
        };
        let attempts = (1_u32..).zip(outcomes).map(|(number, outcome)| Attempt {
            late: None,
            number,
            epoch: Epoch(number.into()),
            worker: Worker::new("w").unwrap(),
            started_at: second(number.into()),
            ended_at: None,
            outcome: *outcome,
            error: None,
        });
        let by = By {
            actor: Actor::new("ann").unwrap(),
            reason: ErrorText::default(),
        };
        let actions = replays.iter().map(|(verb, at)| Action {
            verb: *verb,
            at: second(*at),
            by: by.clone(),
        });
        JobRecord {
            job,
            attempts: attempts.collect(),
            revisions: Vec::new(),
            actions: actions.collect(),
        }
    }

    type Case = (
        &'static [Option<AttemptOutcome>],
        &'static [(ActionVerb, i64)],
        bool,
    );

    #[test]
    fn what_may_have_happened_is_not_forgotten_by_a_later_failure() {
        use ActionVerb::{Replay, ReplayNew};
        use AttemptOutcome::{
            Cancelled, Lost, Permanent, Released, Succeeded, TimedOut, Transient, Unknown,
        };
        let table: [Case; 14] = [
            (&[], &[], false),
            (&[None], &[], false),
            (&[Some(Released)], &[], false),
            (&[Some(Transient), None], &[], false),
            (&[Some(Transient), Some(Permanent)], &[], false),
            (&[Some(Unknown), Some(Released), Some(Released)], &[], true),
            (&[Some(Lost), Some(Transient)], &[], true),
            (&[Some(TimedOut), Some(Permanent)], &[], true),
            (&[Some(Unknown), Some(Cancelled)], &[], true),
            (&[Some(Unknown), Some(Succeeded)], &[], false),
            (&[Some(Unknown), Some(Transient)], &[(Replay, 2)], true),
            (&[Some(Unknown), Some(Transient)], &[(ReplayNew, 2)], false),
            (&[Some(Unknown)], &[(ReplayNew, 2)], false),
            (
                &[Some(Unknown), Some(Lost)],
                &[(ReplayNew, 1), (Replay, 2)],
                true,
            ),
        ];
        for (outcomes, replays, expected) in table {
            assert_eq!(
                may_have_happened(&record(outcomes, replays), &[]),
                expected,
                "{outcomes:?} {replays:?}"
            );
        }
    }
}

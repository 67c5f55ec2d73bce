//! What a job's attempts say about its effect, taken together. An attempt that failed says nothing about the one before
//! it: once a call may have taken effect, only a success or a person settles that.

use surefoot_core::job::AttemptOutcome;
use surefoot_core::port::{Action, ActionVerb, JobRecord};
use surefoot_core::time::Timestamp;

/// The outcome that stands: the latest that left the effect uncertain, unless the job succeeded since or a person
/// replayed it as a new effect; else the last that did something. `None` before any attempt ended.
pub(crate) fn standing_outcome(record: &JobRecord) -> Option<AttemptOutcome> {
    let since = new_effect_at(&record.actions);
    let attempts = record.attempts.iter().rev();
    let of_this_effect = attempts.take_while(|attempt| attempt.started_at >= since);
    let mut last = None;
    for outcome in of_this_effect.filter_map(|attempt| attempt.outcome) {
        match outcome {
            AttemptOutcome::Unknown | AttemptOutcome::TimedOut | AttemptOutcome::Lost => {
                return Some(outcome);
            }
            AttemptOutcome::Succeeded => return last.or(Some(outcome)),
            AttemptOutcome::Transient | AttemptOutcome::Permanent | AttemptOutcome::Cancelled => {
                last = last.or(Some(outcome));
            }
            AttemptOutcome::Released => {}
        }
    }
    last
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
        Option<AttemptOutcome>,
    );

    #[test]
    fn what_may_have_happened_is_not_forgotten_by_a_later_failure() {
        use ActionVerb::{Replay, ReplayNew};
        use AttemptOutcome::{
            Cancelled, Lost, Permanent, Released, Succeeded, TimedOut, Transient, Unknown,
        };
        let table: [Case; 14] = [
            (&[], &[], None),
            (&[None], &[], None),
            (&[Some(Released)], &[], None),
            (&[Some(Transient), None], &[], Some(Transient)),
            (&[Some(Transient), Some(Permanent)], &[], Some(Permanent)),
            (
                &[Some(Unknown), Some(Released), Some(Released)],
                &[],
                Some(Unknown),
            ),
            (&[Some(Lost), Some(Transient)], &[], Some(Lost)),
            (&[Some(TimedOut), Some(Permanent)], &[], Some(TimedOut)),
            (&[Some(Unknown), Some(Cancelled)], &[], Some(Unknown)),
            (&[Some(Unknown), Some(Succeeded)], &[], Some(Succeeded)),
            (
                &[Some(Unknown), Some(Transient)],
                &[(Replay, 2)],
                Some(Unknown),
            ),
            (
                &[Some(Unknown), Some(Transient)],
                &[(ReplayNew, 2)],
                Some(Transient),
            ),
            (&[Some(Unknown)], &[(ReplayNew, 2)], None),
            (
                &[Some(Unknown), Some(Lost)],
                &[(ReplayNew, 1), (Replay, 2)],
                Some(Lost),
            ),
        ];
        for (outcomes, replays, expected) in table {
            assert_eq!(
                standing_outcome(&record(outcomes, replays)),
                expected,
                "{outcomes:?} {replays:?}"
            );
        }
    }
}

//! The invariants of ARCHITECTURE.md, by their names, as questions to a world: some while it runs, all at its end.

use std::collections::BTreeMap;

use surefoot_core::effect::{Effect, EffectRecovery, EffectState};
use surefoot_core::id::{JobId, ProviderKey};
use surefoot_core::job::{DeadReason, JobState, StateName};
use surefoot_core::port::{ActionVerb, JobFilter, JobRecord, Store};
use surefoot_core::time::Timestamp;

use super::handler::{ATTEMPTS_MAX, CRASHES_MAX};
use super::node::Shared;
use super::provider::Entry;

/// The most jobs of a world.
const JOBS_MAX: u32 = 100;

/// Everything on record and everything that the provider knows.
pub(super) struct Seen {
    pub(super) jobs: Vec<(JobRecord, Vec<Effect>)>,
    ledger: BTreeMap<String, Entry>,
}

/// Reads the world; the store in memory answers at once.
pub(super) async fn see(shared: &Shared) -> Seen {
    let store = &shared.store;
    let mut jobs = Vec::new();
    let all = store.jobs(&JobFilter::default(), None, JOBS_MAX).await;
    for job in all.unwrap_or_default() {
        let record = store.job(job.id).await.ok().flatten();
        let effects = store.effects(&[job.id]).await.unwrap_or_default();
        jobs.extend(record.map(|record| (record, effects)));
    }
    jobs.sort_by_key(|(record, _)| record.job.id);
    Seen {
        jobs,
        ledger: shared.provider.ledger(),
    }
}

/// What must hold at any time.
pub(super) fn at_any_time(shared: &Shared, seen: &Seen) {
    for (record, effects) in &seen.jobs {
        if record.job.state.name() == StateName::Dead {
            shared
                .log
                .with(|state| state.ever_dead.insert(record.job.id));
        }
        honest_unknown(shared, seen, record, effects);
    }
    no_double_effect(shared, seen);
}

/// What must hold when all is quiet.
pub(super) fn at_the_end(shared: &Shared, seen: &Seen) {
    at_any_time(shared, seen);
    no_lost_intent(shared, seen);
    one_outcome(shared, seen);
    order_kept(shared, seen);
    for (record, effects) in &seen.jobs {
        every_attempt_logged(shared, record);
        bounded_amplification(shared, seen, record, effects);
    }
}

fn entry<'a>(seen: &'a Seen, effect: &Effect) -> Option<&'a Entry> {
    seen.ledger.get(effect.key().as_str())
}

/// How often each effect of each job took place, over all of its keys.
fn no_double_effect(shared: &Shared, seen: &Seen) {
    let mut applied: BTreeMap<(JobId, u32), usize> = BTreeMap::new();
    for (key, entry) in &seen.ledger {
        if let Some((job, _, place)) = ProviderKey::parse(key) {
            *applied.entry((job, place)).or_default() += entry.applied.len();
        }
    }
    for ((job, place), times) in applied {
        let effects = seen.jobs.iter().find(|(record, _)| record.job.id == job);
        let effect = effects.and_then(|(_, all)| all.iter().find(|effect| effect.place == place));
        let repeatable =
            effect.is_some_and(|effect| effect.terms.recovery == EffectRecovery::Repeatable);
        if times > 1 && !repeatable {
            let what = format_args!("effect {place} of {job} took place {times} times");
            shared.log.breaks("no-double-effect", what);
        }
    }
}

fn no_lost_intent(shared: &Shared, seen: &Seen) {
    let acknowledged = shared.log.with(|state| state.acknowledged.clone());
    for (n, job) in acknowledged {
        if !seen.jobs.iter().any(|(record, _)| record.job.id == job) {
            let what = format_args!("intent {n} was acknowledged as {job}, which is gone");
            shared.log.breaks("no-lost-intent", what);
        }
    }
    for (record, _) in &seen.jobs {
        let state = &record.job.state;
        if !state.name().is_settled() {
            let what = format_args!("{} came to no end: {state:?}", record.job.id);
            shared.log.breaks("no-lost-intent", what);
        }
    }
}

/// A success returns what the provider answered, and no two jobs hold one key.
fn one_outcome(shared: &Shared, seen: &Seen) {
    let mut keys = BTreeMap::new();
    for (record, effects) in &seen.jobs {
        if let Some(key) = &record.job.key
            && let Some(other) = keys.insert(key.clone(), record.job.id)
        {
            let what = format_args!("{key} is {other} and {}", record.job.id);
            shared.log.breaks("one-outcome", what);
        }
        let JobState::Succeeded { result, .. } = &record.job.state else {
            continue;
        };
        let same = effects.iter().any(|effect| {
            matches!(&effect.state, EffectState::Confirmed { result: kept, .. } if kept == result)
        });
        if !same && result.as_str() != "null" {
            let what = format_args!("{} returned {}", record.job.id, result.as_str());
            shared.log.breaks("one-outcome", what);
        }
    }
}

/// What was applied, or still will be, is never shown as not having happened; while it is not shown as confirmed, its job
/// is not shown as failed or withdrawn.
fn honest_unknown(shared: &Shared, seen: &Seen, record: &JobRecord, effects: &[Effect]) {
    let job = record.job.id;
    for effect in effects
        .iter()
        .filter(|effect| effect.terms.recovery.second_call_matters())
    {
        let happens = entry(seen, effect).is_some_and(Entry::happens);
        let applied = entry(seen, effect).is_some_and(|entry| !entry.applied.is_empty());
        let (shown, place) = (effect.state.as_str(), effect.place);
        let (confirmed, honest) = match &effect.state {
            EffectState::Confirmed { .. } => (true, applied),
            EffectState::Rejected { .. } | EffectState::Absent { .. } => (false, !happens),
            EffectState::Intended { .. }
            | EffectState::Unknown { .. }
            | EffectState::NeedsHuman { .. } => (false, true),
        };
        if !honest {
            let what = format_args!("effect {place} of {job} is {shown}; it happens: {happens}");
            shared.log.breaks("honest-unknown", what);
        }
        let job_shown_as_failed = match &record.job.state {
            JobState::Cancelled { .. } => true,
            JobState::Dead(death) => match death.reason {
                DeadReason::Permanent | DeadReason::Exhausted | DeadReason::Deadline => true,
                DeadReason::CrashLoop | DeadReason::OutcomeUnknown => false,
            },
            JobState::Succeeded { .. } => true,
            JobState::Pending { .. }
            | JobState::Running(_)
            | JobState::Retrying { .. }
            | JobState::Verifying { .. }
            | JobState::Ignored { .. } => false,
        };
        if happens && !confirmed && job_shown_as_failed {
            let state = &record.job.state;
            let what = format_args!("{job} is {state:?}; effect {place}, {shown}, happens");
            shared.log.breaks("honest-unknown", what);
        }
    }
}

/// Each handler that began has a record under an epoch of its own, and each attempt that is over says how it ended.
fn every_attempt_logged(shared: &Shared, record: &JobRecord) {
    let job = record.job.id;
    let started = shared.log.with(|state| state.started.clone());
    for (_, epoch) in started.iter().filter(|(of, _)| *of == job) {
        if !record
            .attempts
            .iter()
            .any(|attempt| attempt.epoch == *epoch)
        {
            let what = format_args!("{job} began under {epoch}, which has no record");
            shared.log.breaks("every-attempt-logged", what);
        }
    }
    let epochs = record.attempts.iter().map(|attempt| attempt.epoch);
    if !epochs.is_sorted_by(|earlier, later| earlier < later) {
        let what = format_args!("the epochs of {job} do not rise: {:?}", record.attempts);
        shared.log.breaks("every-attempt-logged", what);
    }
    let running = record.job.state.name() == StateName::Running;
    for attempt in record
        .attempts
        .iter()
        .filter(|attempt| attempt.outcome.is_none())
    {
        if !running {
            let what = format_args!("{job} is over, and attempt {} is not", attempt.number);
            shared.log.breaks("every-attempt-logged", what);
        }
    }
}

/// Under one order key, effects happen in the order of arrival. A dead letter frees its order key; what may be done twice
/// may be done again when its job is over.
fn order_kept(shared: &Shared, seen: &Seen) {
    let (written, ever_dead) = shared
        .log
        .with(|state| (state.written.clone(), state.ever_dead.clone()));
    let mut last: BTreeMap<String, (Timestamp, JobId)> = BTreeMap::new();
    for job in written.iter().filter(|job| !ever_dead.contains(job)) {
        let Some((record, effects)) = seen.jobs.iter().find(|(record, _)| record.job.id == *job)
        else {
            continue;
        };
        if effects
            .iter()
            .any(|effect| effect.terms.recovery == EffectRecovery::Repeatable)
        {
            continue;
        }
        let Some(line) = &record.job.order_key else {
            continue;
        };
        let of_job = |key: &str| ProviderKey::parse(key).is_some_and(|(of, ..)| of == *job);
        let applied = seen.ledger.iter().filter(|(key, _)| of_job(key));
        let times: Vec<Timestamp> = applied
            .flat_map(|(_, entry)| entry.applied.clone())
            .collect();
        let (Some(first), Some(end)) = (times.iter().min(), times.iter().max()) else {
            continue;
        };
        if let Some((before, earlier)) = last.get(line.as_str())
            && first < before
        {
            let what = format_args!("{job} took effect before the last effect of {earlier}");
            shared.log.breaks("order-kept", what);
        }
        last.insert(line.to_string(), (*end, *job));
    }
}

/// Calls stay within attempts and crashes, for each time that somebody let the job run.
fn bounded_amplification(shared: &Shared, seen: &Seen, record: &JobRecord, effects: &[Effect]) {
    let again = record
        .actions
        .iter()
        .filter(|action| matches!(action.verb, ActionVerb::Replay | ActionVerb::ReplayNew));
    let runs = 1 + u64::try_from(again.count()).unwrap_or(u64::MAX);
    let bound = runs * u64::from(ATTEMPTS_MAX + CRASHES_MAX);
    for effect in effects {
        let job = record.job.id;
        let calls: u64 = seen
            .ledger
            .iter()
            .filter(|(key, _)| {
                ProviderKey::parse(key)
                    .is_some_and(|(of, _, place)| of == job && place == effect.place)
            })
            .map(|(_, entry)| entry.calls)
            .sum();
        if calls > bound {
            let what = format_args!("effect {} of {job} was called {calls} times", effect.place);
            shared.log.breaks("bounded-amplification", what);
        }
    }
}

//! The invariants, by the names of ARCHITECTURE.md, as questions to one state.

use surefoot_core::effect::{EffectRecovery, EffectState};
use surefoot_core::job::{DeadReason, JobState};

use super::Protocol;
use super::around::refund;
use super::world::World;

/// A provider never sees the intent applied twice, repeatable effects aside.
pub(super) fn no_double_effect(protocol: &Protocol, world: &World) -> bool {
    protocol.setup.recovery == EffectRecovery::Repeatable || world.provider.applied <= 1
}

/// Nothing written under a lost lease changed anything.
pub(super) fn no_zombie_write(_: &Protocol, world: &World) -> bool {
    !world.memory.zombie_wrote
}

/// A final state never changes, and a success returns the provider's answer.
pub(super) fn one_outcome(_: &Protocol, world: &World) -> bool {
    let honest = match &world.record.job.state {
        JobState::Succeeded { result, .. } => *result == refund(),
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Dead(_)
        | JobState::Cancelled { .. }
        | JobState::Ignored { .. } => true,
    };
    honest && !world.memory.outcome_changed
}

/// What was applied, or still will be, is never shown as not having happened; while it is not shown as confirmed, its job
/// is not shown as failed or withdrawn. What is shown as done was applied.
pub(super) fn honest_unknown(protocol: &Protocol, world: &World) -> bool {
    let matters = protocol.setup.recovery.second_call_matters();
    let happens = world.provider.applies() && matters;
    let applied = world.provider.applied > 0;
    let effect = world.record.effect.as_ref().map(|effect| &effect.state);
    let (confirmed, effect_is_honest) = match effect {
        Some(EffectState::Confirmed { .. }) => (true, applied),
        Some(EffectState::Rejected { .. } | EffectState::Absent { .. }) => (false, !happens),
        Some(
            EffectState::Intended { .. }
            | EffectState::Unknown { .. }
            | EffectState::NeedsHuman { .. },
        )
        | None => (false, true),
    };
    let job_is_honest = match &world.record.job.state {
        JobState::Succeeded { .. } => applied,
        JobState::Cancelled { .. } => confirmed || !happens,
        JobState::Dead(death) => match death.reason {
            DeadReason::Permanent | DeadReason::Exhausted | DeadReason::Deadline => {
                confirmed || !happens
            }
            DeadReason::CrashLoop | DeadReason::OutcomeUnknown => true,
        },
        JobState::Pending { .. }
        | JobState::Running(_)
        | JobState::Retrying { .. }
        | JobState::Verifying { .. }
        | JobState::Ignored { .. } => true,
    };
    effect_is_honest && job_is_honest
}

/// Each claim left a record, and each record of an attempt that is over says how it ended.
pub(super) fn every_attempt_logged(_: &Protocol, world: &World) -> bool {
    let attempts = &world.record.attempts;
    let running = usize::from(matches!(world.record.job.state, JobState::Running(_)));
    let open = attempts
        .iter()
        .filter(|attempt| attempt.outcome.is_none())
        .count();
    world.memory.started == attempts.len() && open == running
}

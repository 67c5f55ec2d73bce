//! Dead letters in groups of the same fault.

use serde::Serialize;
use surefoot_core::port::DeadGroup;
use utoipa::ToSchema;

use super::time::WireTime;
use super::word::ReasonWord;

/// Dead letters, the largest group first.
#[derive(Serialize, ToSchema)]
pub(crate) struct DeadGroups {
    /// At most 500 groups.
    groups: Vec<DeadGroupRecord>,
    /// There may be further groups, none of them larger than these.
    more: bool,
}

/// Dead letters that share a kind, a reason and an error fingerprint.
#[derive(Serialize, ToSchema)]
#[schema(as = DeadGroup)]
struct DeadGroupRecord {
    /// Their kind.
    kind: String,
    /// Their reason.
    reason: ReasonWord,
    /// Their fingerprint: give it to `GET /v1/jobs?state=dead&fingerprint=` to see them.
    fingerprint: String,
    /// The error of the latest of them.
    error: String,
    /// The latest of them: the one to replay first.
    #[schema(format = "uuid")]
    latest: String,
    /// How many there are.
    count: u64,
    /// When the first of them died.
    oldest_at: WireTime,
    /// When the latest of them died.
    latest_at: WireTime,
    /// Whether a replay must say if it is the same effect.
    needs_effect_choice: bool,
}

pub(crate) fn dead_groups(groups: &[DeadGroup], more: bool) -> DeadGroups {
    let record = |group: &DeadGroup| DeadGroupRecord {
        kind: group.kind.to_string(),
        reason: ReasonWord(group.reason),
        fingerprint: group.fingerprint.to_string(),
        error: group.error.to_string(),
        latest: group.latest.to_string(),
        count: group.count,
        oldest_at: group.oldest_at.into(),
        latest_at: group.latest_at.into(),
        needs_effect_choice: group.reason.needs_effect_choice(),
    };
    DeadGroups {
        groups: groups.iter().map(record).collect(),
        more,
    }
}

//! The provider: calls that are on their way to it, and what it applied. It is the judge of no-double-effect, and knows
//! nothing of jobs.

use surefoot_core::time::Timestamp;

use super::setup::{Keeps, TICK, ticks};
use super::worker::Relative;

/// What becomes of a call, settled when it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It takes effect this many ticks after it left.
    Lands(u32),
    /// It is refused before it does anything.
    Refused,
    /// It takes no effect and is never answered.
    Vanishes,
    /// Nothing leaves: no connection.
    NotSent,
}

/// A call on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct OnItsWay {
    lands_at: Timestamp,
    left_at: Timestamp,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Provider {
    coming: Vec<OnItsWay>,
    /// How often the intent was applied.
    pub(super) applied: u8,
    /// Since when the key is kept.
    key_since: Option<Timestamp>,
}

impl Provider {
    /// A call leaves at `now`.
    pub(super) fn call(&mut self, fate: Fate, keeps: Option<Keeps>, now: Timestamp) {
        match fate {
            Fate::Lands(after) => {
                self.coming.push(OnItsWay {
                    lands_at: now.after(ticks(after)),
                    left_at: now,
                });
                self.land(keeps, now);
            }
            Fate::Refused | Fate::Vanishes | Fate::NotSent => {}
        }
    }

    /// What was to take effect by `now` does; answers how much of it had been given up by its caller.
    pub(super) fn land(&mut self, keeps: Option<Keeps>, now: Timestamp) -> u64 {
        let mut late = 0;
        let coming = std::mem::take(&mut self.coming);
        for call in coming {
            if call.lands_at > now {
                self.coming.push(call);
                continue;
            }
            late += u64::from(call.lands_at > call.left_at.after(TICK));
            if !self.knows_key(keeps, now) {
                self.applied = self.applied.saturating_add(1);
                self.key_since = Some(now);
            }
        }
        self.coming.sort();
        late
    }

    fn knows_key(&self, keeps: Option<Keeps>, now: Timestamp) -> bool {
        match (keeps, self.key_since) {
            (None, _) | (_, None) => false,
            (Some(Keeps::Always), Some(_)) => true,
            (Some(Keeps::Ticks(kept)), Some(since)) => now < since.after(ticks(kept)),
        }
    }

    /// Whether the intent was applied or still will be.
    pub(super) fn applies(&self) -> bool {
        self.applied > 0 || !self.coming.is_empty()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.coming.is_empty()
    }

    /// What tells one provider from another, with its times as they matter.
    pub(super) fn print(&self, into: &mut Vec<i64>, relative: &Relative) {
        into.extend([
            i64::from(self.applied),
            relative.key(self.key_since),
            i64::try_from(self.coming.len()).unwrap_or(i64::MAX),
        ]);
        for call in &self.coming {
            into.extend([relative.call(call.lands_at), relative.call(call.left_at)]);
        }
    }
}

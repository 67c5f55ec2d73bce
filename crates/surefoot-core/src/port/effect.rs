//! Keeping what is known of effects.

use crate::effect::Effect;
use crate::id::Epoch;
use crate::time::Timestamp;

/// An effect to write down, as the core made it of the one on record. It applies when it follows on that one: its version
/// is one more, or 1 where nothing is on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectWrite {
    /// What to write.
    pub effect: Effect,
    /// The holder's epoch: the job must run under it. `None` for a witness, who needs no lease.
    pub fence: Option<Epoch>,
    /// Extends the holder's lease to this time at least, so that a call has room in it; a lease is never shortened, and
    /// only a write that applies extends it. Without a fence it is ignored: a witness has no lease.
    pub lease_until: Option<Timestamp>,
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectWritten {
    /// It was written.
    Applied,
    /// It is on record as it stands here: the same call, repeated. Its fence is not asked again.
    Already,
    /// The job does not run under this epoch any more. Nothing was written.
    Stale,
    /// Somebody else wrote first. Nothing was written; this is on record, or nothing is.
    Changed(Option<Box<Effect>>),
    /// There is no such job. Nothing was written.
    NotFound,
}

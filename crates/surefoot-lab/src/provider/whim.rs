//! What becomes of the answer of a call. That the call takes effect is never in question.

use std::time::Duration;

/// What becomes of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whim {
    /// It is sent after this time.
    Answer(Duration),
    /// It is sent when the lab says so.
    Hold,
    /// It is never sent; the connection stays open.
    Silent,
    /// It is never sent; the connection is closed after this time.
    Drop(Duration),
}

impl Whim {
    /// The answer is sent at once.
    pub(crate) const AT_ONCE: Self = Self::Answer(Duration::ZERO);

    /// Whether the caller gets an answer in the end.
    pub(crate) const fn answers(self) -> bool {
        match self {
            Self::Answer(_) | Self::Hold => true,
            Self::Silent | Self::Drop(_) => false,
        }
    }
}

/// What becomes of the answer of the n-th call (from 1) of an intent.
pub(crate) type Manners = Box<dyn Fn(&str, u32) -> Whim + Send + Sync>;

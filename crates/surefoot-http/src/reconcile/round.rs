//! What became of the requests that a reconciler looked at, counted. It counts; it decides nothing.

use surefoot_core::error::StoreError;

/// What one round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Leases that had ended without a word.
    pub lapsed: u64,
    /// Requests that turned out to have happened.
    pub completed: u64,
    /// Requests that turned out not to have happened, and may run.
    pub released: u64,
    /// Requests that are to be asked about again.
    pub open: u64,
    /// Requests that a person has to decide.
    pub needs_human: u64,
    /// Requests that somebody else wrote first.
    pub outrun: u64,
    /// Answers and keys whose time was over.
    pub forgotten: u64,
}

/// What became of one request.
pub(super) enum Became {
    Completed,
    Released,
    Open,
    NeedsHuman,
    Outrun,
}

/// One request after it was looked at.
pub(super) struct Looked {
    /// Whether its lease had ended without a word.
    pub(super) lapsed: bool,
    pub(super) became: Result<Became, StoreError>,
}

impl Round {
    /// What became of the requests that were looked at, with the words for it.
    #[must_use]
    pub const fn outcomes(&self) -> [(&'static str, u64); 6] {
        [
            ("lapsed", self.lapsed),
            ("completed", self.completed),
            ("released", self.released),
            ("open", self.open),
            ("needs_human", self.needs_human),
            ("outrun", self.outrun),
        ]
    }

    /// Counts one request; what could not be written down stays open.
    pub(super) fn count(&mut self, looked: &Looked) {
        self.lapsed += u64::from(looked.lapsed);
        match &looked.became {
            Ok(Became::Completed) => self.completed += 1,
            Ok(Became::Released) => self.released += 1,
            Ok(Became::Open) => self.open += 1,
            Ok(Became::NeedsHuman) => self.needs_human += 1,
            Ok(Became::Outrun) => self.outrun += 1,
            Err(error) => {
                self.open += 1;
                tracing::warn!(
                    error = error as &dyn std::error::Error,
                    "a request stays unknown for now"
                );
            }
        }
    }
}

//! The state of a breaker in 64 bits: 3 of kind, 20 of generation, 41 of what the kind needs. Every transition
//! is one compare-and-exchange of this word, so no two of them can both happen.

use crate::clock::Moment;

/// What the kind of state needs: failures in a row, successes of probes, or the end of the open time.
const LOAD_BITS: u32 = 41;
const LOAD_MAX: u64 = (1 << LOAD_BITS) - 1;
const GENERATION_BITS: u32 = 20;
const GENERATION_MASK: u32 = (1 << GENERATION_BITS) - 1;
/// The end of an open time is kept in units of 2^19 ns, about half a millisecond: 41 bits last 36 years.
const UNIT_BITS: u32 = 19;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Closed,
    Open,
    HalfOpen,
    ForcedOpen,
    Disabled,
    MetricsOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word(pub(super) u64);

impl Word {
    pub(super) fn new(kind: Kind, generation: u32) -> Self {
        let kind = match kind {
            Kind::Closed => 0_u64,
            Kind::Open => 1,
            Kind::HalfOpen => 2,
            Kind::ForcedOpen => 3,
            Kind::Disabled => 4,
            Kind::MetricsOnly => 5,
        };
        Self(kind << 61 | u64::from(generation & GENERATION_MASK) << LOAD_BITS)
    }

    /// The word that follows this one in another state: one generation on, with no load.
    pub(super) fn next(self, kind: Kind) -> Self {
        Self::new(kind, self.generation().wrapping_add(1))
    }

    pub(super) const fn with_load(self, load: u64) -> Self {
        Self((self.0 & !LOAD_MAX) | if load > LOAD_MAX { LOAD_MAX } else { load })
    }

    /// Rounded down, so that an open time is never longer than asked for.
    pub(super) const fn until(self, end: Moment) -> Self {
        self.with_load(end.as_nanos() >> UNIT_BITS)
    }

    pub(super) const fn kind(self) -> Kind {
        match self.0 >> 61 {
            0 => Kind::Closed,
            1 => Kind::Open,
            2 => Kind::HalfOpen,
            3 => Kind::ForcedOpen,
            4 => Kind::Disabled,
            _ => Kind::MetricsOnly,
        }
    }

    pub(super) const fn generation(self) -> u32 {
        (self.0 >> LOAD_BITS) as u32 & GENERATION_MASK
    }

    pub(super) const fn load(self) -> u64 {
        self.0 & LOAD_MAX
    }

    /// The end of the open time.
    pub(super) const fn end(self) -> Moment {
        Moment::from_nanos(self.load() << UNIT_BITS)
    }
}

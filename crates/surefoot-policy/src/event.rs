//! What happens, as one typed stream. A listener is called in the task of the call, with no lock held: it may ask
//! the dependency anything and force any state. It should be quick.

use std::time::Duration;

use crate::breaker::Transition;
use crate::dependency::Dependency;
use crate::error::{AttemptRecord, Rejection};
use crate::fallback::FallbackKind;
use crate::fault::Injected;
use crate::retry::Suppressed;

/// Something that happened to the calls of a dependency.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A call succeeded.
    Succeeded {
        /// How long it took in all.
        took: Duration,
        /// How many sends it took.
        sends: u32,
    },
    /// A call failed.
    Failed {
        /// How long it took in all.
        took: Duration,
        /// How many sends it took.
        sends: u32,
        /// Why no further attempt followed.
        suppressed: Suppressed,
    },
    /// A call was turned away.
    Rejected(Rejection),
    /// An attempt failed.
    AttemptFailed(AttemptRecord),
    /// Another attempt follows after this wait.
    Retrying {
        /// How long it waits.
        wait: Duration,
    },
    /// A second copy of a slow call leaves.
    Hedged,
    /// A second copy would have left, but retries and hedges have used their share.
    HedgeSuppressed,
    /// A layer above repeats this call: it is the so-manieth of its attempts.
    Amplified {
        /// The attempt of the layer above, from 2.
        attempt: u32,
    },
    /// The breaker changed its state, or would have.
    Breaker(Transition),
    /// The dependency asked to be left alone.
    GateClosed {
        /// For how long.
        after: Duration,
    },
    /// A fault was injected.
    FaultInjected(Injected),
    /// The concurrency limit moved.
    LimitMoved {
        /// The limit from here on.
        limit: u32,
    },
    /// The fallback answered.
    FallbackServed(FallbackKind),
    /// The fallback had no answer either.
    FallbackFailed(FallbackKind),
    /// A drill ended.
    Drilled {
        /// Whether the fallback answered.
        engaged: bool,
    },
    /// New options were taken over.
    Reconfigured,
}

/// Hears what happens.
pub trait Listener: Send + Sync + 'static {
    /// Something happened.
    fn on(&self, dependency: &Dependency, event: &Event);
}

impl<F: Fn(&Dependency, &Event) + Send + Sync + 'static> Listener for F {
    fn on(&self, dependency: &Dependency, event: &Event) {
        self(dependency, event);
    }
}

//! Where an attempt writes its effects down, and by which clock, dice and policy it goes: those of a node with its store, or
//! none of them where a handler is called by hand.

use surefoot_core::id::Kind;
use surefoot_core::policy::JobPolicy;
use surefoot_core::port::EffectWrite;
use surefoot_core::time::{Roll, Timestamp};
use tokio::time::Instant;

use super::write::{Written, write};
use crate::client::Client;

/// See the module.
#[derive(Debug)]
pub(super) enum Desk {
    /// In a store.
    Store(Client),
    /// Nowhere.
    Alone {
        base: Timestamp,
        started: Instant,
        policy: Box<JobPolicy>,
    },
}

impl Desk {
    /// One where time begins at `base`.
    pub(super) fn alone(base: Timestamp) -> Self {
        Self::Alone {
            base,
            started: Instant::now(),
            policy: Box::default(),
        }
    }

    pub(super) fn client(&self) -> Option<&Client> {
        match self {
            Self::Store(client) => Some(client),
            Self::Alone { .. } => None,
        }
    }

    pub(super) fn policy(&self, kind: &Kind) -> &JobPolicy {
        match self {
            Self::Store(client) => client.policies().policy(kind),
            Self::Alone { policy, .. } => policy,
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        match self {
            Self::Store(client) => client.now(),
            Self::Alone { base, started, .. } => base.after(started.elapsed()),
        }
    }

    pub(super) fn roll(&self) -> Roll {
        match self {
            Self::Store(client) => client.dice().roll(),
            Self::Alone { .. } => Roll(0),
        }
    }

    /// Writes down until then; where there is no store, it is as good as written.
    pub(super) async fn write(&self, effect: EffectWrite, until: Instant) -> Written {
        match self {
            Self::Store(client) => write(client, effect, until).await,
            Self::Alone { .. } => Written::Done,
        }
    }
}

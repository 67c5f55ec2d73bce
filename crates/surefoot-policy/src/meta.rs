//! What the caller says about one call. Plain data, made per call, nothing of it is kept.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How much depends on a call or a dependency. The order is from what is given up first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Criticality {
    /// Nice to have: given up first.
    Optional,
    /// Can be served in a lesser way.
    Degradable,
    /// Without it there is no service: never shed. The default.
    #[default]
    Critical,
}

impl Criticality {
    /// The word, as in metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Optional => "optional",
            Self::Degradable => "degradable",
            Self::Critical => "critical",
        }
    }
}

/// What the caller says about one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta<'a> {
    /// Doing it twice does no harm. Default false: then, without a key, it is sent again only when it was not
    /// sent or was refused.
    pub idempotent: bool,
    /// The idempotency key that the call carries, the same on every attempt, where the dependency drops a second call under
    /// it. A key that is only sent, or looked up by, does not belong here.
    pub key: Option<&'a str>,
    /// How much depends on it: what is shed first under load.
    pub criticality: Criticality,
    /// The longest it may take in all; the policy's and the caller's own deadline may be nearer.
    pub within: Option<Duration>,
    /// The request can be sent only once, such as a body that is read from a stream.
    pub once: bool,
}

impl<'a> Meta<'a> {
    /// A call that may be repeated freely, such as a read.
    #[must_use]
    pub const fn idempotent() -> Self {
        Self {
            idempotent: true,
            ..Self::once_only()
        }
    }

    /// A call that the dependency recognises by this key.
    #[must_use]
    pub const fn keyed(key: &'a str) -> Self {
        Self {
            key: Some(key),
            ..Self::once_only()
        }
    }

    /// A call that must not take effect twice and that nobody recognises. The default.
    #[must_use]
    pub const fn once_only() -> Self {
        Self {
            idempotent: false,
            key: None,
            criticality: Criticality::Critical,
            within: None,
            once: false,
        }
    }

    /// Whether a second send does no harm when the first may have been applied.
    #[must_use]
    pub const fn is_repeatable(&self) -> bool {
        self.idempotent || self.key.is_some()
    }
}

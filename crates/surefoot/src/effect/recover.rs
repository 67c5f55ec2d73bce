//! What the author of an effect declares for the case that nobody knows whether it happened. There is no default.

use std::future::Future;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use surefoot_core::effect::{EffectRecovery, Verdict, VerifyPlan};
use surefoot_core::failure::Failure;
use surefoot_core::id::ProviderKey;

/// How long one question may take where nothing else is said.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);

type AskFn<'a> = Box<dyn FnMut(ProviderKey) -> BoxFuture<'a, Result<Verdict, Failure>> + Send + 'a>;

/// What an unknown outcome means, made of one of [`Verify`], [`SameKey`], [`AtMostOnce`] and [`Repeatable`].
pub struct Recover<'a> {
    pub(super) recovery: EffectRecovery,
    pub(super) ask: Option<Ask<'a>>,
}

/// How to ask what became of a call.
pub(super) struct Ask<'a> {
    pub(super) plan: VerifyPlan,
    pub(super) timeout: Duration,
    by: AskFn<'a>,
}

impl Ask<'_> {
    /// Asks once, at most for what is `left` of the attempt. A question that fails or takes too long says nothing.
    pub(super) async fn once(&mut self, key: ProviderKey, left: Duration) -> Verdict {
        let timeout = self.timeout.min(left);
        let asked = tokio::time::timeout(timeout, (self.by)(key)).await;
        let silent = |ask_again_in| Verdict::StillUnknown { ask_again_in };
        match asked {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(failure)) => {
                tracing::warn!(error = %failure.text, "a verification failed, so nobody knows yet");
                silent(failure.retry_after)
            }
            Err(_) => {
                tracing::warn!(
                    ?timeout,
                    "a verification took too long, so nobody knows yet"
                );
                silent(None)
            }
        }
    }
}

/// A verification whose `settles_within` is still to be said.
pub struct VerifyBy<F>(F);

/// Ask the provider before anything is sent again.
pub struct Verify<F> {
    by: F,
    settles_within: Duration,
    plan: VerifyPlan,
    timeout: Duration,
}

impl Verify<()> {
    /// Asks by an async function from the effect's key to a [`Verdict`]. It goes through the dependency's own policy. An
    /// error of it, or a time-out, is [`Verdict::StillUnknown`].
    pub const fn by<F, Fut>(by: F) -> VerifyBy<F>
    where
        F: FnMut(ProviderKey) -> Fut,
        Fut: Future<Output = Result<Verdict, Failure>>,
    {
        VerifyBy(by)
    }
}

impl<F> VerifyBy<F> {
    /// How long after a call left it can still take effect, its time-out at least: an earlier "did not happen" proves
    /// nothing and is asked again.
    pub fn settles_within(self, settles_within: Duration) -> Verify<F> {
        Verify {
            by: self.0,
            settles_within,
            plan: VerifyPlan::default(),
            timeout: ASK_TIMEOUT,
        }
    }
}

impl<F> Verify<F> {
    /// How often and how long to ask before a person decides. Default: [`VerifyPlan::default`].
    #[must_use]
    pub fn plan(self, plan: VerifyPlan) -> Self {
        Self { plan, ..self }
    }

    /// How long one question may take. Default 10 s.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl<'a, F, Fut> From<Verify<F>> for Recover<'a>
where
    F: FnMut(ProviderKey) -> Fut + Send + 'a,
    Fut: Future<Output = Result<Verdict, Failure>> + Send + 'a,
{
    fn from(verify: Verify<F>) -> Self {
        let mut by = verify.by;
        Self {
            recovery: EffectRecovery::Verify {
                settles_within: verify.settles_within,
            },
            ask: Some(Ask {
                plan: verify.plan,
                timeout: verify.timeout,
                by: Box::new(move |key| by(key).boxed()),
            }),
        }
    }
}

/// The provider deduplicates by key: send again under the same key, while it still keeps the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SameKey {
    ttl: Option<Duration>,
}

impl SameKey {
    /// The provider keeps a key for this long after it first saw it; after that a person decides.
    #[must_use]
    pub const fn kept_for(ttl: Duration) -> Self {
        Self { ttl: Some(ttl) }
    }

    /// The provider never forgets a key.
    #[must_use]
    pub const fn kept_for_ever() -> Self {
        Self { ttl: None }
    }
}

impl From<SameKey> for Recover<'_> {
    fn from(same_key: SameKey) -> Self {
        Self::silent(EffectRecovery::SameKey { ttl: same_key.ttl })
    }
}

/// Never send again: a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtMostOnce;

impl From<AtMostOnce> for Recover<'_> {
    fn from(_: AtMostOnce) -> Self {
        Self::silent(EffectRecovery::AtMostOnce)
    }
}

/// Doing it twice does no harm: send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeatable;

impl From<Repeatable> for Recover<'_> {
    fn from(_: Repeatable) -> Self {
        Self::silent(EffectRecovery::Repeatable)
    }
}

impl Recover<'_> {
    const fn silent(recovery: EffectRecovery) -> Self {
        Self {
            recovery,
            ask: None,
        }
    }
}

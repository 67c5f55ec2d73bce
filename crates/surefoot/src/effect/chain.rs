//! The chain that declares one effect. It offers a call only after a recovery was chosen.

use std::future::Future;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use surefoot_core::failure::Failure;
use surefoot_core::id::{DependencyName, EffectName, NameError, ProviderKey};
use surefoot_core::payload::{Payload, PayloadError};

use super::recover::Recover;
use super::run::{self, Call};
use crate::cx::Cx;
use crate::job::Outcome;

/// An effect that is being declared; [`recover`](Self::recover) makes it one that can be called.
#[must_use = "an effect does nothing before it is called"]
pub struct EffectDraft<'a> {
    cx: &'a Cx,
    place: u32,
    name: Result<EffectName, NameError>,
    dependency: Option<DependencyName>,
    timeout: Option<Duration>,
    cost: u64,
}

impl<'a> EffectDraft<'a> {
    pub(crate) fn new(cx: &'a Cx, name: &str) -> Self {
        Self {
            cx,
            place: cx.book().next_place(),
            name: EffectName::new(name),
            dependency: None,
            timeout: None,
            cost: 0,
        }
    }

    /// What it calls. Default: nothing that has a name.
    ///
    /// # Errors
    /// A permanent failure for a name that does not fit its bounds.
    pub fn dependency(self, name: &str) -> Result<Self, Failure> {
        let dependency = DependencyName::new(name).map_err(|error| unsound(&error.to_string()))?;
        Ok(Self {
            dependency: Some(dependency),
            ..self
        })
    }

    /// The longest that the call may take, retries inside of it included; it is cut to what is left of the attempt.
    /// Default: what is left of the attempt, within the lease and within what the recovery allows.
    pub fn timeout(self, timeout: Duration) -> Self {
        Self {
            timeout: Some(timeout),
            ..self
        }
    }

    /// What it may cost, in millionths of the account's currency: booked for as long as it may have happened. Default 0.
    pub fn cost(self, micros: u64) -> Self {
        Self {
            cost: micros,
            ..self
        }
    }

    /// What an unknown outcome means: [`Verify`](super::Verify), [`SameKey`](super::SameKey),
    /// [`AtMostOnce`](super::AtMostOnce) or [`Repeatable`](super::Repeatable).
    pub fn recover<'r>(self, recovery: impl Into<Recover<'r>>) -> EffectCall<'a, 'r> {
        EffectCall {
            draft: self,
            recovery: recovery.into(),
        }
    }
}

/// A declared effect.
#[must_use = "an effect does nothing before it is called"]
pub struct EffectCall<'a, 'r> {
    draft: EffectDraft<'a>,
    recovery: Recover<'r>,
}

/// What a provider answered to a call that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The result, kept and returned ever after.
    pub result: Payload,
    /// What it cost in the end, in millionths; `None` is what was declared.
    pub cost: Option<u64>,
}

impl From<Payload> for Applied {
    fn from(result: Payload) -> Self {
        Self { result, cost: None }
    }
}

impl EffectCall<'_, '_> {
    /// Carries it out by an async function from the effect's key to its result, or returns the result that is on record.
    ///
    /// The key is the engine's, the same on every attempt; the provider must be given it. The function must have sent
    /// everything when it ends or is dropped: what it leaves behind in other tasks is not seen.
    ///
    /// # Errors
    /// What the call answered, where it did not happen; a failure of class unknown where nobody knows, and the engine then
    /// decides what follows, whatever the handler makes of it. A result that is no JSON, or too large to keep, leaves the
    /// outcome unknown; a kept result of another type is a permanent failure.
    pub async fn call<T, F, Fut>(self, call: F) -> Outcome<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(ProviderKey) -> Fut + Send,
        Fut: Future<Output = Outcome<T>> + Send,
    {
        self.call_with_cost(|key| async move { Ok((call(key).await?, None)) })
            .await
    }

    /// As [`call`](Self::call); the function says besides what it cost, in millionths.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_with_cost<T, F, Fut>(self, call: F) -> Outcome<T>
    where
        T: Serialize + DeserializeOwned,
        F: FnOnce(ProviderKey) -> Fut + Send,
        Fut: Future<Output = Outcome<(T, Option<u64>)>> + Send,
    {
        let kept = self
            .call_raw(|key| {
                let answer = call(key);
                async move {
                    let (result, cost) = answer.await?;
                    let result = Payload::from_serialize(&result).map_err(|e| unkept(&e))?;
                    Ok(Applied { result, cost })
                }
            })
            .await?;
        kept.decode().map_err(|error| unreadable(&error))
    }

    /// As [`call`](Self::call), result in and out as JSON text.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_raw<F, Fut>(self, call: F) -> Outcome<Payload>
    where
        F: FnOnce(ProviderKey) -> Fut + Send,
        Fut: Future<Output = Outcome<Applied>> + Send,
    {
        let EffectDraft {
            cx,
            place,
            name,
            dependency,
            timeout,
            cost,
        } = self.draft;
        let name = name.map_err(|error| unsound(&error.to_string()))?;
        let declared = Call {
            place,
            name,
            dependency,
            timeout,
            cost,
        };
        run::carry_out(cx, declared, self.recovery, call).await
    }
}

pub(super) fn unsound(what: &str) -> Failure {
    Failure::permanent(format!("the effect is not sound: {what}"))
}

/// It was applied; that its result cannot be kept does not undo it.
fn unkept(error: &PayloadError) -> Failure {
    Failure::unknown(format!(
        "the call was applied, but its result cannot be kept: {error}"
    ))
}

pub(super) fn unreadable(error: &PayloadError) -> Failure {
    let cause = std::error::Error::source(error)
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    Failure::permanent(format!("the kept result cannot be read: {error}{cause}"))
}

//! A provider that does what a test tells it, a ledger of what it applied, and a handler that refunds by it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use surefoot::core::backoff::{Backoff, Jitter};
use surefoot::core::id::{JobId, ProviderKey};
use surefoot::core::job::JobState;
use surefoot::core::policy::JobPolicy;
use surefoot::{
    AtMostOnce, Cx, Engine, Failure, Outcome, Recover, Repeatable, SameKey, Verdict, Verify,
    VerifyPlan,
};

use crate::world::{Notes, Task, World, notes, policy_with_backoff, s};

/// How long a call may take in these tests.
pub(crate) const TIMEOUT: Duration = s(5);
/// How long after a call it can still take effect.
pub(crate) const SETTLES: Duration = s(20);

/// What the provider does with one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Act {
    /// Applies it and answers.
    Answer,
    /// Applies it and answers after so long.
    Slow(Duration),
    /// Refuses it for good after so long.
    Refuse(Duration),
    /// Neither applies it nor answers.
    Silent,
    /// Applies it and does not answer.
    AppliedSilent,
    /// Does not answer, and applies it so long after it came.
    Later(Duration),
    /// Cuts the connection.
    Reset,
    /// Applies it and cuts the connection.
    AppliedReset,
    /// Cannot be reached.
    Unreachable,
    /// Applies it, and the caller panics.
    AppliedPanic,
}

/// See the module. Clones are the same provider.
#[derive(Clone)]
pub(crate) struct Provider {
    acts: Arc<Mutex<VecDeque<Act>>>,
    verdicts: Arc<Mutex<VecDeque<Verdict>>>,
    dedupes: bool,
    /// The keys of what was applied.
    pub(crate) ledger: Arc<Notes<String>>,
    /// The keys of what came in.
    pub(crate) calls: Arc<Notes<String>>,
    /// The keys it was asked about.
    pub(crate) asks: Arc<Notes<String>>,
}

impl Provider {
    /// A provider that does this with its first calls, and answers every further one.
    pub(crate) fn doing(acts: &[Act]) -> Self {
        Self {
            acts: Arc::new(Mutex::new(acts.iter().copied().collect())),
            verdicts: Arc::default(),
            dedupes: false,
            ledger: notes(),
            calls: notes(),
            asks: notes(),
        }
    }

    /// The same, and it applies each key once.
    pub(crate) fn that_dedupes(self) -> Self {
        Self {
            dedupes: true,
            ..self
        }
    }

    /// What it says to its next questions, whatever it knows.
    pub(crate) fn says(&self, verdicts: impl IntoIterator<Item = Verdict>) {
        self.verdicts.lock().unwrap().extend(verdicts);
    }

    fn apply(&self, key: &ProviderKey) {
        let known = self.ledger.all().contains(&key.to_string());
        if !(self.dedupes && known) {
            self.ledger.add(key.to_string());
        }
    }

    /// One call. Its result is the number that it was given.
    pub(crate) async fn refund(self, key: ProviderKey, n: u32) -> Outcome<u32> {
        self.calls.add(key.to_string());
        let act = self.acts.lock().unwrap().pop_front().unwrap_or(Act::Answer);
        match act {
            Act::Answer => {
                self.apply(&key);
                Ok(n)
            }
            Act::Slow(after) => {
                tokio::time::sleep(after).await;
                self.apply(&key);
                Ok(n)
            }
            Act::Refuse(after) => {
                tokio::time::sleep(after).await;
                Err(Failure::http_status(422, "no such payment"))
            }
            Act::Silent => std::future::pending().await,
            Act::AppliedSilent => {
                self.apply(&key);
                std::future::pending().await
            }
            Act::Later(after) => {
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    self.apply(&key);
                });
                std::future::pending().await
            }
            Act::Reset => Err(reset(std::io::ErrorKind::ConnectionReset)),
            Act::AppliedReset => {
                self.apply(&key);
                Err(reset(std::io::ErrorKind::ConnectionReset))
            }
            Act::Unreachable => Err(reset(std::io::ErrorKind::ConnectionRefused)),
            Act::AppliedPanic => {
                self.apply(&key);
                panic!("in the middle of the call")
            }
        }
    }

    /// What it knows of a key.
    pub(crate) async fn find(self, key: ProviderKey) -> Result<Verdict, Failure> {
        self.asks.add(key.to_string());
        let scripted = self.verdicts.lock().unwrap().pop_front();
        Ok(match scripted {
            Some(verdict) => verdict,
            None if self.ledger.all().contains(&key.to_string()) => Verdict::happened(&7)?,
            None => Verdict::DidNotHappen,
        })
    }
}

fn reset(kind: std::io::ErrorKind) -> Failure {
    Failure::from(std::io::Error::new(kind, "the connection broke"))
}

/// A recovery to choose by a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    Verify,
    SameKey(Option<Duration>),
    Once,
    Repeatable,
}

/// All of them.
pub(crate) const ALL: [How; 4] = [How::Verify, How::SameKey(None), How::Once, How::Repeatable];

impl How {
    pub(crate) fn recovery(self, provider: &Provider) -> Recover<'static> {
        let provider = provider.clone();
        match self {
            Self::Verify => Verify::by(move |key| provider.clone().find(key))
                .settles_within(SETTLES)
                .plan(plan())
                .into(),
            Self::SameKey(None) => SameKey::kept_for_ever().into(),
            Self::SameKey(Some(ttl)) => SameKey::kept_for(ttl).into(),
            Self::Once => AtMostOnce.into(),
            Self::Repeatable => Repeatable.into(),
        }
    }
}

/// Asks every 5 s, 6 times at most.
pub(crate) fn plan() -> VerifyPlan {
    VerifyPlan {
        backoff: Backoff::List {
            delays: vec![s(5)],
            jitter: Jitter::None,
        },
        asks_max: 6,
        give_up_after: s(600),
    }
}

/// A handler that carries out one effect.
pub(crate) fn refunding(
    provider: &Provider,
    how: How,
) -> impl Fn(Task, Cx) -> Pin<Box<dyn Future<Output = Outcome<u32>> + Send>>
+ Clone
+ Send
+ Sync
+ 'static {
    let provider = provider.clone();
    move |task, cx| {
        let provider = provider.clone();
        Box::pin(async move { refund(&cx, "psp.refund", task.n, provider, how).await })
    }
}

/// One effect.
pub(crate) async fn refund(
    cx: &Cx,
    name: &str,
    n: u32,
    provider: Provider,
    how: How,
) -> Outcome<u32> {
    let recovery = how.recovery(&provider);
    cx.effect(name)
        .dependency("psp")?
        .timeout(TIMEOUT)
        .cost(100)
        .recover(recovery)
        .call(move |key| provider.refund(key, n))
        .await
}

/// Retries after 10 s, 5 times.
pub(crate) fn policy() -> JobPolicy {
    policy_with_backoff(&[10])
}

/// A node that refunds.
pub(crate) async fn node(world: &World, provider: &Provider, how: How) -> Engine {
    world
        .node()
        .handle(refunding(provider, how), policy())
        .start()
        .await
        .unwrap()
}

/// How a job ended, in one line.
pub(crate) async fn end(world: &World, job: JobId) -> String {
    match world.settled(job).await.job.state {
        JobState::Succeeded { result, .. } => format!("succeeded {}", result.as_str()),
        JobState::Dead(death) => death.reason.as_str().to_owned(),
        JobState::Cancelled { .. } => "cancelled".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The states of a job's effects.
pub(crate) async fn states(world: &World, job: JobId) -> Vec<&'static str> {
    let effects = world.store.effects(&[job]).await.unwrap();
    effects.iter().map(|effect| effect.state.as_str()).collect()
}

//! A dependency with its fallback. The fallback has its own time-out and its own limit, and every answer says
//! where it comes from.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{FallbackKind, FallbackOptions};
use crate::bulkhead::{Bulkhead, BulkheadOptions};
use crate::dependency::{Attempt, Dependency};
use crate::error::CallError;
use crate::event::Event;
use crate::meaning::Meant;
use crate::meta::Meta;

/// An answer and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served<T> {
    /// The answer.
    pub value: T,
    /// Where it comes from.
    pub source: Source,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The dependency, just now.
    Live,
    /// A cache, young enough not to ask.
    Fresh {
        /// How long ago the dependency said so.
        age: Duration,
    },
    /// A cache, because the dependency could not be asked or was being asked.
    Stale {
        /// How long ago the dependency said so.
        age: Duration,
    },
    /// The fallback.
    Fallback,
}

type Computed<T> = Pin<Box<dyn Future<Output = Option<T>> + Send>>;

/// What is served instead.
#[derive(Clone)]
pub enum Fallback<T> {
    /// Always this.
    Value(T),
    /// What this function finds; `None` when it finds nothing.
    Function(Arc<dyn Fn() -> Computed<T> + Send + Sync>),
}

impl<T> Fallback<T> {
    /// A function as fallback.
    pub fn function<F>(find: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<T>> + Send + 'static,
    {
        Self::Function(Arc::new(move || Box::pin(find())))
    }
}

impl<T> fmt::Debug for Fallback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value(_) => "Fallback::Value",
            Self::Function(_) => "Fallback::Function",
        })
    }
}

/// What a drill has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drill {
    /// Whether the fallback answered.
    pub engaged: bool,
    /// How long it took.
    pub took: Duration,
}

/// A dependency with its fallback.
#[derive(Clone, Debug)]
pub struct WithFallback<T> {
    dependency: Dependency,
    fallback: Fallback<T>,
    options: FallbackOptions,
    bulkhead: Bulkhead,
}

impl<T: Clone> WithFallback<T> {
    /// Puts `fallback` behind `dependency`, within the limits of its policy; those of a value or function by
    /// default where the policy names none.
    #[must_use]
    pub fn new(dependency: Dependency, fallback: Fallback<T>) -> Self {
        let kind = match fallback {
            Fallback::Value(_) => FallbackKind::Value,
            Fallback::Function(_) => FallbackKind::Function,
        };
        let options = dependency
            .policy()
            .fallback
            .clone()
            .unwrap_or_else(|| FallbackOptions::of(kind));
        let bulkhead = Bulkhead::new(&BulkheadOptions {
            limit: options.concurrency_max,
            queue_max: 0,
            ..BulkheadOptions::default()
        });
        Self {
            dependency,
            fallback,
            options,
            bulkhead,
        }
    }

    /// The dependency.
    #[must_use]
    pub const fn dependency(&self) -> &Dependency {
        &self.dependency
    }

    /// Calls the dependency, and serves the fallback when that fails.
    ///
    /// # Errors
    /// The dependency's error when the fallback has no answer either.
    pub async fn call<'a, E, F, Fut>(
        &'a self,
        meta: &Meta<'_>,
        f: F,
    ) -> Result<Served<T>, CallError<E>>
    where
        E: Meant,
        F: FnMut(Attempt<'a>) -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        match self.dependency.call(meta, f).await {
            Ok(value) => Ok(Served {
                value,
                source: Source::Live,
            }),
            Err(error) => match self.instead().await {
                Some(value) => {
                    self.dependency
                        .emit(|| Event::FallbackServed(self.options.kind));
                    Ok(Served {
                        value,
                        source: Source::Fallback,
                    })
                }
                None => {
                    self.dependency
                        .emit(|| Event::FallbackFailed(self.options.kind));
                    Err(error)
                }
            },
        }
    }

    /// Proves that the fallback engages: one call for which the dependency is taken to be away. Nothing is
    /// sent, and neither breaker, budget nor window hear of it.
    pub async fn drill(&self) -> Drill {
        let started = self.dependency.now();
        let engaged = self.instead().await.is_some();
        let drill = Drill {
            engaged,
            took: self.dependency.now().since(started),
        };
        self.dependency.emit(|| Event::Drilled { engaged });
        drill
    }

    async fn instead(&self) -> Option<T> {
        match &self.fallback {
            Fallback::Value(value) => Some(value.clone()),
            Fallback::Function(find) => {
                let _seat = self.bulkhead.try_sit()?;
                tokio::time::timeout(self.options.timeout, find())
                    .await
                    .ok()
                    .flatten()
            }
        }
    }
}

//! One request whose outcome nobody knows: asked about, and written down as the core decides. It never runs the request.

use std::sync::Arc;

use surefoot_core::error::StoreError;
use surefoot_core::port::RequestWritten;
use surefoot_core::request::{Request, RequestState, RequestVerdict, asked, lapse};
use surefoot_core::time::{Clock, Roll};
use tokio_util::task::AbortOnDropHandle;

use super::hook::Reconcile;
use super::options::ReconcilerOptions;
use super::round::{Became, Looked};
use crate::guard::BoundedRequests;
use crate::route::Routes;

/// What one question needs.
pub(super) struct Asker {
    pub(super) requests: BoundedRequests,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) hook: Arc<dyn Reconcile>,
    pub(super) options: ReconcilerOptions,
    pub(super) routes: Arc<Routes>,
}

impl Asker {
    /// Its lapse is written down first, so that everybody who asks is told the same.
    pub(super) async fn look(&self, mut request: Request) -> Looked {
        let lapsed = lapse(&request, self.clock.now());
        let has_lapsed = lapsed.is_some();
        if let Some(lapsed) = lapsed {
            let became = match self.requests.write_once(&lapsed).await {
                Ok(RequestWritten::Applied | RequestWritten::Already) => None,
                Ok(RequestWritten::Changed(_)) => Some(Ok(Became::Outrun)),
                Err(error) => Some(Err(error)),
            };
            if let Some(became) = became {
                return Looked {
                    lapsed: false,
                    became,
                };
            }
            request = lapsed;
        }
        Looked {
            lapsed: has_lapsed,
            became: self.ask(&request).await,
        }
    }

    async fn ask(&self, request: &Request) -> Result<Became, StoreError> {
        let asked_at = self.clock.now();
        let verdict = self.verdict(request).await;
        let policy = self.routes.of_operation(&request.operation);
        let plan = policy.asks.as_ref().unwrap_or(&self.options.plan);
        let roll = Roll(fastrand::u64(..));
        let Some(next) = asked(request, verdict, plan, asked_at, self.clock.now(), roll) else {
            return Ok(Became::Outrun);
        };
        match self.requests.write_once(&next).await? {
            RequestWritten::Changed(_) => Ok(Became::Outrun),
            RequestWritten::Applied | RequestWritten::Already => Ok(match next.state {
                RequestState::Finished { .. } | RequestState::Expired { .. } => Became::Completed,
                RequestState::Released { .. } => Became::Released,
                RequestState::Claimed { .. } | RequestState::Unknown { .. } => Became::Open,
                RequestState::NeedsHuman { .. } => Became::NeedsHuman,
            }),
        }
    }

    /// The question is a task of its own: one that panics or blocks its thread is given up like one that takes too long.
    async fn verdict(&self, request: &Request) -> RequestVerdict {
        let (hook, about) = (self.hook.clone(), request.clone());
        let question = tokio::spawn(async move { hook.ask(&about).await });
        let question = AbortOnDropHandle::new(question);
        match tokio::time::timeout(self.options.ask_timeout, question).await {
            Ok(Ok(verdict)) => return verdict,
            Ok(Err(_)) => tracing::error!(
                operation = %request.operation,
                "the question what became of a request broke off"
            ),
            Err(_) => tracing::warn!(
                operation = %request.operation,
                timeout = ?self.options.ask_timeout,
                "the question what became of a request got no answer in time"
            ),
        }
        RequestVerdict::StillUnknown { ask_again_in: None }
    }
}

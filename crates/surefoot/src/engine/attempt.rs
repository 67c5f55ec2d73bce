//! Runs one attempt to its end, whatever its handler does, and has the core decide what follows. It writes nothing: the
//! settlement goes back to the loop that started it.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use surefoot_core::classify::Class;
use surefoot_core::failure::Failure;
use surefoot_core::job::LeasedJob;
use surefoot_core::payload::Payload;
use surefoot_core::policy::Recovery;
use surefoot_core::port::{Extended, Extension};
use surefoot_core::settle::{Report, Settlement, settle};
use surefoot_core::timeouts::{Fired, TimeoutKind, effective_timeout};
use tokio::time::{Instant, sleep, sleep_until};

use super::EngineOptions;
use super::node::Node;
use crate::cx::{CancelCause, Cx};
use crate::handler::Handler;
use crate::running::Running;

/// An attempt that ended.
pub(super) struct Ended {
    pub(super) job: LeasedJob,
    pub(super) running: Arc<Running>,
    /// What follows; `None` when the lease was lost and nothing can be written.
    pub(super) settlement: Option<Settlement>,
}

/// An attempt that is about to run.
pub(super) struct Attempt {
    job: LeasedJob,
    running: Arc<Running>,
    handler: Arc<dyn Handler>,
    ends_at: Instant,
    fires: TimeoutKind,
}

/// How a handler stopped.
enum Stopped {
    Returned(Result<Payload, Failure>),
    Panicked(Box<dyn Any + Send>),
    Dropped,
}

impl Attempt {
    /// Prepares an attempt; its time runs from here.
    pub(super) fn new(node: &Node, job: LeasedJob, handler: Arc<dyn Handler>) -> Self {
        let policy = node.client.policies().policy(&job.kind);
        let deadline_left = job
            .deadline_at
            .map(|deadline| deadline.since(node.client.now()));
        let limit = effective_timeout(policy.timeout, policy.lease, deadline_left);
        let fires = match limit.fired {
            Fired::Timeout(kind) => kind,
            // A sound policy has a lease that is longer than its time-out.
            Fired::Lease => TimeoutKind::Job,
        };
        let ends_at = Instant::now() + limit.within.min(EngineOptions::TIME_MAX);
        let hold_until = ends_at + node.options.cancel_grace + node.options.stuck_max;
        let running = Arc::new(Running::new(&job, policy.lease, hold_until));
        Self {
            job,
            running,
            handler,
            ends_at,
            fires,
        }
    }

    pub(super) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// Runs it.
    pub(super) async fn run(self, node: Arc<Node>) -> Ended {
        let report = match self.admitted(&node).await {
            Ok(()) => {
                let stopped = self.carried_out(&node).await;
                self.report(stopped)
            }
            Err(refused) => refused,
        };
        self.ended(&node, report)
    }

    /// Whether it may start. An answer that came late left little of the lease: then it is extended first, so that
    /// nobody else starts the job while this attempt runs. Else what to report, if anything can be.
    async fn admitted(&self, node: &Node) -> Result<(), Option<Report>> {
        let now = node.client.now();
        let late = |what: &str| {
            Err(Some(Report::Released(
                format!("{what} before it could start").into(),
            )))
        };
        if self.job.deadline_at.is_some_and(|deadline| deadline <= now) {
            return late("its deadline passed");
        }
        if self.job.state.lease_until.since(now) >= self.running.lease / 2 {
            return Ok(());
        }
        let extension = Extension {
            job: self.job.id,
            epoch: self.job.state.epoch,
            until: now.after(self.running.lease),
        };
        match node
            .client
            .store()
            .extend(&[extension], now)
            .await
            .as_deref()
        {
            Ok([Extended::Held { .. }]) => Ok(()),
            Ok(_) => Err(None),
            Err(_) => late("its lease was nearly over"),
        }
    }

    async fn carried_out(&self, node: &Node) -> Stopped {
        let cx = Cx::of(&self.job, Arc::clone(&self.running), self.ends_at);
        let (handler, payload) = (Arc::clone(&self.handler), self.job.payload.clone());
        let mut work = Box::pin(async move { handler.run(cx, payload).await });
        let stopped = {
            let mut caught = AssertUnwindSafe(&mut work).catch_unwind();
            tokio::select! {
                biased;
                returned = &mut caught => stopped_by(returned),
                () = self.must_stop() => tokio::select! {
                    biased;
                    returned = &mut caught => stopped_by(returned),
                    () = sleep(node.options.cancel_grace) => Stopped::Dropped,
                },
            }
        };
        // What a handler holds may panic when it is dropped; that changes nothing in how the attempt went.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(move || drop(work)));
        stopped
    }

    async fn must_stop(&self) {
        tokio::select! {
            () = self.running.stop().cancelled() => {}
            () = sleep_until(self.ends_at) => self.running.cancel(CancelCause::TimedOut(self.fires)),
        }
    }

    fn report(&self, stopped: Stopped) -> Option<Report> {
        match stopped {
            Stopped::Returned(Ok(result)) => Some(Report::Succeeded(result)),
            Stopped::Returned(Err(failure)) if failure.class == Class::Cancelled => {
                self.stopped_early(failure)
            }
            Stopped::Returned(Err(failure)) => Some(Report::Failed(failure)),
            Stopped::Panicked(panic) => Some(Report::Failed(self.panicked(&*panic))),
            Stopped::Dropped => self.stopped_early(Failure::cancelled("it was stopped")),
        }
    }

    /// What is known of an attempt that did not come to its end: the cause says it, not the handler.
    fn stopped_early(&self, failure: Failure) -> Option<Report> {
        match self.running.cause() {
            None | Some(CancelCause::Requested) => Some(Report::Failed(failure)),
            Some(CancelCause::TimedOut(kind)) => Some(Report::TimedOut(kind)),
            Some(CancelCause::LeaseLost) => None,
            Some(CancelCause::Draining) => Some(Report::Interrupted(
                "the node was shut down while it ran".into(),
            )),
        }
    }

    /// A panic says nothing about the effect, so where a recovery is declared the outcome is unknown.
    fn panicked(&self, panic: &(dyn Any + Send)) -> Failure {
        let what = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("with a value that is no text");
        let text = format!("panicked: {what}");
        match self.job.state.recovery {
            None => Failure::transient(text),
            Some(Recovery::SameKey | Recovery::AtMostOnce | Recovery::Repeatable) => {
                Failure::unknown(text)
            }
        }
    }

    fn ended(self, node: &Node, report: Option<Report>) -> Ended {
        let Self {
            mut job, running, ..
        } = self;
        running.settles();
        job.state.cancel_requested |= running.is_cancel_requested();
        let settlement = report.map(|report| {
            let policy = node.client.policies().policy(&job.kind);
            settle(
                &job,
                &[],
                report,
                policy,
                node.client.now(),
                node.client.dice().roll(),
            )
        });
        Ended {
            job,
            running,
            settlement,
        }
    }
}

fn stopped_by(returned: Result<Result<Payload, Failure>, Box<dyn Any + Send>>) -> Stopped {
    match returned {
        Ok(returned) => Stopped::Returned(returned),
        Err(panic) => Stopped::Panicked(panic),
    }
}

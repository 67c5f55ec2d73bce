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
use surefoot_core::text::ErrorText;
use surefoot_core::time::Timestamp;
use surefoot_core::timeouts::{Fired, TimeoutKind, effective_timeout};
use tokio::time::{Instant, sleep, sleep_until};

use super::EngineOptions;
use super::node::Node;
use crate::cx::{CancelCause, Cx};
use crate::effect::{Book, tell_left_open};
use crate::handler::Handler;
use crate::running::Running;

/// An attempt that ended.
pub(super) struct Ended {
    pub(super) job: Arc<LeasedJob>,
    pub(super) running: Arc<Running>,
    pub(super) end: End,
}

/// What an attempt leaves.
pub(super) enum End {
    /// What follows, and besides what the handler was given for a transaction of its own: where the first is refused, that
    /// transaction may have been committed.
    Settled {
        settlement: Box<Settlement>,
        handed: Option<Box<Settlement>>,
    },
    /// The lease was lost, so nothing follows. What the handler had to say then is kept with its attempt.
    Lost { said: Option<ErrorText> },
}

/// An attempt that is about to run.
pub(super) struct Attempt {
    job: Arc<LeasedJob>,
    cx: Cx,
    running: Arc<Running>,
    handler: Arc<dyn Handler>,
    ends_at: Instant,
    fires: TimeoutKind,
}

/// What is known of how an attempt went.
enum Said {
    Report(Report),
    /// Nothing that counts: the lease was lost. What the handler said then, if anything.
    Lost(Option<ErrorText>),
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
        let now = node.client.now();
        let deadline_left = match job.deadline_at {
            Some(deadline) if !asks_only(&job, now) => Some(deadline.since(now)),
            Some(_) | None => None,
        };
        let limit = effective_timeout(policy.timeout, policy.lease, deadline_left);
        let fires = match limit.fired {
            Fired::Timeout(kind) => kind,
            // A sound policy has a lease that is longer than its time-out.
            Fired::Lease => TimeoutKind::Job,
        };
        let ends_at = Instant::now() + limit.within.min(EngineOptions::TIME_MAX);
        let hold_until = ends_at + node.options.cancel_grace + node.options.stuck_max;
        let running = Arc::new(Running::new(&job, policy.lease, hold_until));
        let job = Arc::new(job);
        let book = Book::new(node.client.clone(), Arc::clone(&job), Arc::clone(&running));
        Self {
            cx: Cx::of(book, ends_at),
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
        let report = match self.prepared(&node).await {
            Ok(()) => {
                let stopped = self.carried_out(&node).await;
                self.report(stopped)
            }
            Err(refused) => refused,
        };
        self.ended(&node, report)
    }

    async fn prepared(&self, node: &Node) -> Result<(), Said> {
        self.admitted(node).await?;
        self.informed(node).await
    }

    /// Takes in the effects of earlier attempts: without them nothing may be sent.
    async fn informed(&self, node: &Node) -> Result<(), Said> {
        if self.job.counts.starts <= 1 {
            return Ok(());
        }
        match node.client.store().effects(&[self.job.id]).await {
            Ok(effects) => {
                self.cx.book().load(effects);
                Ok(())
            }
            Err(error) => Err(Said::Report(Report::Failed(Failure::put_off(format!(
                "its effects could not be read: {error}"
            ))))),
        }
    }

    /// Whether it may start. An answer that came late left little of the lease: then it is extended first, so that
    /// nobody else starts the job while this attempt runs. Else what to report, if anything can be.
    async fn admitted(&self, node: &Node) -> Result<(), Said> {
        let now = node.client.now();
        let late = |what: &str| {
            Err(Said::Report(Report::Released(
                format!("{what} before it could start").into(),
            )))
        };
        let late_by_deadline = self.job.deadline_at.is_some_and(|deadline| deadline <= now);
        if late_by_deadline && !asks_only(&self.job, now) {
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
            Ok(_) => Err(Said::Lost(None)),
            Err(_) => late("its lease was nearly over"),
        }
    }

    async fn carried_out(&self, node: &Node) -> Stopped {
        let (handler, payload) = (Arc::clone(&self.handler), self.job.payload.clone());
        let cx = self.cx.clone();
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

    fn report(&self, stopped: Stopped) -> Said {
        match stopped {
            Stopped::Returned(Ok(result)) => Said::Report(Report::Succeeded(result)),
            Stopped::Returned(Err(failure)) if failure.class == Class::Cancelled => {
                self.stopped_early(failure)
            }
            Stopped::Returned(Err(failure)) => Said::Report(Report::Failed(failure)),
            Stopped::Panicked(panic) => Said::Report(Report::Failed(self.panicked(&*panic))),
            Stopped::Dropped => self.stopped_early(Failure::cancelled("it was stopped")),
        }
    }

    /// What is known of an attempt that did not come to its end: the cause says it, not the handler.
    fn stopped_early(&self, failure: Failure) -> Said {
        match self.running.cause() {
            None | Some(CancelCause::Requested) => Said::Report(Report::Failed(failure)),
            Some(CancelCause::TimedOut(kind)) => Said::Report(Report::TimedOut(kind)),
            Some(CancelCause::LeaseLost) => Said::Lost(Some(failure.text)),
            Some(CancelCause::Draining) => Said::Report(Report::Interrupted(
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

    fn ended(self, node: &Node, said: Said) -> Ended {
        let Self {
            job, running, cx, ..
        } = self;
        running.settles();
        let book = cx.book();
        let job = told_to_stop(job, &running);
        let end = match (book.lost(), said) {
            (Some(said), _) => End::Lost { said: Some(said) },
            (None, Said::Lost(said)) => End::Lost { said },
            (None, Said::Report(report)) => settled_by(node, book, &job, report),
        };
        Ended { job, running, end }
    }
}

/// The job as it is known at the end: somebody may have asked to cancel it meanwhile.
fn told_to_stop(job: Arc<LeasedJob>, running: &Running) -> Arc<LeasedJob> {
    if job.state.cancel_requested || !running.is_cancel_requested() {
        return job;
    }
    let mut told = Arc::unwrap_or_clone(job);
    told.state.cancel_requested = true;
    Arc::new(told)
}

/// What follows from a report.
fn settled_by(node: &Node, book: &Book, job: &LeasedJob, report: Report) -> End {
    let effects = book.effects();
    let settlement = settle(
        job,
        &effects,
        book.report(report),
        node.client.policies().policy(&job.kind),
        node.client.now(),
        node.client.dice().roll(),
    );
    tell_left_open(&node.client, &job.kind, &settlement.next, &effects);
    End::Settled {
        settlement: Box::new(settlement),
        handed: book.handed().map(Box::new),
    }
}

/// Whether an attempt is only there to ask: its deadline passed, and what may have happened must be known all the same.
fn asks_only(job: &LeasedJob, now: Timestamp) -> bool {
    job.counts.unknown > 0 && job.deadline_at.is_some_and(|deadline| deadline <= now)
}

fn stopped_by(returned: Result<Result<Payload, Failure>, Box<dyn Any + Send>>) -> Stopped {
    match returned {
        Ok(returned) => Stopped::Returned(returned),
        Err(panic) => Stopped::Panicked(panic),
    }
}

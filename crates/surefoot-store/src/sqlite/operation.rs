//! One verb on its way to the writer thread and back. An operation nobody waits for any more is never begun, and
//! nobody hears of success before the commit.

use surefoot_core::error::StoreError;
use tokio::sync::oneshot;

use super::fault::panicked;
use super::ledger::Ledger;
use crate::echo::echo;

/// Work for the writer.
pub(super) trait Operation: Send {
    /// The transaction's name in traces.
    fn name(&self) -> &'static str;

    /// About how many rows it writes.
    fn weight(&self) -> usize;

    /// Whether somebody still waits for the answer.
    fn is_wanted(&self) -> bool;

    /// Does the work; answers whether it is to be kept.
    fn run(&mut self, ledger: &Ledger<'_>) -> bool;

    /// Says how it went, once the commit is decided.
    fn answer(self: Box<Self>, committed: Result<(), &StoreError>);
}

/// An operation made of a closure and a channel for its answer.
pub(super) struct Call<T, E, W> {
    name: &'static str,
    weight: usize,
    work: Option<W>,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, W> Call<T, E, W>
where
    W: FnOnce(&Ledger<'_>) -> Result<T, E>,
{
    /// The operation, and where its answer comes.
    pub(super) fn new(
        name: &'static str,
        weight: usize,
        work: W,
    ) -> (Self, oneshot::Receiver<Result<T, E>>) {
        let (reply, answer) = oneshot::channel();
        (
            Self {
                name,
                weight,
                work: Some(work),
                outcome: None,
                reply,
            },
            answer,
        )
    }
}

impl<T, E, W> Operation for Call<T, E, W>
where
    T: Send,
    E: From<StoreError> + Send,
    W: FnOnce(&Ledger<'_>) -> Result<T, E> + Send,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn run(&mut self, ledger: &Ledger<'_>) -> bool {
        self.outcome = self.work.take().map(|work| work(ledger));
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, committed: Result<(), &StoreError>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(refused)), _) => Err(refused),
            (Some(Ok(done)), Ok(())) => Ok(done),
            (Some(Ok(_)) | None, Err(error)) => {
                Err(echo(error, |cause| cause.to_string().into()).into())
            }
            (None, Ok(())) => Err(panicked(self.name).into()),
        };
        // Whoever asked may have gone; the work stands all the same.
        let _ = self.reply.send(outcome);
    }
}

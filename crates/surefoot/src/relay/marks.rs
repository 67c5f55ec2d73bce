//! Writes marks down for all the keys of a sink: what waits goes in one call, so that a call of the store costs less for each
//! message the more there are, and none waits for more to come. It must never answer for a mark that was not written.

use std::sync::Arc;
use std::time::Duration;

use surefoot_core::error::StoreError;
use surefoot_core::port::{BATCH_MAX, Mark, Marked};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::run::Line;

/// How many calls are under way at once where one takes long.
const CALLS_MAX: usize = 4;
/// How long a call is waited for before the next one goes beside it: one that hangs holds up nobody for longer. A store writes
/// the marks of one sink one after the other anyway, so until then nothing is gained by a further call.
const LONG: Duration = Duration::from_millis(100);
/// How many marks wait at most; whoever has one more waits to hand it in.
const WAITING_MAX: usize = BATCH_MAX;

/// What became of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrote {
    /// The store answered.
    Answered(Marked),
    /// The store failed; another try may do.
    Transient,
    /// The store refused, and would again.
    Refused,
}

/// Where keys hand in their marks; cheap to clone.
#[derive(Clone)]
pub(super) struct Marks(mpsc::Sender<Asked>);

/// What was handed in.
pub(super) struct Waiting(mpsc::Receiver<Asked>);

struct Asked {
    mark: Mark,
    told: oneshot::Sender<Wrote>,
}

/// Where marks are handed in, and what writes them down.
pub(super) fn marks() -> (Marks, Waiting) {
    let (asks, asked) = mpsc::channel(WAITING_MAX);
    (Marks(asks), Waiting(asked))
}

impl Marks {
    /// Writes one down.
    pub(super) async fn write(&self, mark: Mark) -> Wrote {
        let (told, answer) = oneshot::channel();
        if self.0.send(Asked { mark, told }).await.is_err() {
            return Wrote::Transient;
        }
        answer.await.unwrap_or(Wrote::Transient)
    }
}

impl Waiting {
    /// Writes down what is handed in, until nobody can hand in any more.
    pub(super) async fn write(mut self, line: Arc<Line>) {
        let mut under_way = JoinSet::new();
        loop {
            let mut asked = Vec::new();
            if self.0.recv_many(&mut asked, BATCH_MAX).await == 0 {
                break;
            }
            under_way.spawn(write_all(Arc::clone(&line), asked));
            while under_way.len() >= CALLS_MAX {
                under_way.join_next().await;
            }
            // Whether it ended or takes long, the next one goes.
            let _ = timeout(LONG, under_way.join_next()).await;
        }
        while under_way.join_next().await.is_some() {}
    }
}

async fn write_all(line: Arc<Line>, asked: Vec<Asked>) {
    let (marks, told): (Vec<Mark>, Vec<_>) = asked
        .into_iter()
        .map(|asked| (asked.mark, asked.told))
        .unzip();
    let answers = match call(&line, &marks).await {
        // One that is refused must not spoil the others.
        Err(error) if !error.is_transient() && marks.len() > 1 => {
            let mut answers = Vec::with_capacity(marks.len());
            for mark in &marks {
                answers.extend(each(&call(&line, std::slice::from_ref(mark)).await, 1));
            }
            answers
        }
        answer => each(&answer, marks.len()),
    };
    for (told, answer) in told.into_iter().zip(answers) {
        // Whoever asked may have gone.
        let _ = told.send(answer);
    }
}

async fn call(line: &Line, marks: &[Mark]) -> Result<Vec<Marked>, StoreError> {
    line.call("mark", line.messages.mark(marks)).await
}

/// The answer for each of so many marks.
fn each(answer: &Result<Vec<Marked>, StoreError>, marks: usize) -> Vec<Wrote> {
    match answer {
        Ok(marked) => {
            let marked = marked.iter().copied().map(Wrote::Answered);
            // A store that answers for fewer has not said that the rest was written.
            let rest = std::iter::repeat(Wrote::Refused);
            marked.chain(rest).take(marks).collect()
        }
        Err(error) if error.is_transient() => vec![Wrote::Transient; marks],
        Err(_) => vec![Wrote::Refused; marks],
    }
}

//! The questions that are being asked. Each is a task of its own, and each operation has a limit of its own, so that none
//! waits for the slowest; no request is asked about twice at once.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use surefoot_core::request::{Operation, Request, RequestId};
use tokio::task::{Id, JoinSet};

use super::asker::Asker;
use super::round::Looked;

/// Those that are being asked, and those that wait for room.
pub(super) struct Questions {
    asker: Arc<Asker>,
    asking: JoinSet<Looked>,
    about: HashMap<Id, (Operation, RequestId)>,
    /// As they were found at the last look, the longest due first.
    waiting: VecDeque<Request>,
}

impl Questions {
    pub(super) fn new(asker: Arc<Asker>) -> Self {
        Self {
            asker,
            asking: JoinSet::new(),
            about: HashMap::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes what is due, in the place of what was due before, and asks what there is room for.
    pub(super) fn take(&mut self, due: Vec<Request>) {
        let is_asked = |id| self.about.values().any(|(_, asked)| *asked == id);
        self.waiting = due
            .into_iter()
            .filter(|request| !is_asked(request.id))
            .collect();
        self.ask();
    }

    /// Whether none is open.
    pub(super) fn are_answered(&self) -> bool {
        self.about.is_empty() && self.waiting.is_empty()
    }

    /// What became of the next request whose question ends; `None` when there is no question.
    pub(super) async fn next(&mut self) -> Option<Looked> {
        loop {
            let (id, looked) = match self.asking.join_next_with_id().await? {
                Ok((id, looked)) => (id, Some(looked)),
                // A store or an observer that panics: the request stays due.
                Err(error) => (error.id(), None),
            };
            self.about.remove(&id);
            self.ask();
            if looked.is_some() {
                return looked;
            }
        }
    }

    /// Begins the questions that there is room for.
    fn ask(&mut self) {
        let options = &self.asker.options;
        let at_once = usize::try_from(options.batch).unwrap_or(usize::MAX);
        let mut busy: HashMap<Operation, usize> = HashMap::new();
        for (operation, _) in self.about.values() {
            *busy.entry(operation.clone()).or_default() += 1;
        }
        let mut held = VecDeque::new();
        while let Some(request) = self.waiting.pop_front() {
            let of_operation = busy.entry(request.operation.clone()).or_default();
            if self.about.len() >= at_once || *of_operation >= options.asks_at_once {
                held.push_back(request);
                continue;
            }
            *of_operation += 1;
            let about = (request.operation.clone(), request.id);
            let asker = self.asker.clone();
            let task = self.asking.spawn(async move { asker.look(request).await });
            self.about.insert(task.id(), about);
        }
        self.waiting = held;
    }
}

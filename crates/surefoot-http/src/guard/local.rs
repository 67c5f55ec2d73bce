//! What this node is doing at present, by identity: of many arrivals of one request only the first asks the store, and the
//! others share what it is told. It holds nothing that the store does not, and only while the first is at work; an arrival
//! that asks for something else under the key is never answered from here.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use surefoot_core::request::{Arrived, Fingerprint, Identity, NewRequest};
use tokio::sync::watch;

/// How far the first arrival has come.
#[derive(Clone, Debug)]
pub(super) enum Standing {
    /// It asks the store, or tells it how the run ended: what comes of it is told here.
    Asking,
    /// It is run, here under a lease that holds or at another node; its end is told here.
    Running,
    /// It is over, or was never run: this is known.
    Over(Arrived),
    /// The store did not answer.
    Failed,
}

/// The arrivals that are at work on this node; as many as the guard lets in at most.
#[derive(Clone, Default)]
pub(super) struct Locals(Arc<Mutex<HashMap<Identity, Entry>>>);

struct Entry {
    fingerprint: Fingerprint,
    standing: watch::Receiver<Standing>,
}

/// What an arrival finds here.
pub(super) enum Joined {
    /// It is the first, and tells the others.
    First(Lead),
    /// Another one of the same request is at work.
    Other(watch::Receiver<Standing>),
    /// Another request is at work under its key: the store decides.
    Apart,
}

/// The first arrival; when it is dropped the others ask the store.
pub(super) struct Lead {
    locals: Locals,
    identity: Identity,
    standing: watch::Sender<Standing>,
    /// Whether arrivals find it.
    is_open: bool,
}

impl Locals {
    pub(super) fn join(&self, new: &NewRequest) -> Joined {
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.get(&new.identity) {
            return if entry.fingerprint.differs(&new.fingerprint).is_empty() {
                Joined::Other(entry.standing.clone())
            } else {
                Joined::Apart
            };
        }
        let (standing, told) = watch::channel(Standing::Asking);
        let entry = Entry {
            fingerprint: new.fingerprint.clone(),
            standing: told,
        };
        entries.insert(new.identity.clone(), entry);
        Joined::First(Lead {
            locals: self.clone(),
            identity: new.identity.clone(),
            standing,
            is_open: true,
        })
    }
}

impl Lead {
    /// Tells the others how far it has come.
    pub(super) fn tell(&self, standing: Standing) {
        self.standing.send_replace(standing);
    }

    /// Tells the others that it is run.
    pub(super) fn tell_running(&self) {
        self.standing.send_if_modified(|standing| {
            let was_running = matches!(standing, Standing::Running);
            *standing = Standing::Running;
            !was_running
        });
    }

    /// Whether there are others.
    pub(super) fn is_followed(&self) -> bool {
        // One is kept for those who come.
        self.standing.receiver_count() > usize::from(self.is_open)
    }

    /// Whoever comes from here on does not find it.
    pub(super) fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            let mut entries = self.locals.0.lock().unwrap_or_else(PoisonError::into_inner);
            entries.remove(&self.identity);
        }
    }

    /// Tells the others how it ended, if there are any. Whoever comes from here on asks the store.
    pub(super) fn end(mut self, known: impl FnOnce() -> Arrived) {
        self.close();
        if self.is_followed() {
            self.tell(Standing::Over(known()));
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.close();
    }
}

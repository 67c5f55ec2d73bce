//! A bounded queue from any runtime to a thread. The sender waits without blocking its runtime; the thread waits
//! without a runtime. It never holds more letters than it has room for.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use surefoot_core::error::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::fault::closed;

/// How soon a letter is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// In its turn.
    Ordinary,
    /// Before all ordinary letters, and with room of its own: a heartbeat never waits behind other work.
    Urgent,
}

/// A queue of letters to one or more threads.
pub(super) struct Mailbox<T> {
    waiting: Mutex<Waiting<T>>,
    arrived: Condvar,
    ordinary_room: Arc<Semaphore>,
    urgent_room: Arc<Semaphore>,
}

struct Waiting<T> {
    urgent: VecDeque<Letter<T>>,
    ordinary: VecDeque<Letter<T>>,
    /// With how many ordinary letters the thread wants to be woken.
    wake_at: usize,
    closed: bool,
}

/// How long a thread that could begin waits for more letters, because those who were answered just now are likely to
/// send again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// Waits for no more than so many letters.
    pub(super) letters: usize,
    /// Waits no longer.
    pub(super) time: Duration,
}

/// What was sent. Its room is free again when it is dropped, so work that is under way counts too.
pub(super) struct Letter<T> {
    pub(super) content: T,
    _room: OwnedSemaphorePermit,
}

impl<T> Mailbox<T> {
    /// An empty mailbox with room for so many letters of either urgency.
    pub(super) fn with_room(letters_max: usize) -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                urgent: VecDeque::new(),
                ordinary: VecDeque::new(),
                wake_at: 1,
                closed: false,
            }),
            arrived: Condvar::new(),
            ordinary_room: Arc::new(Semaphore::new(letters_max)),
            urgent_room: Arc::new(Semaphore::new(letters_max)),
        }
    }

    /// Puts a letter in, waiting until there is room.
    pub(super) async fn put(&self, content: T, urgency: Urgency) -> Result<(), StoreError> {
        let room = match urgency {
            Urgency::Ordinary => &self.ordinary_room,
            Urgency::Urgent => &self.urgent_room,
        };
        let room = room.clone().acquire_owned().await.map_err(|_| closed())?;
        let letter = Letter {
            content,
            _room: room,
        };
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(closed());
        }
        let enough = match urgency {
            Urgency::Ordinary => {
                waiting.ordinary.push_back(letter);
                waiting.ordinary.len() >= waiting.wake_at
            }
            Urgency::Urgent => {
                waiting.urgent.push_back(letter);
                true
            }
        };
        drop(waiting);
        if enough {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes the next letters, the urgent ones first, until their weights reach `weight_max`; at least one. Blocks
    /// until there is one, and then for as much patience as there is; `None` when the mailbox is closed and empty.
    pub(super) fn take(
        &self,
        weight_max: usize,
        patience: Patience,
        weight: impl Fn(&T) -> usize,
    ) -> Option<Vec<Letter<T>>> {
        let mut waiting = self.lock();
        while waiting.urgent.is_empty() && waiting.ordinary.is_empty() {
            if waiting.closed {
                return None;
            }
            waiting = self
                .arrived
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
        waiting = self.linger(waiting, patience);
        let mut taken = Vec::new();
        let mut weighed = 0_usize;
        while weighed < weight_max {
            let next = waiting
                .urgent
                .pop_front()
                .or_else(|| waiting.ordinary.pop_front());
            let Some(letter) = next else { break };
            weighed = weighed.saturating_add(weight(&letter.content).max(1));
            taken.push(letter);
        }
        Some(taken)
    }

    /// Waits for more letters. An urgent one ends the wait.
    fn linger<'a>(
        &'a self,
        mut waiting: MutexGuard<'a, Waiting<T>>,
        patience: Patience,
    ) -> MutexGuard<'a, Waiting<T>> {
        let begun = Instant::now();
        waiting.wake_at = patience.letters.max(1);
        while waiting.urgent.is_empty()
            && !waiting.closed
            && waiting.ordinary.len() < patience.letters
        {
            let Some(left) = patience
                .time
                .checked_sub(begun.elapsed())
                .filter(|left| !left.is_zero())
            else {
                break;
            };
            let woken = self.arrived.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        waiting.wake_at = 1;
        waiting
    }

    /// Takes no more letters; those that are in are still taken out.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.ordinary_room.close();
        self.urgent_room.close();
        self.arrived.notify_all();
    }

    /// Closes the mailbox and throws away what is in it, so that nobody waits for an answer that cannot come.
    pub(super) fn abandon(&self) {
        self.close();
        let mut waiting = self.lock();
        let letters = (
            std::mem::take(&mut waiting.urgent),
            std::mem::take(&mut waiting.ordinary),
        );
        drop(waiting);
        drop(letters);
    }

    /// No code that could panic runs under this lock.
    fn lock(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(future)
    }

    fn contents(letters: Option<Vec<Letter<u32>>>) -> Vec<u32> {
        letters
            .unwrap()
            .into_iter()
            .map(|letter| letter.content)
            .collect()
    }

    #[test]
    fn urgent_letters_overtake_and_weights_bound_what_is_taken() {
        let mailbox = Mailbox::with_room(8);
        block_on(async {
            for letter in [5, 6, 7] {
                mailbox.put(letter, Urgency::Ordinary).await.unwrap();
            }
            mailbox.put(1, Urgency::Urgent).await.unwrap();
        });
        assert_eq!(
            contents(mailbox.take(6, Patience::default(), |weight| *weight as usize)),
            [1, 5]
        );
        assert_eq!(
            contents(mailbox.take(100, Patience::default(), |_| 1)),
            [6, 7]
        );
    }

    #[test]
    fn a_full_mailbox_makes_senders_wait_but_never_the_urgent() {
        let mailbox = Mailbox::with_room(1);
        block_on(async {
            mailbox.put(1, Urgency::Ordinary).await.unwrap();
            let mut second = Box::pin(mailbox.put(2, Urgency::Ordinary));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(second.as_mut().poll(&mut context).is_pending());
            mailbox.put(3, Urgency::Urgent).await.unwrap();
            assert_eq!(contents(mailbox.take(1, Patience::default(), |_| 1)), [3]);
            assert_eq!(contents(mailbox.take(1, Patience::default(), |_| 1)), [1]);
            second.await.unwrap();
            assert_eq!(contents(mailbox.take(1, Patience::default(), |_| 1)), [2]);
        });
    }

    #[test]
    fn a_closed_mailbox_is_emptied_and_takes_nothing_in() {
        let mailbox = Mailbox::with_room(4);
        block_on(mailbox.put(1, Urgency::Ordinary)).unwrap();
        mailbox.close();
        assert!(block_on(mailbox.put(2, Urgency::Ordinary)).is_err());
        assert_eq!(contents(mailbox.take(9, Patience::default(), |_| 1)), [1]);
        assert!(mailbox.take(9, Patience::default(), |_| 1).is_none());
    }

    /// Puts a letter in a little later.
    fn send_later(
        mailbox: &Arc<Mailbox<u32>>,
        letter: u32,
        urgency: Urgency,
    ) -> std::thread::JoinHandle<()> {
        let mailbox = mailbox.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            block_on(mailbox.put(letter, urgency)).unwrap();
        })
    }

    #[test]
    fn patience_waits_for_as_many_letters_and_ends_with_an_urgent_one() {
        let mailbox = Arc::new(Mailbox::with_room(8));
        let long = |letters| Patience {
            letters,
            time: Duration::from_secs(600),
        };
        block_on(mailbox.put(1, Urgency::Ordinary)).unwrap();
        let sender = send_later(&mailbox, 2, Urgency::Ordinary);
        assert_eq!(contents(mailbox.take(9, long(2), |_| 1)), [1, 2]);
        sender.join().unwrap();
        block_on(mailbox.put(3, Urgency::Ordinary)).unwrap();
        let sender = send_later(&mailbox, 4, Urgency::Urgent);
        assert_eq!(contents(mailbox.take(9, long(5), |_| 1)), [4, 3]);
        sender.join().unwrap();
        block_on(mailbox.put(5, Urgency::Ordinary)).unwrap();
        let short = Patience {
            letters: 5,
            time: Duration::from_millis(1),
        };
        assert_eq!(contents(mailbox.take(9, short, |_| 1)), [5]);
    }
}

//! The live state of a retry budget. Deposits are one atomic addition; a draw takes a short lock, so that two
//! draws never share the last send. The lock is never held across a wait or a callback.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::BudgetOptions;
use crate::clock::{HELD_UP_MAX, Moment, nanos};
use crate::window::{BUCKETS, Count, Window};

/// A retry budget.
#[derive(Debug)]
pub struct Budget {
    deposits: Window,
    spent: Mutex<Spent>,
}

/// What was drawn in the window, bucket by bucket, and when the reserve has its next send.
#[derive(Debug)]
struct Spent {
    width: u64,
    ticks: [u64; BUCKETS],
    sends: [u64; BUCKETS],
    reserve_at: u64,
}

/// One extra send that is paid for. It is given back when it is dropped before the send starts.
#[derive(Debug)]
#[must_use = "a draw that is dropped goes back to the budget"]
pub struct Draw<'a> {
    paid: Option<(&'a Budget, Paid)>,
}

#[derive(Clone, Copy, Debug)]
enum Paid {
    ByDeposits { tick: u64 },
    ByReserve { every: u64 },
}

impl Draw<'_> {
    /// A draw on no budget, where none bounds the sends.
    pub(crate) const FREE: Draw<'static> = Draw { paid: None };

    /// The send starts: what it cost is spent.
    pub fn spend(mut self) {
        self.paid = None;
    }
}

impl Drop for Draw<'_> {
    fn drop(&mut self) {
        if let Some((budget, paid)) = self.paid.take() {
            budget.refund(paid);
        }
    }
}

impl Budget {
    /// A budget without deposits.
    #[must_use]
    pub fn new(options: &BudgetOptions) -> Self {
        Self {
            deposits: Window::new(options.window),
            spent: Mutex::new(Spent {
                width: bucket(options.window),
                ticks: [0; BUCKETS],
                sends: [0; BUCKETS],
                reserve_at: 0,
            }),
        }
    }

    /// Pays in for one logical success, however many sends it took.
    #[inline]
    pub fn deposit(&self, now: Moment) {
        self.deposits.add(now, 0, Count::Total);
    }

    /// Takes one extra send out; `None` when the budget is exhausted.
    pub fn draw(&self, options: &BudgetOptions, now: Moment) -> Option<Draw<'_>> {
        if !options.enabled {
            return Some(Draw::FREE);
        }
        let mut spent = self.lock();
        let deposits = self.deposits.sum(now, 0).total;
        let paid = spent
            .by_deposits(funded(deposits, options.ratio), now)
            .or_else(|| {
                let every = nanos(options.reserve_every()?);
                spent.by_reserve(every, now)
            })?;
        Some(Draw {
            paid: Some((self, paid)),
        })
    }

    /// How many extra sends the deposits still pay for at `now`, the reserve apart.
    #[must_use]
    pub fn left(&self, options: &BudgetOptions, now: Moment) -> u64 {
        let deposits = self.deposits.sum(now, 0).total;
        funded(deposits, options.ratio).saturating_sub(self.lock().sum(now))
    }

    /// Takes new options over; deposits stay.
    pub fn reconfigure(&self, new: &BudgetOptions, now: Moment) {
        self.deposits.resize(new.window, now, 0);
        let mut spent = self.lock();
        if spent.width != bucket(new.window) {
            let sum = spent.sum(now);
            spent.width = bucket(new.window);
            spent.ticks = [0; BUCKETS];
            spent.sends = [0; BUCKETS];
            spent.add(now, sum);
        }
    }

    fn refund(&self, paid: Paid) {
        let mut spent = self.lock();
        match paid {
            Paid::ByDeposits { tick } => {
                let slot = slot(tick);
                if spent.ticks[slot] == tick {
                    spent.sends[slot] = spent.sends[slot].saturating_sub(1);
                }
            }
            Paid::ByReserve { every } => spent.reserve_at = spent.reserve_at.saturating_sub(every),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spent {
    fn by_deposits(&mut self, funded: u64, now: Moment) -> Option<Paid> {
        (self.sum(now) < funded).then(|| Paid::ByDeposits {
            tick: self.add(now, 1),
        })
    }

    /// One send per `every`. A next send further away than that means that the clock went back.
    fn by_reserve(&mut self, every: u64, now: Moment) -> Option<Paid> {
        let now = now.as_nanos();
        let furthest = now.saturating_add(every).saturating_add(nanos(HELD_UP_MAX));
        if self.reserve_at > now && self.reserve_at <= furthest {
            return None;
        }
        self.reserve_at = now.saturating_add(every);
        Some(Paid::ByReserve { every })
    }

    fn sum(&self, now: Moment) -> u64 {
        let last = now.as_nanos() / self.width;
        let first = last.saturating_sub(BUCKETS as u64 - 1);
        let recent = |tick: &&u64| (first..=last).contains(*tick);
        self.ticks
            .iter()
            .zip(self.sends)
            .filter(|(tick, _)| recent(tick))
            .map(|(_, sends)| sends)
            .sum()
    }

    fn add(&mut self, now: Moment, sends: u64) -> u64 {
        let tick = now.as_nanos() / self.width;
        let slot = slot(tick);
        if self.ticks[slot] != tick {
            self.ticks[slot] = tick;
            self.sends[slot] = 0;
        }
        self.sends[slot] += sends;
        tick
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a validated ratio of a count is a count"
)]
fn funded(deposits: u64, ratio: f64) -> u64 {
    (deposits as f64 * ratio) as u64
}

fn bucket(window: Duration) -> u64 {
    (nanos(window) / BUCKETS as u64).max(1)
}

fn slot(tick: u64) -> usize {
    usize::try_from(tick % BUCKETS as u64).unwrap_or(0)
}

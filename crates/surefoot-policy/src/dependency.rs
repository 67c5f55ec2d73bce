//! A dependency: its name, its policy and the live state that all its callers share. Cloning it is cheap and
//! shares the state.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use surefoot_core::time::Roll;

use crate::adaptive::Adaptive;
use crate::breaker::{Breaker, BreakerState, Force, Transition};
use crate::budget::Budget;
use crate::bulkhead::{Bulkhead, Hold};
use crate::clock::{Clock, Dice, Moment, ThreadDice, TokioClock};
use crate::context::{Ambient, Outer, headers};
use crate::event::{Event, Listener};
use crate::hedge::Latency;
use crate::policy::{InvalidPolicy, Policy};
use crate::rate::{Gate, Rate};
use crate::window::Counts;

/// Something we call, protected by its policy.
#[derive(Clone)]
pub struct Dependency(pub(crate) Arc<Live>);

pub(crate) struct Live {
    pub(crate) name: Arc<str>,
    owner: http::HeaderValue,
    /// Its number in this process, from 1; see [`Ambient`].
    pub(crate) number: u32,
    pub(crate) policy: ArcSwap<Policy>,
    /// `None` is tokio's clock, asked directly.
    clock: Option<Arc<dyn Clock>>,
    dice: Option<Arc<dyn Dice>>,
    pub(crate) breaker: Breaker,
    pub(crate) budget: Budget,
    pub(crate) bulkhead: Bulkhead,
    pub(crate) rate: Rate,
    pub(crate) gate: Gate,
    pub(crate) latency: Latency,
    pub(crate) adaptive: ArcSwap<Option<Adaptive>>,
    listeners: ArcSwap<Vec<Arc<dyn Listener>>>,
    listened: AtomicBool,
}

impl Live {
    /// A limit that finds itself starts from the lowest one.
    fn limit_by(&self, policy: &Policy) {
        let limit = policy
            .adaptive
            .as_ref()
            .map_or(policy.bulkhead.limit, |adaptive| adaptive.limit_min);
        self.bulkhead.set_limit(limit);
    }
}

/// What a dependency looks like at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// What its breaker does.
    pub breaker: BreakerState,
    /// What the breaker's window holds.
    pub window: Counts,
    /// How many changes the breaker has seen.
    pub generation: u32,
    /// How many probes are out.
    pub probes_out: usize,
    /// How many extra sends the deposits still pay for.
    pub budget_left: u64,
    /// How many calls are out.
    pub out: u32,
    /// How many of them are detached from their callers.
    pub detached: u32,
    /// How many calls wait.
    pub waiting: u32,
    /// How many may be out.
    pub limit: u32,
    /// How long the gate is still closed; zero when it is open.
    pub gate_left: Duration,
}

impl Dependency {
    /// A dependency with this policy and no history.
    ///
    /// # Errors
    /// [`InvalidPolicy`] with every fault.
    pub fn new(name: &str, policy: Policy) -> Result<Self, InvalidPolicy> {
        Self::with_sources(name, policy, None, None)
    }

    /// The same with a clock and dice of its own. A clock that can go back is to be wrapped in
    /// [`Steady`](crate::clock::Steady). Waits still run by tokio's timer.
    ///
    /// # Errors
    /// [`InvalidPolicy`] with every fault.
    pub fn with_sources(
        name: &str,
        policy: Policy,
        clock: Option<Arc<dyn Clock>>,
        dice: Option<Arc<dyn Dice>>,
    ) -> Result<Self, InvalidPolicy> {
        static NUMBERS: AtomicU32 = AtomicU32::new(1);
        let policy = policy.checked()?;
        let dependency = Self(Arc::new(Live {
            name: Arc::from(name),
            owner: http::HeaderValue::from_str(name)
                .unwrap_or(http::HeaderValue::from_static("unnamed")),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            clock,
            dice,
            breaker: Breaker::new(&policy.breaker),
            budget: Budget::new(&policy.budget),
            bulkhead: Bulkhead::new(&policy.bulkhead),
            rate: Rate::default(),
            gate: Gate::default(),
            latency: Latency::default(),
            adaptive: ArcSwap::from_pointee(policy.adaptive.as_ref().map(Adaptive::new)),
            listeners: ArcSwap::from_pointee(Vec::new()),
            listened: AtomicBool::new(false),
            policy: ArcSwap::from_pointee(policy),
        }));
        dependency.0.limit_by(&dependency.policy());
        Ok(dependency)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its present policy.
    #[must_use]
    pub fn policy(&self) -> Arc<Policy> {
        self.0.policy.load_full()
    }

    /// What it looks like at this moment.
    #[must_use]
    pub fn status(&self) -> Status {
        let (live, policy, now) = (&self.0, self.policy(), self.now());
        Status {
            breaker: live.breaker.state(&policy.breaker, now),
            window: live.breaker.counts(now),
            generation: live.breaker.generation(),
            probes_out: live.breaker.probes_out(now),
            budget_left: live.budget.left(&policy.budget, now),
            out: live.bulkhead.taken(),
            detached: live.bulkhead.detached(),
            waiting: live.bulkhead.waiting(),
            limit: live.bulkhead.limit(),
            gate_left: live.gate.left(policy.retry.retry_after_max, now),
        }
    }

    /// Does to the breaker what an operator asks; `None` when it is so already.
    pub fn force(&self, force: Force) -> Option<Transition> {
        let told = self
            .0
            .breaker
            .force(force, &self.policy().breaker, self.now());
        self.tell(told);
        told
    }

    /// Opens the gate that a `Retry-After` closed.
    pub fn open_gate(&self) {
        self.0.gate.open();
    }

    /// Takes a new policy over for the calls that begin from now on. Window, permits, deposits and the breaker's
    /// generation stay; only another mode of the breaker changes its state.
    ///
    /// # Errors
    /// [`InvalidPolicy`] with every fault; the old policy stays then.
    pub fn reconfigure(&self, policy: Policy) -> Result<(), InvalidPolicy> {
        let (live, new, now) = (&self.0, Arc::new(policy.checked()?), self.now());
        let old = live.policy.swap(Arc::clone(&new));
        let told = live.breaker.reconfigure(&old.breaker, &new.breaker, now);
        live.budget.reconfigure(&new.budget, now);
        if old.adaptive != new.adaptive {
            live.adaptive
                .store(Arc::new(new.adaptive.as_ref().map(Adaptive::new)));
        }
        if old.adaptive != new.adaptive || old.bulkhead.limit != new.bulkhead.limit {
            live.limit_by(&new);
        }
        self.tell(told);
        self.emit(|| Event::Reconfigured);
        Ok(())
    }

    /// Adds a listener. At most [`LISTENERS_MAX`] are kept; false when there are as many.
    pub fn listen(&self, listener: impl Listener) -> bool {
        let listener: Arc<dyn Listener> = Arc::new(listener);
        let mut added = false;
        self.0.listeners.rcu(|present| {
            let mut listeners = Vec::clone(present);
            added = listeners.len() < LISTENERS_MAX;
            if added {
                listeners.push(Arc::clone(&listener));
            }
            listeners
        });
        self.0.listened.store(true, Ordering::Release);
        added
    }

    /// Takes all listeners off.
    pub fn unlisten(&self) {
        self.0.listened.store(false, Ordering::Release);
        self.0.listeners.store(Arc::new(Vec::new()));
    }

    /// The present moment by its clock.
    #[must_use]
    #[inline]
    pub fn now(&self) -> Moment {
        match &self.0.clock {
            None => TokioClock.now(),
            Some(clock) => clock.now(),
        }
    }

    /// The same moment by tokio's clock, which deadlines between dependencies are told by.
    #[inline]
    pub(crate) fn shared(&self, moment: Moment, now: Moment) -> Moment {
        match &self.0.clock {
            None => moment,
            Some(_) => TokioClock.now().after(moment.since(now)),
        }
    }

    /// How long it is until a deadline by tokio's clock.
    #[inline]
    pub(crate) fn until_shared(&self, deadline: Moment, now: Moment) -> Duration {
        match &self.0.clock {
            None => deadline.since(now),
            Some(_) => deadline.since(TokioClock.now()),
        }
    }

    /// How long the call that runs in this task may still take.
    #[cfg(feature = "http-client")]
    pub(crate) fn left(&self) -> Duration {
        let total = self.0.policy.load().timeout.total;
        Ambient::current()
            .deadline
            .map_or(total, |deadline| deadline.since(TokioClock.now()))
    }

    pub(crate) fn roll(&self) -> Roll {
        match &self.0.dice {
            None => ThreadDice.roll(),
            Some(dice) => dice.roll(),
        }
    }

    #[inline]
    pub(crate) fn emit(&self, event: impl FnOnce() -> Event) {
        if self.0.listened.load(Ordering::Relaxed) {
            self.announce(event());
        }
    }

    #[cold]
    fn announce(&self, event: Event) {
        thread_local! {
            static DEPTH: Cell<u32> = const { Cell::new(0) };
        }
        struct Leave(u32);
        impl Drop for Leave {
            fn drop(&mut self) {
                DEPTH.set(self.0);
            }
        }
        let depth = DEPTH.get();
        if depth >= DEPTH_MAX {
            return;
        }
        let _leave = Leave(depth);
        DEPTH.set(depth + 1);
        let listeners = self.0.listeners.load_full();
        listeners
            .iter()
            .for_each(|listener| listener.on(self, &event));
    }

    #[inline]
    pub(crate) fn tell(&self, transition: Option<Transition>) {
        if let Some(transition) = transition {
            self.emit(|| Event::Breaker(transition));
        }
    }
}

/// How deep a listener can cause events that cause events; deeper ones are told to nobody.
const DEPTH_MAX: u32 = 4;

/// The most listeners of one dependency.
pub const LISTENERS_MAX: usize = 16;

impl std::fmt::Debug for Dependency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dependency")
            .field("name", &self.0.name)
            .field("status", &self.status())
            .finish()
    }
}

/// One attempt, as the call sees it.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    pub(crate) dependency: &'a Dependency,
    /// By tokio's clock.
    pub(crate) deadline: Moment,
    pub(crate) number: u32,
    pub(crate) outer: Option<Outer>,
    pub(crate) hedge: bool,
}

impl Attempt<'_> {
    /// Which send of the call this is, from 1.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether it is the second copy of a slow one.
    #[must_use]
    pub const fn is_hedge(&self) -> bool {
        self.hedge
    }

    /// The time-out for connecting.
    #[must_use]
    pub fn connect_timeout(&self) -> Duration {
        self.dependency.0.policy.load().timeout.connect
    }

    /// How long it may still take.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.deadline.since(TokioClock.now())
    }

    /// Writes the deadline and the retry owner for the next service. False when no time is left: then the
    /// request must not be sent.
    #[must_use]
    pub fn write_headers(&self, headers: &mut http::HeaderMap) -> bool {
        let ambient = Ambient::new(Some(self.deadline), self.outer);
        headers::write(
            headers,
            &ambient,
            &self.dependency.0.owner,
            TokioClock.now(),
        )
    }

    /// Keeps the call's seat in the bulkhead until the hold is dropped: for work that goes on when the call is
    /// dropped or has ended, such as a blocking thread or a body that is still being read.
    pub fn hold(&self) -> Hold {
        self.dependency.0.bulkhead.hold()
    }
}

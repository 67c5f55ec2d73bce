//! Runs one world from its plan: window after window, every process takes its turn, in an order that the seed draws; then
//! all trouble ends, and everything has to come to its end.

use std::time::Duration;

use surefoot_core::id::Kind;
use surefoot_core::time::Timestamp;
use surefoot_testkit::MemoryStore;

use super::check::{self, see};
use super::dice::dice;
use super::log::Log;
use super::node::{Node, Shared};
use super::people::{cancel, hand_in, hook, inspect, intent};
use super::plan::{How, Item, Mood, Order, Plan, TROUBLE, What};
use super::provider::Provider;
use super::slot::Slot;
use super::tally::{Happened, Tally};
use super::time::{T0, WINDOW, WorldTime};

/// The longest that a quiet world needs to come to its end.
const QUIET_MAX: Duration = Duration::from_secs(900);

/// Once in so many windows the invariants are checked.
const WINDOWS_PER_CHECK: u32 = 10;

/// A provider for which no engine can vouch. Off by default; on, the checkers must find what it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls may take effect long after `settles_within`.
    pub later_than_declared: bool,
}

/// What became of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// What happened.
    pub tally: Tally,
    /// Invariants that did not hold, each with how.
    pub broken: Vec<(&'static str, String)>,
    /// A fingerprint of everything that happened, in order: the same seed gives the same.
    pub trace: u64,
    /// The trace itself, where it was asked for.
    pub lines: Vec<String>,
}

struct World {
    shared: Shared,
    plan: Plan,
    slots: Vec<Slot<Node>>,
    provider_trouble_until: Timestamp,
    now: Timestamp,
}

/// Runs a world; `None` where the operating system gives no runtime.
pub(super) fn run(plan: Plan, limits: Limits, keep_lines: bool) -> std::io::Result<Ran> {
    let time = WorldTime::new();
    let log = Log::new(time.clone(), keep_lines);
    let Ok(kind) = Kind::new("refund") else {
        return Err(std::io::Error::other("the kind has no name"));
    };
    let shared = Shared {
        seed: plan.seed,
        time: time.clone(),
        log: log.clone(),
        store: MemoryStore::new(std::sync::Arc::new(time.clone())),
        provider: Provider::new(plan.seed, time, log.clone(), limits.later_than_declared),
        kind,
    };
    let mut rng = dice(plan.seed, "clocks");
    // The last process is that of the clients: it never dies, and its clock is right.
    let slots = (0..=plan.nodes)
        .map(|place| {
            Slot::new(if place == plan.nodes {
                1.0
            } else {
                1.0 + (rng.f64() - 0.5) * 0.002
            })
        })
        .collect();
    let mut world = World {
        shared,
        plan,
        slots,
        provider_trouble_until: T0,
        now: T0,
    };
    world.trouble()?;
    world.quiet()?;
    let seen = futures_util::FutureExt::now_or_never(see(&world.shared));
    if let Some(seen) = seen {
        check::at_the_end(&world.shared, &seen);
    }
    world.slots.iter_mut().for_each(Slot::end);
    Ok(Ran::of(&log))
}

impl Ran {
    /// What a log has seen.
    pub(super) fn of(log: &Log) -> Self {
        let (trace, lines) = log.trace();
        log.with(|state| Self {
            tally: std::mem::take(&mut state.tally),
            broken: std::mem::take(&mut state.broken).into_iter().collect(),
            trace,
            lines,
        })
    }

    /// Two parts of a world.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.tally.merge(&other.tally);
        self.broken.extend(other.broken);
        self.trace = self.trace.rotate_left(1) ^ other.trace;
        self.lines.extend(other.lines);
        self
    }
}

impl World {
    fn trouble(&mut self) -> std::io::Result<()> {
        let mut items = self.plan.items.clone().into_iter().peekable();
        let mut window = 0;
        while self.now < T0.after(TROUBLE) {
            let end = self.now.after(WINDOW);
            while let Some(item) = items.next_if(|item| T0.after(item.at) < end) {
                self.happens(&item);
            }
            self.turn(window, end)?;
            window += 1;
        }
        Ok(())
    }

    /// Everybody comes back, nothing goes wrong any more, and the world runs until all is settled.
    fn quiet(&mut self) -> std::io::Result<()> {
        self.shared.log.line(format_args!("quiet"));
        self.shared.provider.trouble(0.0);
        self.provider_trouble_until = T0;
        for slot in &mut self.slots {
            slot.calm(self.now);
        }
        let end = self.now.after(QUIET_MAX);
        for window in 1_000_000.. {
            self.turn(window, self.now.after(WINDOW))?;
            let check = window % WINDOWS_PER_CHECK == 0;
            if self.now >= end || (check && self.is_over()) {
                break;
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let seen = futures_util::FutureExt::now_or_never(see(&self.shared));
        let settled = seen.is_some_and(|seen| {
            let mut jobs = seen.jobs.iter();
            jobs.all(|(record, _)| record.job.state.name().is_settled())
        });
        settled && self.shared.provider.is_quiet() && self.now >= T0.after(TROUBLE * 2)
    }

    fn turn(&mut self, window: u32, end: Timestamp) -> std::io::Result<()> {
        self.shared.time.set(self.now);
        self.expire_trouble();
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        dice(self.plan.seed, ("order", window)).shuffle(&mut order);
        for place in order {
            self.shared.time.set(self.now);
            self.one_turn(place, end)?;
        }
        self.now = end;
        self.shared.time.set(end);
        self.bring_hooks();
        if window.is_multiple_of(WINDOWS_PER_CHECK)
            && let Some(seen) = futures_util::FutureExt::now_or_never(see(&self.shared))
        {
            check::at_any_time(&self.shared, &seen);
        }
        Ok(())
    }

    fn one_turn(&mut self, place: usize, end: Timestamp) -> std::io::Result<()> {
        let (now, shared) = (self.now, &self.shared);
        let works = place != self.plan.nodes;
        self.slots[place].turn(&shared.time, now, end, |lives, rate| {
            let name = if works {
                format!("node{place}-{lives}")
            } else {
                "clients".to_owned()
            };
            shared.log.line(format_args!("{name} begins"));
            Node::begin(shared, &name, works, rate, now)
        })
    }

    fn expire_trouble(&mut self) {
        for slot in &self.slots {
            slot.expire_trouble(self.now);
        }
        if self.provider_trouble_until <= self.now {
            self.shared.provider.trouble(0.0);
        }
    }

    fn clients(&self) -> Option<&Node> {
        self.slots.last().and_then(Slot::process)
    }

    fn bring_hooks(&self) {
        let Some((node, client)) = self.clients().and_then(|node| Some((node, node.client()?)))
        else {
            return;
        };
        for key in self.shared.provider.hooks(self.now) {
            node.spawn(hook(client.clone(), key, self.shared.log.clone()));
        }
    }

    fn happens(&mut self, item: &Item) {
        self.shared.log.line(format_args!("{:?}", item.what));
        match &item.what {
            What::Enqueue { order, clicks } => {
                for _ in 0..*clicks {
                    self.hands_in(order, 1);
                }
            }
            What::Conflict { n } => self.conflicts(*n),
            What::Cancel { n } => {
                let (n, log) = (*n, self.shared.log.clone());
                self.with_client(|client| Box::pin(cancel(client, n, log)));
            }
            What::Inspect => {
                let (shared, number) = (self.shared.clone(), item.number);
                self.with_client(|client| Box::pin(inspect(client, shared, number)));
            }
            What::Harm(node, harm) => self.slots[*node].suffer(harm, self.now),
            What::Drain { node, away } => {
                let slot = &mut self.slots[*node];
                slot.process().into_iter().for_each(Node::drain);
                slot.restart_at(self.now.after(*away));
            }
            What::Jump { micros } => {
                self.shared.time.jump(*micros);
                self.shared.log.count(Happened::Jumped);
            }
            What::ProviderTrouble { lasts, rate } => {
                self.provider_trouble_until = self.now.after(*lasts);
                self.shared.provider.trouble(*rate);
            }
            What::Webhooks => self.shared.provider.tells_by_webhooks(),
        }
    }

    fn hands_in(&self, order: &Order, amount: u32) {
        let shared = &self.shared;
        let Some(intent) = intent(&shared.kind, order, amount, shared) else {
            return;
        };
        let (n, log) = (order.n, shared.log.clone());
        self.with_client(|client| Box::pin(hand_in(client, intent, n, log)));
    }

    fn conflicts(&self, n: u32) {
        let known = self
            .shared
            .log
            .with(|state| state.acknowledged.contains_key(&n));
        if known {
            let order = Order {
                n,
                how: How::Verify,
                mood: Mood::Plain,
                line: None,
                deadline_s: None,
            };
            self.hands_in(&order, 3);
        }
    }

    fn with_client(
        &self,
        task: impl FnOnce(surefoot::Client) -> futures_util::future::BoxFuture<'static, ()>,
    ) {
        if let Some(node) = self.clients()
            && let Some(client) = node.client()
        {
            node.spawn(task(client));
        }
    }
}

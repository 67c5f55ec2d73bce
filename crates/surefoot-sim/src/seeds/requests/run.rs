//! Runs the front door of a world, window after window; then all trouble ends, everybody asks once more, and every request
//! has to come to its end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use surefoot_core::request::RequestState;
use surefoot_core::time::Timestamp;
use surefoot_testkit::MemoryStore;

use super::super::dice::dice;
use super::super::log::Log;
use super::super::plan::TROUBLE;
use super::super::run::Ran;
use super::super::slot::Slot;
use super::super::time::{T0, WINDOW, WorldTime};
use super::check::{self, see};
use super::client::inspect;
use super::door::{Door, Shared};
use super::ledger::Ledger;
use super::plan::{Ask, Item, Plan, What};

/// The longest that a quiet world needs to come to its end.
const QUIET_MAX: Duration = Duration::from_secs(900);

/// Once in so many windows the invariants are checked, and in the quiet everybody asks again.
const WINDOWS_PER_CHECK: u32 = 10;

struct World {
    shared: Shared,
    plan: Plan,
    slots: Vec<Slot<Door>>,
    service_trouble_until: Timestamp,
    now: Timestamp,
}

/// Runs the front door of a world.
pub(in crate::seeds) fn run(plan: Plan, keep_lines: bool) -> std::io::Result<Ran> {
    // The guard draws its ids from the dice of this thread.
    fastrand::seed(plan.seed);
    let time = WorldTime::new();
    let log = Log::new(time.clone(), keep_lines);
    let shared = Shared {
        seed: plan.seed,
        log: log.clone(),
        store: MemoryStore::new(Arc::new(time.clone())),
        ledger: Ledger::new(time.clone(), log.clone()),
        time,
    };
    let mut rng = dice(plan.seed, "clocks of doors");
    let slots = (0..plan.nodes)
        .map(|_| Slot::new(1.0 + (rng.f64() - 0.5) * 0.002))
        .collect();
    let mut world = World {
        shared,
        plan,
        slots,
        service_trouble_until: T0,
        now: T0,
    };
    world.trouble()?;
    world.quiet()?;
    if let Some(seen) = see(&world.shared, &world.plan).now_or_never() {
        check::at_the_end(&world.shared, &world.plan, &seen);
    }
    world.slots.iter_mut().for_each(Slot::end);
    Ok(Ran::of(&log))
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

    fn quiet(&mut self) -> std::io::Result<()> {
        self.shared.log.line(format_args!("quiet"));
        self.shared.ledger.trouble(0.0);
        self.service_trouble_until = T0;
        for slot in &mut self.slots {
            slot.calm(self.now);
        }
        let end = self.now.after(QUIET_MAX);
        for window in 1_000_000.. {
            if window % (WINDOWS_PER_CHECK * 5) == 0 {
                self.everybody_asks(window);
                self.person_looks();
            }
            self.turn(window, self.now.after(WINDOW))?;
            let check = window % WINDOWS_PER_CHECK == 0;
            if self.now >= end || (check && self.is_over()) {
                break;
            }
        }
        // Twice, so that what ended in this very moment is replayed.
        for window in [2_000_000, 2_000_001] {
            self.everybody_asks(window);
            for more in 0..WINDOWS_PER_CHECK * 2 {
                self.turn(window + 10 + more, self.now.after(WINDOW))?;
            }
        }
        Ok(())
    }

    fn everybody_asks(&self, window: u32) {
        for key in 0..self.plan.keys {
            let node = dice(self.plan.seed, ("last", window, key)).usize(0..self.plan.nodes);
            // Whichever body came first is the key's.
            for other_body in [false, true] {
                self.slots[node].process().into_iter().for_each(|door| {
                    door.ask(Ask {
                        node,
                        key,
                        other_body,
                        leaves_after: None,
                    });
                });
            }
        }
    }

    fn person_looks(&self) {
        let shared = &self.shared;
        let looking = inspect(
            shared.store.clone(),
            shared.ledger.clone(),
            shared.time.clone(),
            shared.log.clone(),
        );
        // The store in memory answers at once.
        let _ = looking.now_or_never();
    }

    fn is_over(&self) -> bool {
        let seen = see(&self.shared, &self.plan).now_or_never();
        let settled = seen.is_some_and(|seen| {
            let mut all = seen.values();
            all.all(|request| matches!(request.state, RequestState::Finished { .. }))
        });
        settled && self.now >= T0.after(TROUBLE + TROUBLE / 2)
    }

    fn turn(&mut self, window: u32, end: Timestamp) -> std::io::Result<()> {
        self.shared.time.set(self.now);
        self.expire_trouble();
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        dice(self.plan.seed, ("order of doors", window)).shuffle(&mut order);
        for place in order {
            self.shared.time.set(self.now);
            self.one_turn(place, end)?;
        }
        self.now = end;
        self.shared.time.set(end);
        if window.is_multiple_of(WINDOWS_PER_CHECK)
            && let Some(seen) = see(&self.shared, &self.plan).now_or_never()
        {
            check::at_any_time(&self.shared, &self.plan, &seen);
        }
        Ok(())
    }

    fn one_turn(&mut self, place: usize, end: Timestamp) -> std::io::Result<()> {
        let (now, shared, plan) = (self.now, &self.shared, &self.plan);
        self.slots[place].turn(&shared.time, now, end, |lives, rate| {
            let name = format!("door{place}-{lives}");
            shared.log.line(format_args!("{name} begins"));
            Door::begin(shared, plan, &name, rate, now)
        })
    }

    fn expire_trouble(&mut self) {
        for slot in &self.slots {
            slot.expire_trouble(self.now);
        }
        if self.service_trouble_until <= self.now {
            self.shared.ledger.trouble(0.0);
        }
    }

    fn happens(&mut self, item: &Item) {
        self.shared.log.line(format_args!("{:?}", item.what));
        match &item.what {
            What::Ask(ask) => {
                if let Some(door) = self.slots[ask.node].process() {
                    door.ask(*ask);
                }
            }
            What::Harm(node, harm) => self.slots[*node].suffer(harm, self.now),
            What::ServiceTrouble { lasts, rate } => {
                self.service_trouble_until = self.now.after(*lasts);
                self.shared.ledger.trouble(*rate);
            }
            What::Inspect => self.person_looks(),
        }
    }
}

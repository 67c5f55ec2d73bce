//! Runs the relays of a world, window after window; then all trouble ends, people look at what is parked, and every message
//! has to come to its end.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use surefoot_core::id::{MessageId, OrderKey, Tenant, Topic};
use surefoot_core::message::{Message, Topics};
use surefoot_core::payload::Payload;
use surefoot_core::port::{Appended, Messages, Since};
use surefoot_core::time::{Clock, Timestamp};
use surefoot_testkit::MemoryStore;

use super::super::dice::dice;
use super::super::log::Log;
use super::super::plan::TROUBLE;
use super::super::run::Ran;
use super::super::slot::Slot;
use super::super::tally::Happened;
use super::super::time::{T0, WINDOW, WorldTime};
use super::ledger::Ledger;
use super::node::{Node, SINKS, Shared, sink_name};
use super::plan::{Item, Plan, What};
use super::{check, people, sink};

/// The longest that a quiet world needs to come to its end.
const QUIET_MAX: Duration = Duration::from_secs(600);

/// Once in so many windows the invariants are checked, and in the quiet a person looks.
const WINDOWS_PER_CHECK: u32 = 10;

struct World {
    shared: Shared,
    plan: Plan,
    slots: Vec<Slot<Node>>,
    sink_trouble_until: Timestamp,
    now: Timestamp,
}

/// Runs the relays of a world.
pub(in crate::seeds) fn run(plan: Plan, keep_lines: bool) -> std::io::Result<Ran> {
    let time = WorldTime::new();
    let log = Log::new(time.clone(), keep_lines);
    let shared = Shared {
        seed: plan.seed,
        log: log.clone(),
        store: MemoryStore::new(Arc::new(time.clone())),
        ledger: Ledger::default(),
        time,
    };
    for name in SINKS.into_iter().filter_map(sink_name) {
        // The store in memory answers at once.
        let subscribing = shared.store.subscribe(&name, &Topics::All, Since::Now, T0);
        let _ = subscribing.now_or_never();
    }
    let mut rng = dice(plan.seed, "clocks of relays");
    let slots = (0..plan.nodes)
        .map(|_| Slot::new(1.0 + (rng.f64() - 0.5) * 0.002))
        .collect();
    let mut world = World {
        shared,
        plan,
        slots,
        sink_trouble_until: T0,
        now: T0,
    };
    world.trouble()?;
    world.quiet()?;
    check::at_the_end(&world.shared);
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
                self.happens(&item, window);
            }
            self.turn(window, end)?;
            window += 1;
        }
        Ok(())
    }

    fn quiet(&mut self) -> std::io::Result<()> {
        self.shared.log.line(format_args!("quiet"));
        self.shared.ledger.trouble(0.0);
        self.sink_trouble_until = T0;
        for slot in &mut self.slots {
            slot.calm(self.now);
        }
        let end = self.now.after(QUIET_MAX);
        for window in 1_000_000.. {
            if window % WINDOWS_PER_CHECK == 0 {
                people::look(&self.shared, window);
            }
            self.turn(window, self.now.after(WINDOW))?;
            let check = window % WINDOWS_PER_CHECK == 0;
            if self.now >= end || (check && check::is_over(&self.shared)) {
                break;
            }
        }
        // What still lands, lands on its receipt.
        self.now = self.now.after(TROUBLE);
        self.shared.time.set(self.now);
        self.lands();
        Ok(())
    }

    fn turn(&mut self, window: u32, end: Timestamp) -> std::io::Result<()> {
        self.shared.time.set(self.now);
        self.expire_trouble();
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        dice(self.plan.seed, ("order of relays", window)).shuffle(&mut order);
        for place in order {
            let (now, shared) = (self.now, &self.shared);
            shared.time.set(now);
            self.slots[place].turn(&shared.time, now, end, |lives, rate| {
                let name = format!("relay{place}-{lives}");
                shared.log.line(format_args!("{name} begins"));
                Node::begin(shared, &name, rate, now)
            })?;
        }
        self.now = end;
        self.shared.time.set(end);
        self.lands();
        if window.is_multiple_of(WINDOWS_PER_CHECK) {
            check::at_any_time(&self.shared);
        }
        Ok(())
    }

    /// What sinks apply after their callers are gone.
    fn lands(&self) {
        for landing in self.shared.ledger.landed(self.now) {
            self.shared.log.count(Happened::MessageLandedLate);
            sink::apply(&self.shared, &landing.sink, &landing.message);
        }
    }

    fn expire_trouble(&mut self) {
        for slot in &self.slots {
            slot.expire_trouble(self.now);
        }
        if self.sink_trouble_until <= self.now {
            self.shared.ledger.trouble(0.0);
        }
    }

    fn happens(&mut self, item: &Item, window: u32) {
        self.shared.log.line(format_args!("{:?}", item.what));
        match &item.what {
            What::Commit { wakes, .. } => {
                self.commit(item);
                let woken = wakes.and_then(|node| self.slots[node].process());
                woken.into_iter().for_each(Node::wake);
            }
            What::Harm(node, harm) => self.slots[*node].suffer(harm, self.now),
            What::SinkTrouble { lasts, rate } => {
                self.sink_trouble_until = self.now.after(*lasts);
                self.shared.ledger.trouble(*rate);
            }
            What::Jump { micros } => {
                self.shared.log.count(Happened::Jumped);
                self.shared.time.jump(*micros);
            }
            What::Look => people::look(&self.shared, window),
            What::Forget { ago } => {
                let before = self.shared.time.now().before(*ago);
                let forgetting = self.shared.store.forget_messages(before, 100);
                if let Some(Ok(forgotten)) = forgetting.now_or_never() {
                    self.shared.log.with(|state| {
                        let tally = &mut state.tally;
                        tally.add(Happened::MessageForgotten, forgotten.messages);
                    });
                }
            }
        }
    }

    fn commit(&self, item: &Item) {
        let What::Commit {
            key,
            messages,
            open_for,
            twice,
            ..
        } = &item.what
        else {
            return;
        };
        let began = Clock::now(&self.shared.time).before(*open_for);
        let messages: Vec<Message> = (0..*messages)
            .filter_map(|place| message(item.number, place, *key, began))
            .collect();
        for round in 0..=u32::from(*twice) {
            // The store in memory answers at once.
            let appended = self.shared.store.append(&messages).now_or_never();
            let appended = appended.and_then(Result::ok).unwrap_or_default();
            for (message, appended) in messages.iter().zip(appended) {
                match appended {
                    Appended::Written(_) if round == 0 => {
                        self.shared.log.count(Happened::MessageCommitted);
                        self.shared.ledger.commit(message);
                    }
                    Appended::Already(_) if round > 0 => {}
                    Appended::Written(_) | Appended::Already(_) | Appended::Conflict(_) => {
                        self.shared.log.breaks(
                            "no-double-effect",
                            format_args!("{} is {appended:?} in round {round}", message.id),
                        );
                    }
                }
            }
        }
    }
}

fn message(item: usize, place: usize, key: Option<u32>, began: Timestamp) -> Option<Message> {
    Some(Message {
        id: MessageId::new(format!("m{item}-{place}")).ok()?,
        tenant: Tenant::single(),
        topic: Topic::new("order.paid").ok()?,
        key: match key {
            None => None,
            Some(key) => Some(OrderKey::new(format!("k{key}")).ok()?),
        },
        payload: Payload::null(),
        trace: None,
        appended_at: began,
    })
}

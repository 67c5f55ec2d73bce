//! no-lost-intent: from every state, when nothing goes wrong any more, the job comes to its end or to a person. The way
//! there is remembered, so that each state of it is walked once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use super::Protocol;
use super::provider::Fate;
use super::step::{Step, answered};
use super::worker::Stage;
use super::world::World;

/// The longest way to an end: a job that needs more is taken to be lost.
const STEPS_MAX: usize = 400;

/// States that are known to come to an end.
#[derive(Debug, Default)]
pub(super) struct Arrived(Mutex<HashSet<u64>>);

impl Arrived {
    fn knows(&self, print: u64) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains(&print)
    }

    fn add(&self, way: Vec<u64>) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(way);
    }
}

/// Whether the job comes to an end from here.
pub(super) fn no_lost_intent(protocol: &Protocol, world: &World) -> bool {
    let mut way = Vec::new();
    let mut here = world.clone();
    for _ in 0..STEPS_MAX {
        let print = print(&here);
        way.push(print);
        if here.record.job.state.name().is_settled() || protocol.arrived.knows(print) {
            protocol.arrived.add(way);
            return true;
        }
        here = protocol.after(&here, quiet_step(&here));
    }
    false
}

fn print(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// What happens next when nothing goes wrong: the first worker that can do something does it, and else time passes.
fn quiet_step(world: &World) -> Step {
    let workers = world.workers.iter().enumerate();
    let mut steps = workers.filter_map(|(worker, stage)| of_worker(world, worker, stage));
    steps.next().unwrap_or(Step::Tick)
}

fn of_worker(world: &World, worker: usize, stage: &Stage) -> Option<Step> {
    match stage {
        Stage::Idle => super::step::of_idle(world, worker).first().copied(),
        Stage::Claimed(_) => Some(Step::Look { worker }),
        Stage::Intending(..) | Stage::Telling(..) | Stage::Settling(_) => Some(Step::Write {
            worker,
            lost: false,
        }),
        Stage::Intended(..) | Stage::Cleared(..) => Some(Step::Send {
            worker,
            meets: Fate::Lands(0),
        }),
        Stage::Calling(_, _, call) if answered(call, world.now) => Some(Step::Answer { worker }),
        Stage::Calling(..) => Some(Step::GiveUp {
            worker,
            swallows: false,
        }),
        Stage::Asking(..) => Some(Step::Ask {
            worker,
            answered: true,
        }),
    }
}

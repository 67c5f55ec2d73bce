//! Carries a step out: the worker's part of the protocol, over the core's own functions and the store's own verbs. What
//! a worker does here is what the engine does; what it may do is the core's decision.

use surefoot_core::effect::{Begin, Effect, begin};
use surefoot_core::failure::Failure;
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{EffectWrite, EffectWritten, Extended, Extension, Settled, Store};
use surefoot_core::settle::{Report, Settlement, settle};
use surefoot_core::time::Roll;

use super::Protocol;
use super::around::refund;
use super::setup::TICK;
use super::step::Step;
use super::worker::{Stage, Then};
use super::world::{World, at_once};

/// No step of the model draws: delays have no jitter.
pub(super) const ROLL: Roll = Roll(0);

impl Protocol {
    /// The world after a step.
    pub(super) fn after(&self, world: &World, step: Step) -> World {
        let mut world = world.fork();
        match step {
            Step::Tick => self.tick(&mut world),
            Step::Claim { worker, lost } => self.claim(&mut world, worker, lost),
            Step::Look { worker } => self.look(&mut world, worker),
            Step::Write { worker, lost } => self.write(&mut world, worker, lost),
            Step::Clear { worker } => self.clear(&mut world, worker),
            Step::Send { worker, meets } => self.send(&mut world, worker, meets),
            Step::Answer { worker } => self.answer(&mut world, worker),
            Step::GiveUp { worker, swallows } => self.give_up(&mut world, worker, swallows),
            Step::Ask { worker, answered } => self.ask(&mut world, worker, answered),
            Step::Beat { worker } => self.beat(&mut world, worker),
            Step::Crash { worker } => world.workers[worker] = Stage::Idle,
            Step::Reap { worker } => self.reap(&mut world, worker),
            Step::Hook => self.hook(&mut world),
            Step::Cancel => self.cancel(&mut world),
        }
        world.read();
        world.remember();
        world
    }

    fn claim(&self, world: &mut World, worker: usize, lost: bool) {
        let advanced = at_once(world.store.advance(&[], Some(&self.names.claim), world.now));
        world.memory.started += advanced.leased.len();
        if let Some(job) = advanced.leased.into_iter().next().filter(|_| !lost) {
            world.workers[worker] = Stage::Claimed(job);
        }
    }

    fn look(&self, world: &mut World, worker: usize) {
        let Stage::Claimed(job) = &world.workers[worker] else {
            return;
        };
        let job = job.clone();
        world.workers[worker] = self.begins(world, job);
    }

    /// What the core says is to be done about the effect on record.
    fn begins(&self, world: &World, job: LeasedJob) -> Stage {
        let known = at_once(world.store.effects(&[job.id])).pop();
        let leaves_by = world.now.after(self.setup.may_wait());
        let next = begin(
            known.as_ref(),
            &self.names.declared,
            &job,
            leaves_by,
            world.now,
        );
        let known: Vec<Effect> = known.into_iter().collect();
        match next {
            Begin::Send(effect) => Stage::Intending(job, *effect),
            Begin::Return(result) => self.settling(world, &job, &known, Report::Succeeded(result)),
            Begin::Ask(effect) => Stage::Asking(job, *effect),
            Begin::AskAt(_, error) => {
                self.settling(world, &job, &known, Report::StillUnknown(error))
            }
            Begin::Person(error) => {
                let failure = Report::Failed(Failure::unknown(error));
                self.settling(world, &job, &known, failure)
            }
            Begin::Changed(name) => panic!("the model has one effect, not {name}"),
        }
    }

    fn settling(
        &self,
        world: &World,
        job: &LeasedJob,
        effects: &[Effect],
        report: Report,
    ) -> Stage {
        Stage::Settling(settle(job, effects, report, &self.policy, world.now, ROLL))
    }

    fn write(&self, world: &mut World, worker: usize, lost: bool) {
        let stage = world.workers[worker].clone();
        let next = match &stage {
            Stage::Intending(job, effect) => self.intend(world, job, effect),
            Stage::Telling(job, effect, then) => self.tell(world, job, effect, *then),
            Stage::Settling(settlement) => self.settle(world, settlement),
            Stage::Idle
            | Stage::Claimed(_)
            | Stage::Intended(..)
            | Stage::Cleared(..)
            | Stage::Calling(..)
            | Stage::Asking(..) => return,
        };
        if !lost {
            world.workers[worker] = next;
        }
    }

    fn intend(&self, world: &mut World, job: &LeasedJob, effect: &Effect) -> Stage {
        let write = EffectWrite {
            effect: effect.clone(),
            fence: Some(job.state.epoch),
            lease_until: effect
                .leaves_by
                .map(|leaves_by| leaves_by.after(self.setup.timeout()).after(TICK)),
        };
        match self.write_effect(world, write) {
            EffectWritten::Applied | EffectWritten::Already => {
                Stage::Intended(job.clone(), effect.clone())
            }
            EffectWritten::Changed(_) => Stage::Claimed(job.clone()),
            EffectWritten::Stale | EffectWritten::NotFound => Stage::Idle,
        }
    }

    fn tell(&self, world: &mut World, job: &LeasedJob, effect: &Effect, then: Then) -> Stage {
        let write = EffectWrite {
            effect: effect.clone(),
            fence: Some(job.state.epoch),
            lease_until: None,
        };
        match self.write_effect(world, write) {
            EffectWritten::Applied | EffectWritten::Already => {
                self.goes_on(world, job, effect, then)
            }
            EffectWritten::Changed(_) => Stage::Claimed(job.clone()),
            EffectWritten::Stale | EffectWritten::NotFound => Stage::Idle,
        }
    }

    /// A write of a worker; one under a lost lease must change nothing.
    pub(super) fn write_effect(&self, world: &mut World, write: EffectWrite) -> EffectWritten {
        let zombie = write.fence.is_some_and(|epoch| !world.runs_under(epoch));
        let written = at_once(world.store.write_effects(&[write], world.now)).pop();
        self.judge_zombie(world, zombie);
        match written {
            Some(written) => written,
            None => panic!("one write was asked for and none was answered"),
        }
    }

    fn goes_on(&self, world: &World, job: &LeasedJob, effect: &Effect, then: Then) -> Stage {
        let report = match then {
            Then::Again => return Stage::Claimed(job.clone()),
            Then::Succeed | Then::Swallow => Report::Succeeded(refund()),
            Then::Fail => Report::Failed(Failure::transient("it did not happen")),
            Then::FailForGood => Report::Failed(Failure::permanent("refused")),
            Then::Doubt => Report::Failed(Failure::unknown("nobody knows")),
            Then::StillUnknown => Report::StillUnknown("nobody knows yet".into()),
        };
        self.settling(world, job, std::slice::from_ref(effect), report)
    }

    fn settle(&self, world: &mut World, settlement: &Settlement) -> Stage {
        let zombie = !world.runs_under(settlement.fence.epoch);
        let advanced = at_once(world.store.advance(
            std::slice::from_ref(settlement),
            None,
            world.now,
        ));
        self.judge_zombie(world, zombie);
        match advanced.settled.first() {
            Some(Settled::Applied) => self.seen.settled.add(1),
            Some(Settled::Already | Settled::Stale) | None => {}
        }
        Stage::Idle
    }

    fn judge_zombie(&self, world: &mut World, zombie: bool) {
        if zombie {
            self.seen.zombie_writes.add(1);
            let before = world.record.clone();
            world.read();
            world.memory.zombie_wrote |= world.record != before;
        }
    }

    fn beat(&self, world: &mut World, worker: usize) {
        let Some(job) = world.workers[worker].job() else {
            return;
        };
        let (id, epoch) = (job.id, job.state.epoch);
        let extension = Extension {
            job: id,
            epoch,
            until: world.now.after(self.setup.lease()),
        };
        let zombie = !world.runs_under(epoch);
        let extended = at_once(world.store.extend(&[extension], world.now)).pop();
        self.judge_zombie(world, zombie);
        match (extended, world.workers[worker].job_mut()) {
            (
                Some(Extended::Held {
                    cancel_requested, ..
                }),
                Some(job),
            ) => {
                job.state.cancel_requested = cancel_requested;
            }
            (Some(Extended::Lost) | None, _) => world.workers[worker] = Stage::Idle,
            (_, None) => {}
        }
    }

    fn reap(&self, world: &mut World, worker: usize) {
        let Some(lost) = at_once(world.store.lapsed(world.now, 1)).pop() else {
            return;
        };
        self.seen.reaped.add(1);
        let effects = at_once(world.store.effects(&[lost.id]));
        world.workers[worker] = self.settling(world, &lost, &effects, Report::Lost);
    }
}

impl World {
    /// Keeps what the checks need of the way here.
    fn remember(&mut self) {
        let state = &self.record.job.state;
        match &self.memory.outcome {
            None if state.name().is_final() => self.memory.outcome = Some(state.clone()),
            None => {}
            Some(first) => self.memory.outcome_changed |= first != state,
        }
    }
}

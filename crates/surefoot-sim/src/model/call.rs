//! A worker and the provider: the call, its answer or its end without one, and the question what became of it.

use surefoot_core::effect::{Answer, Asked, Effect, Verdict, answered, asked};
use surefoot_core::job::LeasedJob;
use surefoot_core::time::Timestamp;

use super::Protocol;
use super::act::ROLL;
use super::around::{happened_so, refund};
use super::provider::Fate;
use super::worker::{Call, Stage, Then};
use super::world::World;

impl Protocol {
    /// The last look at the clock.
    fn may_leave(effect: &Effect, now: Timestamp) -> bool {
        effect.leaves_by.is_some_and(|leaves_by| now <= leaves_by)
    }

    pub(super) fn clear(&self, world: &mut World, worker: usize) {
        let Stage::Intended(job, effect) = world.workers[worker].clone() else {
            return;
        };
        world.workers[worker] = if Self::may_leave(&effect, world.now) {
            Stage::Cleared(job, effect)
        } else {
            self.not_sent(world, job, &effect)
        };
    }

    pub(super) fn send(&self, world: &mut World, worker: usize, fate: Fate) {
        let (job, effect, cleared) = match world.workers[worker].clone() {
            Stage::Intended(job, effect) => (job, effect, false),
            Stage::Cleared(job, effect) => (job, effect, true),
            Stage::Idle
            | Stage::Claimed(_)
            | Stage::Intending(..)
            | Stage::Calling(..)
            | Stage::Asking(..)
            | Stage::Telling(..)
            | Stage::Settling(_) => return,
        };
        world.workers[worker] = if cleared || Self::may_leave(&effect, world.now) {
            let left_at = world.now;
            self.seen.calls.add(1);
            world.provider.call(fate, self.setup.keeps_keys, left_at);
            Stage::Calling(job, effect, Call { left_at, fate })
        } else {
            self.seen.fenced_itself.add(1);
            self.not_sent(world, job, &effect)
        };
    }

    fn not_sent(&self, world: &World, job: LeasedJob, effect: &Effect) -> Stage {
        let told = Answer::NotSent("no room in the lease".into());
        let effect = answered(effect, told, None, world.now);
        Stage::Telling(job, effect, Then::Fail)
    }

    pub(super) fn answer(&self, world: &mut World, worker: usize) {
        let Stage::Calling(job, effect, call) = world.workers[worker].clone() else {
            return;
        };
        let (answer, then) = match call.fate {
            Fate::Lands(_) => {
                let applied = Answer::Applied {
                    result: refund(),
                    cost: None,
                };
                (applied, Then::Succeed)
            }
            Fate::Refused => (Answer::Rejected("refused".into()), Then::FailForGood),
            Fate::NotSent => (Answer::NotSent("no connection".into()), Then::Fail),
            Fate::Vanishes => return,
        };
        let effect = answered(&effect, answer, Some(call.left_at), world.now);
        world.workers[worker] = Stage::Telling(job, effect, then);
    }

    pub(super) fn give_up(&self, world: &mut World, worker: usize, swallows: bool) {
        let Stage::Calling(job, effect, call) = world.workers[worker].clone() else {
            return;
        };
        self.seen.given_up.add(1);
        let answer = Answer::MaybeApplied("no answer".into());
        let effect = answered(&effect, answer, Some(call.left_at), world.now);
        let then = if swallows { Then::Swallow } else { Then::Doubt };
        world.workers[worker] = Stage::Telling(job, effect, then);
    }

    pub(super) fn ask(&self, world: &mut World, worker: usize, hears: bool) {
        let Stage::Asking(job, effect) = world.workers[worker].clone() else {
            return;
        };
        let happened = world.provider.applied > 0 && !self.setup.limits.no_look_up;
        let verdict = match (hears, happened) {
            (false, _) => Verdict::StillUnknown { ask_again_in: None },
            (true, true) => happened_so(),
            (true, false) => Verdict::DidNotHappen,
        };
        let early = verdict == Verdict::DidNotHappen && world.now < effect.settles_at();
        self.seen.asked.add(1);
        self.seen.early_words.add(u64::from(early));
        let (effect, follows) = asked(&effect, verdict, &self.plan, world.now, world.now, ROLL);
        let then = match follows {
            Asked::Return(_) => Then::Succeed,
            Asked::Send => Then::Again,
            Asked::AskAt(..) => Then::StillUnknown,
            Asked::Person(_) => Then::Doubt,
        };
        world.workers[worker] = Stage::Telling(job, effect, then);
    }
}

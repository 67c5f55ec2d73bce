//! A place of a world where one process lives after the other: it stands still, dies and comes back under another name. It
//! knows no more of a process than that it has a life.

use std::time::Duration;

use surefoot_core::time::Timestamp;

use super::gate::End;
use super::life::Life;
use super::time::{T0, WorldTime};

/// What a slot asks of a process.
pub(super) trait Process {
    /// Its life; it ends with the process.
    fn life(&self) -> &Life;

    /// Counts what went wrong in its store, before it ends.
    fn tally(&self);
}

/// What goes wrong with one process.
#[derive(Clone, Debug)]
pub(super) enum Harm {
    /// It dies at the next call of the store but so many, before or after it takes effect, and comes back.
    Crash {
        calls: u32,
        after: bool,
        away: Duration,
    },
    /// It stands still after the next call of the store but so many, while time goes on.
    Freeze { calls: u32, lasts: Duration },
    /// Its store fails and is slow for a while.
    StoreTrouble { lasts: Duration, rate: f64 },
}

/// See the module.
pub(super) struct Slot<P> {
    lives: u32,
    process: Option<P>,
    back_at: Timestamp,
    frozen_until: Option<Timestamp>,
    rate: f64,
    trouble_until: Timestamp,
    /// When it begins anew, after it was told to stop.
    restarts_at: Option<Timestamp>,
}

impl<P: Process> Slot<P> {
    /// A place where no process has lived yet; the clocks of all of them run at this rate.
    pub(super) fn new(rate: f64) -> Self {
        Self {
            lives: 0,
            process: None,
            back_at: T0,
            frozen_until: None,
            rate,
            trouble_until: T0,
            restarts_at: None,
        }
    }

    /// The process that lives here, also while it stands still.
    pub(super) fn process(&self) -> Option<&P> {
        self.process.as_ref()
    }

    /// Lets it go on until `end`. `begin` makes the process where one is due, from the number of lives before and the rate of
    /// its clock.
    pub(super) fn turn(
        &mut self,
        time: &WorldTime,
        now: Timestamp,
        end: Timestamp,
        begin: impl FnOnce(u32, f64) -> std::io::Result<P>,
    ) -> std::io::Result<()> {
        if self.restarts_at.take_if(|at| *at <= now).is_some() {
            self.end();
        }
        if self.process.is_none() && self.back_at <= now {
            self.process = Some(begin(self.lives, self.rate)?);
            self.lives += 1;
            self.frozen_until = None;
        }
        let thawed = self.frozen_until.take_if(|until| *until <= now);
        if self.frozen_until.is_some() {
            return Ok(());
        }
        let Some(life) = self.process.as_ref().map(P::life) else {
            return Ok(());
        };
        life.run(time, thawed.map(|_| now), end);
        if let Some(lasts) = life.gate.froze() {
            self.frozen_until = Some(end.after(lasts));
        }
        if let Some(away) = life.gate.died() {
            self.back_at = end.after(away);
            self.end();
        }
        Ok(())
    }

    /// Harm comes to it.
    pub(super) fn suffer(&mut self, harm: &Harm, now: Timestamp) {
        let life = self.process.as_ref().map(P::life);
        let arm = |calls, end| life.iter().for_each(|life| life.gate.arm(calls, end));
        match *harm {
            Harm::Crash { calls, after, away } => {
                arm(
                    calls,
                    if after {
                        End::After(away)
                    } else {
                        End::Before(away)
                    },
                );
            }
            Harm::Freeze { calls, lasts } => arm(calls, End::Freeze(lasts)),
            Harm::StoreTrouble { lasts, rate } => {
                life.iter().for_each(|life| life.store_trouble(rate));
                self.trouble_until = now.after(lasts);
            }
        }
    }

    /// Its process was told to stop; another one begins then.
    pub(super) fn restart_at(&mut self, at: Timestamp) {
        self.restarts_at = Some(at);
    }

    /// Ends the trouble of its store where that is over.
    pub(super) fn expire_trouble(&self, now: Timestamp) {
        if let Some(process) = self.process.as_ref().filter(|_| self.trouble_until <= now) {
            process.life().store_trouble(0.0);
        }
    }

    /// It is back, and nothing goes wrong with it any more.
    pub(super) fn calm(&mut self, now: Timestamp) {
        self.back_at = now;
        self.trouble_until = T0;
        self.restarts_at = self.restarts_at.map(|_| now);
        self.frozen_until = self.frozen_until.map(|_| now);
        if let Some(life) = self.process.as_ref().map(P::life) {
            life.gate.disarm();
            life.store_trouble(0.0);
        }
    }

    /// Ends its process in the middle of whatever it does.
    pub(super) fn end(&mut self) {
        if let Some(process) = self.process.take() {
            process.tally();
        }
    }
}

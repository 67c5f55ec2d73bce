//! Who buys, in which order, and what the provider makes of each call. It is a function of the seed and the pace alone: it
//! reads no clock, so two runs of one seed meet the same weather.

use std::time::Duration;

use crate::provider::Whim;
use crate::times::{CLICKED_TWICE_MS, LATE, SLOW, WELL_MS};

/// How many buy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// For two minutes.
    Full,
    /// As few as show it all.
    Fast,
}

/// What the provider is going through when an order is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All is well.
    Calm,
    /// From 800 ms to 25 s.
    Slow,
    /// Connections are reset before anything happened.
    Resets,
    /// It charges and does not answer.
    Drops,
    /// It holds its answers while the checkout is killed.
    Killed,
    /// All is well again.
    Recovered,
}

/// One wish to buy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    pub(crate) order: String,
    pub(crate) phase: Phase,
    pub(crate) cents: u64,
    /// How often the button is pressed: once, or twice.
    pub(crate) clicks: u32,
    manner: Manner,
    /// How long an answer takes that comes.
    latency: Duration,
}

/// What the provider makes of the calls of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// It answers.
    Well,
    /// The first call takes long, and takes effect after a while.
    SlowOnce(Duration),
    /// Every call takes long.
    SlowAlways(Duration),
    /// The first calls are reset, before anything happened.
    Resets(u32),
    /// The first call takes effect, and its answer is dropped.
    DropsOnce,
}

impl Phase {
    /// Every phase, in the order of the story.
    pub const ALL: [Self; 6] = [
        Self::Calm,
        Self::Slow,
        Self::Resets,
        Self::Drops,
        Self::Killed,
        Self::Recovered,
    ];

    /// What is going on, for people.
    #[must_use]
    pub const fn told(self) -> &'static str {
        match self {
            Self::Calm => "all is well",
            Self::Slow => "the provider grows slow: 800 ms become 25 s",
            Self::Resets => "the provider resets connections",
            Self::Drops => "the provider charges and drops its answers",
            Self::Killed => "the checkout is killed with payments in flight",
            Self::Recovered => "the provider recovers",
        }
    }

    /// Whether the provider is out of order.
    #[must_use]
    pub const fn is_outage(self) -> bool {
        match self {
            Self::Calm | Self::Recovered => false,
            Self::Slow | Self::Resets | Self::Drops | Self::Killed => true,
        }
    }

    /// How many buy in it, at the fast pace.
    const fn intents(self) -> usize {
        match self {
            Self::Calm => 30,
            Self::Slow => 50,
            Self::Resets => 25,
            Self::Drops => 45,
            Self::Killed => KILLED_INTENTS,
            Self::Recovered => 30,
        }
    }
}

/// How many orders the kill is to hit, at any pace.
const KILLED_INTENTS: usize = 10;
/// The full pace has so many times the customers of the fast one.
const FULL: usize = 3;

/// Every intent in the order in which they come.
pub(crate) fn plan(seed: u64, pace: Pace) -> Vec<Intent> {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut intents = Vec::new();
    for phase in Phase::ALL {
        let times = match (pace, phase) {
            (Pace::Full, Phase::Killed) | (Pace::Fast, _) => 1,
            (Pace::Full, _) => FULL,
        };
        let mut manners = manners(phase, phase.intents() * times, &mut dice);
        dice.shuffle(&mut manners);
        for (manner, clicks) in manners {
            let latency = if clicks > 1 {
                dice.u64(CLICKED_TWICE_MS)
            } else {
                dice.u64(WELL_MS)
            };
            intents.push(Intent {
                order: format!("order-{:04}", intents.len() + 1),
                phase,
                cents: dice.u64(500..=20_000),
                clicks,
                manner,
                latency: Duration::from_millis(latency),
            });
        }
    }
    intents
}

/// The manners and clicks of a phase. How many are of which kind is nearly the same for every seed, so that every seed shows
/// the whole story; which customers they hit is not.
fn manners(phase: Phase, count: usize, dice: &mut fastrand::Rng) -> Vec<(Manner, u32)> {
    // Between two shares of the phase, in hundredths.
    let mut some = |low: usize, high: usize| dice.usize(count * low / 100..=count * high / 100);
    let late = |index: usize| {
        if index.is_multiple_of(2) {
            Duration::ZERO
        } else {
            LATE
        }
    };
    let mut kinds = Vec::new();
    match phase {
        Phase::Calm | Phase::Recovered => {
            kinds.extend((0..some(10, 20)).map(|_| (Manner::Well, 2)));
        }
        Phase::Slow => {
            let always = some(16, 24);
            kinds.extend((0..always).map(|index| (Manner::SlowAlways(late(index)), 1)));
            let once = some(34, 44);
            kinds.extend((0..once).map(|index| (Manner::SlowOnce(late(index)), 1)));
            kinds.extend((0..some(6, 10)).map(|_| (Manner::Well, 2)));
        }
        Phase::Resets => {
            // One call more for each: together less than a tenth of the outage's orders.
            kinds.extend((0..some(20, 28)).map(|_| (Manner::Resets(1), 1)));
            kinds.extend((0..some(4, 8)).map(|_| (Manner::Resets(2), 2)));
        }
        Phase::Drops => {
            kinds.extend((0..some(55, 70)).map(|_| (Manner::DropsOnce, 1)));
            kinds.extend((0..some(6, 10)).map(|_| (Manner::DropsOnce, 2)));
        }
        Phase::Killed => kinds.extend((0..count).map(|_| (Manner::SlowOnce(Duration::ZERO), 1))),
    }
    kinds.resize(count, (Manner::Well, 1));
    kinds
}

impl Intent {
    /// What becomes of its n-th call, from 1.
    pub(crate) fn whim(&self, call: u32) -> Whim {
        let answered = Whim::Answer(self.latency);
        let slow = |applies_after| Whim::Slow {
            applies_after,
            answers_after: SLOW,
        };
        match self.manner {
            Manner::Well => answered,
            Manner::SlowOnce(applies_after) if call == 1 => slow(applies_after),
            Manner::SlowAlways(applies_after) => slow(applies_after),
            Manner::Resets(calls) if call <= calls => Whim::Reset,
            Manner::DropsOnce if call == 1 => Whim::Drop,
            Manner::SlowOnce(_) | Manner::Resets(_) | Manner::DropsOnce => answered,
        }
    }

    /// Whether no call of it is ever answered in time.
    pub(crate) const fn is_hopeless(&self) -> bool {
        matches!(self.manner, Manner::SlowAlways(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::{BOOKS_QUIET, CHARGE_TIMEOUT, PLAIN_TIMEOUT, SETTLES_WITHIN};

    #[test]
    fn the_same_seed_gives_the_same_weather_and_another_one_another() {
        assert_eq!(plan(1, Pace::Fast), plan(1, Pace::Fast));
        assert_ne!(plan(1, Pace::Fast), plan(2, Pace::Fast));
    }

    #[test]
    fn what_has_to_be_sent_again_stays_below_a_tenth_of_the_outage_for_every_seed() {
        for seed in 0..1000 {
            for pace in [Pace::Fast, Pace::Full] {
                let plan = plan(seed, pace);
                let outage = || plan.iter().filter(|intent| intent.phase.is_outage());
                let resets: u32 = outage()
                    .map(|intent| match intent.manner {
                        Manner::Resets(calls) => calls,
                        Manner::Well
                        | Manner::SlowOnce(_)
                        | Manner::SlowAlways(_)
                        | Manner::DropsOnce => 0,
                    })
                    .sum();
                assert!(resets > 0, "seed {seed}");
                assert!(resets as usize * 10 < outage().count(), "seed {seed}");
            }
        }
    }

    #[test]
    fn what_is_late_is_late_for_every_caller_and_not_for_the_books() {
        for limit in [PLAIN_TIMEOUT, CHARGE_TIMEOUT] {
            assert!(limit < LATE);
        }
        assert!(LATE < SETTLES_WITHIN && LATE < BOOKS_QUIET);
    }

    #[test]
    fn every_phase_shows_what_it_is_named_after() {
        for seed in 0..100 {
            let plan = plan(seed, Pace::Fast);
            let is = |phase, whim: fn(&Whim) -> bool| {
                let mut of = plan.iter().filter(move |intent| intent.phase == phase);
                of.any(|intent| whim(&intent.whim(1)))
            };
            assert!(is(Phase::Slow, |whim| matches!(whim, Whim::Slow { .. })));
            assert!(is(Phase::Resets, |whim| *whim == Whim::Reset));
            assert!(is(Phase::Drops, |whim| *whim == Whim::Drop));
            assert!(is(Phase::Killed, |whim| matches!(whim, Whim::Slow { .. })));
            for phase in [Phase::Calm, Phase::Recovered] {
                let mut of = plan.iter().filter(|intent| intent.phase == phase);
                assert!(of.all(|intent| matches!(intent.whim(1), Whim::Answer(_))));
            }
        }
    }
}

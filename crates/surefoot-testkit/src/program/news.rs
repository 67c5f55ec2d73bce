//! News of effects as a program spells them, and the write that the core makes of each.

use std::time::Duration;

use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use surefoot_core::effect::{
    Answer, Begin, Declared, Effect, EffectRecovery, EffectTerms, Verdict, VerifyPlan, Witness,
    Witnessed, answered, asked, begin, permitted, remembered, witnessed,
};
use surefoot_core::id::{Actor, DependencyName, EffectName};
use surefoot_core::job::LeasedJob;
use surefoot_core::port::{By, EffectWrite};
use surefoot_core::time::{Roll, Timestamp};

use super::draft::{name, payload, rarely};

/// How many effects a job has at most.
const PLACES: u8 = 2;

/// How long after a call is begun it may leave.
const LEAVES_WITHIN: Duration = Duration::from_secs(10);

/// A piece of news of an effect; small numbers stand for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct News {
    /// Under which lease, held or not.
    pub(super) lease: u8,
    pub(super) place: u8,
    pub(super) what: What,
    /// 1 to use an epoch that was never given.
    pub(super) epoch_off: u8,
    /// For how many seconds from now the lease is to hold.
    pub(super) room: Option<u8>,
}

/// What the news are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The handler comes to the effect, under these terms.
    Begin(u8),
    /// A step was computed.
    Computed(u8),
    /// The call was answered.
    Answered(u8),
    /// The provider was asked.
    Asked(u8),
    /// A webhook came.
    Told(u8),
    /// A person ordered to send it again.
    Permitted,
}

/// One to three pieces of news, of one lease and place more often than not.
pub(super) fn news() -> impl Strategy<Value = Vec<News>> {
    (any::<u8>(), proptest::collection::vec(one(), 1..4)).prop_map(|(lease, mut all)| {
        for news in all.iter_mut().filter(|news| news.lease < 192) {
            news.lease = lease;
        }
        all
    })
}

fn one() -> impl Strategy<Value = News> {
    let what = prop_oneof![
        6 => (0..5_u8).prop_map(What::Begin),
        1 => (0..4_u8).prop_map(What::Computed),
        4 => (0..5_u8).prop_map(What::Answered),
        3 => (0..6_u8).prop_map(What::Asked),
        4 => (0..6_u8).prop_map(What::Told),
        1 => Just(What::Permitted),
    ];
    let room = option::weighted(0.3, 1..120_u8);
    (any::<u8>(), rarely(1), what, rarely(1), room).prop_map(
        |(lease, place, what, epoch_off, room)| News {
            lease,
            place: place % PLACES,
            what,
            epoch_off,
            room,
        },
    )
}

impl News {
    /// The holder is about to call what can be asked about.
    pub(super) const fn of_a_call(lease: u8) -> Self {
        Self {
            lease,
            place: 0,
            what: What::Begin(0),
            epoch_off: 0,
            room: None,
        }
    }

    /// The write that follows from the news, or why nothing is to be written.
    pub(super) fn write(
        &self,
        known: &[Effect],
        lease: &LeasedJob,
        epoch_off: i64,
        now: Timestamp,
    ) -> Result<EffectWrite, String> {
        let place = u32::from(self.place);
        let known = known.iter().find(|effect| effect.place == place);
        let effect = self.effect(known, lease, now)?;
        let by_holder = !matches!(self.what, What::Told(_) | What::Permitted);
        let mut epoch = lease.state.epoch;
        epoch.0 += i64::from(self.epoch_off) * epoch_off;
        let room = |seconds: u8| now.after(Duration::from_secs(seconds.into()));
        Ok(EffectWrite {
            effect,
            fence: by_holder.then_some(epoch),
            lease_until: self.room.map(room),
        })
    }

    fn effect(
        &self,
        known: Option<&Effect>,
        lease: &LeasedJob,
        now: Timestamp,
    ) -> Result<Effect, String> {
        let nothing = || Err("nothing is on record".to_owned());
        match (self.what, known) {
            (What::Begin(number), _) => {
                let declared = declared(self.place, number);
                match begin(known, &declared, lease, now.after(LEAVES_WITHIN), now) {
                    Begin::Send(effect) => Ok(*effect),
                    other => Err(format!("{other:?}")),
                }
            }
            (What::Computed(number), None) => {
                let declared = declared(self.place, 0);
                Ok(remembered(&declared, lease, payload(number), now))
            }
            (What::Computed(_), Some(_)) => Err("it is on record".to_owned()),
            (What::Answered(number), Some(known)) => {
                Ok(answered(known, answer(number), Some(now), now))
            }
            (What::Asked(number), Some(known)) => {
                Ok(asked(known, verdict(number), &plan(), now, now, Roll(0)).0)
            }
            (What::Told(number), Some(known)) => {
                let by = Witness::Caller(name(Actor::new(format!("hook-{number}"))));
                match witnessed(known, &verdict(number), by, now) {
                    Witnessed::Settled(effect) | Witnessed::Disputed(effect) => Ok(*effect),
                    other => Err(format!("{other:?}")),
                }
            }
            (What::Permitted, Some(known)) => {
                let by = By {
                    actor: name(Actor::new("ada")),
                    reason: "send it again".into(),
                };
                permitted(known, by, now).ok_or_else(|| "it is not in question".to_owned())
            }
            (What::Answered(_) | What::Asked(_) | What::Told(_) | What::Permitted, None) => {
                nothing()
            }
        }
    }
}

fn declared(place: u8, terms: u8) -> Declared {
    let second = Duration::from_secs(1);
    let recovery = [
        EffectRecovery::Verify {
            settles_within: second * 20,
        },
        EffectRecovery::SameKey {
            ttl: Some(second * 60),
        },
        EffectRecovery::AtMostOnce,
        EffectRecovery::Repeatable,
        EffectRecovery::Step,
    ][usize::from(terms) % 5];
    Declared {
        place: place.into(),
        name: name(EffectName::new(format!("effect-{place}"))),
        dependency: (place == 0).then(|| name(DependencyName::new("psp"))),
        terms: EffectTerms {
            recovery,
            timeout: second * 5,
        },
        cost: u64::from(terms) * 7,
    }
}

fn answer(number: u8) -> Answer {
    match number {
        0 | 1 => Answer::MaybeApplied("timed out".into()),
        2 => Answer::Applied {
            result: payload(number),
            cost: Some(number.into()),
        },
        3 => Answer::Rejected("refused".into()),
        _ => Answer::NotSent("no connection".into()),
    }
}

fn verdict(number: u8) -> Verdict {
    match number {
        0 => Verdict::Happened {
            result: payload(number),
            cost: None,
        },
        1 | 2 => Verdict::DidNotHappen,
        3 => Verdict::StillUnknown { ask_again_in: None },
        4 => Verdict::StillUnknown {
            ask_again_in: Some(Duration::from_secs(30)),
        },
        _ => Verdict::NeedsHuman("two of this amount".into()),
    }
}

fn plan() -> VerifyPlan {
    VerifyPlan {
        asks_max: 3,
        ..VerifyPlan::default()
    }
}

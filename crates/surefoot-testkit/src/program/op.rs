//! The operations and how they are drawn. Slots are numbers that are taken modulo what there is, so that a program
//! stays a program when it is shrunk.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

use super::draft::{Draft, draft, rarely};
use super::news::{News, news};

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Hands in new jobs.
    Enqueue(Vec<Draft>),
    /// Hands in an earlier batch again, as it was.
    EnqueueAgain {
        /// Which batch.
        batch: u8,
    },
    /// Settles what earlier claims gave, then claims.
    Advance {
        /// What to settle.
        ends: Vec<End>,
        /// What to claim.
        claim: Option<Take>,
    },
    /// Does the latest settlement and claim again, as it was.
    AdvanceAgain,
    /// Extends leases.
    Extend {
        /// Which leases, held or not.
        leases: Vec<u8>,
        /// For how long from now.
        seconds: u8,
        /// By the heart, or by the store.
        by_heart: bool,
    },
    /// Writes down what is heard of effects.
    Hear(Vec<News>),
    /// A handler runs out of time in the middle of a call.
    TimeOut {
        /// Under which lease.
        lease: u8,
    },
    /// Writes an earlier batch of effects again, as it was.
    HearAgain {
        /// Which batch.
        batch: u8,
    },
    /// There is news of a job's effect.
    Hasten {
        /// Which.
        job: u8,
    },
    /// A holder says how its attempt went, whether it was settled without it or not.
    Late {
        /// Under which lease.
        lease: u8,
        /// What it says.
        word: u8,
    },
    /// Settles lapsed leases as lost.
    Reap,
    /// Makes dead letters of jobs whose deadline passed.
    Expire,
    /// A person withdraws a job.
    Cancel {
        /// Which.
        job: u8,
    },
    /// A person replays a job.
    Replay {
        /// Which.
        job: u8,
        /// 0 without a word, 1 as the same effect, 2 as a new one.
        effect: u8,
    },
    /// A person sets a job aside.
    Ignore {
        /// Which.
        job: u8,
    },
    /// A person edits a job.
    Edit {
        /// Which.
        job: u8,
        /// The new payload.
        payload: u8,
    },
    /// A person pauses a queue.
    Pause {
        /// Which.
        queue: u8,
    },
    /// A person lets a queue go on.
    Resume {
        /// Which.
        queue: u8,
    },
    /// Time passes.
    Pass {
        /// How much.
        seconds: u8,
    },
    /// A hundred days pass, and history of more than a day is dropped.
    Forget,
    /// Reads lists, groups and depth.
    Look,
}

/// A settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) lease: u8,
    pub(super) how: How,
    /// 1 to use an epoch that was never given.
    pub(super) epoch_off: u8,
    pub(super) roll: u64,
}

/// What is reported of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It succeeded.
    Success,
    /// It failed and may be tried again.
    Transient,
    /// It failed for good.
    Permanent,
    /// Nobody knows.
    Unknown,
    /// The provider was asked, and nobody knows.
    StillUnknown,
    /// It stopped as asked.
    Stopped,
    /// It was turned away.
    PutOff,
    /// A time-out fired.
    TimedOut,
    /// It was given back.
    Released,
    /// Its lease lapsed.
    Lost,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Take {
    /// How many.
    pub(super) max: u8,
    /// Which kinds: a bit for each.
    pub(super) kinds: u8,
    /// 0 none, 1 the same key, 2 at most once, 3 repeatable.
    pub(super) recovery: u8,
    pub(super) scope: Scope,
}

/// Which queues, and the limits. What limits of kinds and keys do to the order over several queues is left open by
/// the port, so they are drawn for one queue only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// All queues, each with its limit.
    All {
        /// By queue.
        limits: [Option<u8>; 2],
    },
    /// One queue.
    One {
        /// Which.
        queue: u8,
        /// Its limit.
        limit: Option<u8>,
        /// The limit of each kind.
        kind_max: Option<u8>,
        /// The limit of each kind and concurrency key.
        key_max: Option<u8>,
    },
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let job = || any::<u8>();
    prop_oneof![
        8 => vec(draft(), 1..4).prop_map(Op::Enqueue),
        1 => any::<u8>().prop_map(|batch| Op::EnqueueAgain { batch }),
        20 => (vec(end(), 0..4), option::weighted(0.8, take()))
            .prop_map(|(ends, claim)| Op::Advance { ends, claim }),
        1 => Just(Op::AdvanceAgain),
        2 => (vec(job(), 1..4), 1..120_u8, any::<bool>())
            .prop_map(|(leases, seconds, by_heart)| Op::Extend { leases, seconds, by_heart }),
        6 => news().prop_map(Op::Hear),
        4 => any::<u8>().prop_map(|lease| Op::TimeOut { lease }),
        2 => any::<u8>().prop_map(|batch| Op::HearAgain { batch }),
        2 => job().prop_map(|job| Op::Hasten { job }),
        2 => (any::<u8>(), 0..3_u8).prop_map(|(lease, word)| Op::Late { lease, word }),
        4 => Just(Op::Reap),
        1 => Just(Op::Expire),
        3 => job().prop_map(|job| Op::Cancel { job }),
        4 => (job(), 0..4_u8).prop_map(|(job, effect)| Op::Replay { job, effect: effect.min(2) }),
        1 => job().prop_map(|job| Op::Ignore { job }),
        4 => (job(), 0..4_u8).prop_map(|(job, payload)| Op::Edit { job, payload }),
        1 => (0..2_u8).prop_map(|queue| Op::Pause { queue }),
        2 => (0..2_u8).prop_map(|queue| Op::Resume { queue }),
        7 => (0..90_u8).prop_map(|seconds| Op::Pass { seconds }),
        1 => Just(Op::Look),
        1 => rarely(1).prop_map(|coin| if coin == 1 { Op::Forget } else { Op::Look }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    let how = prop_oneof![
        3 => Just(How::Success),
        3 => Just(How::Transient),
        2 => Just(How::Permanent),
        1 => Just(How::Unknown),
        1 => Just(How::StillUnknown),
        1 => Just(How::Stopped),
        1 => Just(How::PutOff),
        1 => Just(How::TimedOut),
        2 => Just(How::Released),
        1 => Just(How::Lost),
    ];
    (any::<u8>(), how, rarely(1), any::<u64>()).prop_map(|(lease, how, epoch_off, roll)| End {
        lease,
        how,
        epoch_off,
        roll,
    })
}

fn take() -> impl Strategy<Value = Take> {
    let limit = || option::weighted(0.3, 1..4_u8);
    let all = [limit(), limit()].prop_map(|limits| Scope::All { limits });
    let one = (0..2_u8, limit(), limit(), option::weighted(0.4, 1..3_u8)).prop_map(
        |(queue, limit, kind_max, key_max)| Scope::One {
            queue,
            limit,
            kind_max,
            key_max,
        },
    );
    (0..6_u8, 1..8_u8, 0..4_u8, prop_oneof![all, one]).prop_map(|(max, kinds, recovery, scope)| {
        Take {
            max,
            kinds,
            recovery,
            scope,
        }
    })
}

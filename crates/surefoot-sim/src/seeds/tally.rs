//! What happened in worlds, by name, and how often each has to happen at least: worlds in which little goes wrong prove
//! little.

use std::collections::BTreeMap;
use std::fmt;

macro_rules! happenings {
    ($($name:ident $word:literal $floor:literal,)*) => {
        /// Something that happens in a world.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) enum Happened {
            $(#[doc = $word] $name,)*
        }

        impl Happened {
            const ALL: &[Self] = &[$(Self::$name,)*];

            const fn word(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// How often at least in 1000 worlds.
            const fn floor(self) -> u64 {
                match self { $(Self::$name => $floor,)* }
            }
        }
    };
}

happenings! {
    Enqueued "intents handed in" 3000,
    Clicked "the same intent handed in again" 500,
    Conflicted "another payload under a key" 50,
    Started "handlers started" 5000,
    Called "calls to providers" 4000,
    TimedOut "calls given up: a time-out, a crash, a lost lease" 300,
    AnswerLost "effects whose answer was lost" 300,
    LandedLate "effects that landed after the caller gave up" 100,
    Refused "calls refused (4xx)" 100,
    Failed "calls failed (5xx)" 100,
    Reset "connections reset" 100,
    NotSent "calls that did not leave" 100,
    Asked "verifications" 300,
    AskedEarly "\"not found\" before it could count" 50,
    AskFailed "verifications without an answer" 30,
    Hooked "webhooks" 300,
    HookTwice "webhooks that came again" 50,
    HookCounted "webhooks that settled an effect" 20,
    Disputed "witnesses that disagreed" 0,
    StoreBefore "store failed before a commit" 300,
    StoreAfter "store failed after a commit" 300,
    StoreSlow "store was slow" 300,
    CrashBefore "crashes before a commit" 50,
    CrashAfter "crashes after a commit" 50,
    Froze "nodes frozen" 100,
    Drained "nodes drained" 10,
    Jumped "jumps of the database's clock" 20,
    LeaseLost "leases found lost by their holder" 30,
    Reaped "leases found lost by others" 100,
    ZombieRefused "writes under a lost lease refused" 30,
    FencedItself "calls held back as too late" 3,
    CrashLoop "dead letters by crashes" 1,
    OutcomeUnknown "dead letters of unknown outcome" 50,
    OtherDead "other dead letters" 50,
    Resolved "effects settled by a person" 20,
    ReplayedSame "replays as the same effect" 20,
    ReplayedNew "replays as a new effect" 5,
    Edited "payloads edited" 5,
    Ignored "dead letters ignored" 5,
    CancelAsked "cancellations asked for" 50,
    Cancelled "jobs cancelled" 10,
    Succeeded "jobs succeeded" 2000,
    DoorRan "requests run" 1500,
    DoorEffect "effects of requests" 1500,
    DoorExecuted "answers of a run" 1200,
    DoorReplayed "answers replayed" 3000,
    DoorNotKept "answers that were not kept" 100,
    DoorOutstanding "told that it runs" 500,
    DoorUnknown "told that nobody knows" 300,
    DoorMismatch "told that the key is another request's" 200,
    DoorRefused "refused because the store is away" 20,
    DoorNotRecorded "answers that could not be written down" 0,
    DoorOther "told something else" 0,
    DoorLeft "clients that went away" 150,
    DoorAsked "questions what became of a request" 800,
    DoorResolved "requests settled by a person" 80,
    DoorDiedCalling "doors that died while the service was called" 50,
    DoorStoreBefore "store of a door failed before a commit" 50,
    DoorStoreAfter "store of a door failed after a commit" 50,
    MessageCommitted "messages committed" 10000,
    MessageGiven "messages given to a sink" 20000,
    MessageGivenAgain "messages given again" 10000,
    MessageApplied "messages applied" 20000,
    MessageDuplicate "duplicates that a receipt caught" 4000,
    MessageLandedLate "messages applied after their relay was gone" 1500,
    MessageFailed "deliveries failed" 8000,
    MessageParked "messages parked" 2000,
    MessageParkedLost "messages parked as their relays were lost" 100,
    MessageStale "marks under a lost lease refused" 200,
    MessageMarkDropped "marks that could not be written in time" 10,
    MessageTakeLost "takes whose answer was lost" 1200,
    MessageDeparted "departures" 1000,
    MessageAgain "messages tried again by a person" 1500,
    MessageSkipped "messages skipped by a person" 500,
    MessageForgotten "messages forgotten" 1000,
}

/// Counts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Happened, u64>);

impl Tally {
    pub(super) fn add(&mut self, what: Happened, more: u64) {
        *self.0.entry(what).or_default() += more;
    }

    pub(super) fn of(&self, what: Happened) -> u64 {
        self.0.get(&what).copied().unwrap_or_default()
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            self.add(*what, *count);
        }
    }

    /// What happened too rarely in so many worlds, in words.
    #[must_use]
    pub fn too_rare(&self, worlds: u64) -> Vec<String> {
        let all = Happened::ALL.iter();
        all.filter_map(|what| {
            let floor = what.floor() * worlds / 1000;
            let count = self.of(*what);
            (count < floor).then(|| format!("{}: {count}, at least {floor}", what.word()))
        })
        .collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for what in Happened::ALL {
            writeln!(f, "{:>10}  {}", self.of(*what), what.word())?;
        }
        Ok(())
    }
}

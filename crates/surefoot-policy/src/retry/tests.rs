//! When another attempt follows, as a table, and how waits spread.

use std::time::Duration;

use surefoot_core::classify::{Certainty, Class};
use surefoot_core::time::Roll;

use super::*;
use crate::clock::{Dice, SeededDice};
use crate::meaning::Meaning;
use crate::meta::Meta;

const READ: Meta<'static> = Meta::idempotent();
const PAY: Meta<'static> = Meta::once_only();
const KEYED: Meta<'static> = Meta::keyed("k1");

fn situation<'a>(meta: &'a Meta<'a>, meaning: Meaning) -> Situation<'a> {
    Situation {
        meta,
        meaning,
        attempts: 1,
        replayed: false,
        has_outer: false,
        previous: None,
        left: Duration::from_secs(10),
        attempt_min: Duration::from_millis(5),
    }
}

fn decided(situation: &Situation<'_>) -> Result<(), Suppressed> {
    match next(&RetryOptions::default(), situation, Roll(u64::MAX / 2)) {
        Next::After(_) | Next::Replay => Ok(()),
        Next::Stop(why) => Err(why),
    }
}

#[test]
fn a_call_that_must_not_happen_twice_is_sent_again_only_when_nothing_was_applied() {
    let with = |certainty| Meaning {
        certainty,
        ..Meaning::TRANSIENT
    };
    for certainty in [
        Certainty::NotSent,
        Certainty::Rejected,
        Certainty::MaybeApplied,
        Certainty::Applied,
    ] {
        let harmless = matches!(certainty, Certainty::NotSent | Certainty::Rejected);
        let expected = if harmless {
            Ok(())
        } else {
            Err(Suppressed::NotRepeatable)
        };
        assert_eq!(
            decided(&situation(&PAY, with(certainty))),
            expected,
            "{certainty}"
        );
        assert_eq!(decided(&situation(&READ, with(certainty))), Ok(()));
        assert_eq!(decided(&situation(&KEYED, with(certainty))), Ok(()));
        let unknown = Meaning {
            class: Class::Unknown,
            ..with(certainty)
        };
        assert_eq!(decided(&situation(&PAY, unknown)), expected, "{certainty}");
    }
}

#[test]
fn each_reason_to_stop() {
    let base = situation(&READ, Meaning::TRANSIENT);
    let once = Meta { once: true, ..READ };
    let table = [
        (
            Situation {
                attempts: 3,
                ..base
            },
            Err(Suppressed::Attempts),
        ),
        (
            Situation {
                attempts: 2,
                ..base
            },
            Ok(()),
        ),
        (
            Situation {
                has_outer: true,
                ..base
            },
            Err(Suppressed::Owner),
        ),
        (
            Situation {
                meta: &once,
                ..base
            },
            Err(Suppressed::BodyConsumed),
        ),
        (
            Situation {
                left: Duration::from_millis(55),
                ..base
            },
            Err(Suppressed::Deadline),
        ),
        (
            Situation {
                left: Duration::ZERO,
                ..base
            },
            Err(Suppressed::Deadline),
        ),
        (
            Situation {
                meaning: Meaning::REFUSED,
                ..base
            },
            Err(Suppressed::Permanent),
        ),
        (
            Situation {
                meaning: Meaning::CANCELLED,
                ..base
            },
            Err(Suppressed::Cancelled),
        ),
    ];
    for (situation, expected) in table {
        assert_eq!(decided(&situation), expected, "{situation:?}");
    }
}

#[test]
fn a_call_that_never_left_is_replayed_once_for_free() {
    let stale = Meaning {
        free_replay: true,
        ..Meaning::NOT_SENT
    };
    let first = situation(&PAY, stale);
    assert_eq!(
        next(&RetryOptions::default(), &first, Roll(0)),
        Next::Replay
    );
    let second = Situation {
        replayed: true,
        ..first
    };
    assert!(matches!(
        next(&RetryOptions::default(), &second, Roll(0)),
        Next::After(_)
    ));
}

#[test]
fn what_the_dependency_asks_for_is_the_least_and_spreads_to_later_only() {
    let dice = SeededDice::new(1);
    let asked = situation(
        &READ,
        Meaning::THROTTLED.retry_after(Some(Duration::from_secs(2))),
    );
    let waits: Vec<f64> = (0..1000)
        .map(
            |_| match next(&RetryOptions::default(), &asked, dice.roll()) {
                Next::After(wait) => wait.as_secs_f64(),
                other => panic!("{other:?}"),
            },
        )
        .collect();
    assert!(waits.iter().all(|wait| (2.0..=2.5).contains(wait)));
    assert!(
        waits.iter().filter(|wait| **wait > 2.25).count() > 400,
        "they spread"
    );
    let zero = situation(&READ, Meaning::THROTTLED.retry_after(Some(Duration::ZERO)));
    assert!(
        matches!(next(&RetryOptions::default(), &zero, Roll(u64::MAX)), Next::After(wait) if wait.as_millis() == 100)
    );
}

#[test]
fn a_wait_beyond_the_deadline_fails_at_once() {
    for after in [Duration::from_secs(11), Duration::MAX] {
        let asked = situation(&READ, Meaning::THROTTLED.retry_after(Some(after)));
        assert_eq!(decided(&asked), Err(Suppressed::RetryAfterExceedsDeadline));
    }
}

#[test]
fn options_are_read_from_text_and_their_faults_are_told_together() {
    let options: RetryOptions = toml::from_str(
        "attempts_max = 4\nbackoff = { base = \"1s\", cap = \"30s\", jitter = { fraction = 0.25 } }",
    )
    .unwrap();
    assert_eq!(options.validate(), Vec::<String>::new());
    let list: RetryOptions = toml::from_str("backoff = { delays = [\"1s\", \"5s\"] }").unwrap();
    assert!(matches!(list.backoff, BackoffOptions::List(_)));
    let wrong = RetryOptions {
        attempts_max: 0,
        backoff: BackoffOptions::exponential(Duration::from_secs(10), Duration::from_secs(1)),
        retry_after_max: Duration::ZERO,
    };
    assert_eq!(wrong.validate().len(), 3, "{:?}", wrong.validate());
}

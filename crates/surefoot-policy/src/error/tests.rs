//! What a failed call says of itself, to people, to a layer above and to a job.

use std::time::Duration;

use surefoot_core::classify::Certainty::{self, Applied, MaybeApplied, NotSent, Rejected};
use surefoot_core::classify::Class;
use surefoot_core::failure::Failure;

use super::call_error::{CallError, FORCED_OPEN};
use super::kinds::{Kind, Rejection, Story, together};
use crate::meaning::{Meaning, Meant};
use crate::retry::Suppressed;

#[test]
fn what_may_have_been_applied_stays_so() {
    let table = [
        (NotSent, Rejected, Rejected),
        (MaybeApplied, NotSent, MaybeApplied),
        (Rejected, Applied, Applied),
    ];
    for (one, other, both) in table {
        assert_eq!((together(one, other), together(other, one)), (both, both));
    }
}

#[test]
fn a_rejection_puts_a_job_off_and_an_unknown_outcome_is_not_a_failure() {
    let rejected = CallError::<String>::rejected(
        "psp".into(),
        Rejection::BreakerOpen,
        Some(Duration::from_secs(3)),
    );
    assert_eq!(rejected.meaning().class, Class::Permanent);
    let failure = rejected.into_failure();
    assert!(failure.put_off);
    assert_eq!(failure.retry_after, Some(Duration::from_secs(3)));
    let story = Box::new(Story {
        attempts: Vec::new(),
        source: Some("boom".to_owned()),
    });
    let unknown = CallError::failed(
        "psp".into(),
        Kind::Failed,
        MaybeApplied,
        Meaning::TRANSIENT,
        Suppressed::NotRepeatable,
        story,
    );
    assert_eq!(
        unknown.to_string(),
        "the call of psp failed, no further attempt: not_repeatable: boom"
    );
    assert_eq!(unknown.into_failure().class, Class::Unknown);
}

#[test]
fn a_job_is_told_what_may_have_happened_at_the_other_end() {
    let table = [
        (NotSent, Meaning::NOT_SENT),
        (Rejected, Meaning::REFUSED),
        (Rejected, Meaning::THROTTLED),
        // The first attempt timed out, the second one was turned away.
        (MaybeApplied, Meaning::THROTTLED),
    ];
    for (certainty, meaning) in table {
        let story = Box::new(Story {
            attempts: Vec::new(),
            source: Some("boom".to_owned()),
        });
        let attempts = Suppressed::Attempts;
        let error = CallError::failed(
            "psp".into(),
            Kind::Failed,
            certainty,
            meaning,
            attempts,
            story,
        );
        assert_eq!(error.into_failure().certainty(), certainty, "{meaning:?}");
    }
}

#[test]
fn a_guard_that_names_no_time_leaves_it_to_the_one_rule() {
    for rejection in Rejection::ALL {
        let turned_away = |after| CallError::<String>::rejected("psp".into(), rejection, after);
        let named = Some(Duration::from_secs(3));
        let wait = turned_away(named).into_failure().retry_after;
        assert_eq!(wait, named, "{rejection:?}");
        let failure = turned_away(None).into_failure();
        let forced = (rejection == Rejection::ForcedOpen).then_some(FORCED_OPEN);
        assert_eq!(
            (failure.put_off, failure.retry_after),
            (true, forced),
            "{rejection:?}"
        );
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the shop could not pay")]
struct Shop<E: std::error::Error + 'static>(#[source] CallError<E>);

/// By `?`, at once and inside an error of the caller's.
#[test]
fn a_handler_that_passes_a_call_on_says_what_the_call_knows() {
    use std::io::{Error, ErrorKind};
    let turned_away = || CallError::<Error>::rejected("psp".into(), Rejection::BulkheadFull, None);
    let failed = |certainty, meaning, source| {
        let story = Box::new(Story {
            attempts: Vec::new(),
            source,
        });
        let (kind, why) = (Kind::Failed, Suppressed::Attempts);
        CallError::failed("psp".into(), kind, certainty, meaning, why, story)
    };
    let reset = || Some(Error::from(ErrorKind::ConnectionReset));
    // The last attempt was not sent; the one before it may have been applied.
    let doubtful = || failed(MaybeApplied, Meaning::NOT_SENT, reset());
    let refused = || failed(Rejected, Meaning::REFUSED, None);
    type Case = (CallError<Error>, CallError<Error>, Class, bool, Certainty);
    let table: [Case; 3] = [
        (
            turned_away(),
            turned_away(),
            Class::Transient,
            true,
            NotSent,
        ),
        (doubtful(), doubtful(), Class::Unknown, false, MaybeApplied),
        (refused(), refused(), Class::Permanent, false, Rejected),
    ];
    for (one, other, class, put_off, certainty) in table {
        for failure in [Failure::from(one), Failure::from(Shop(other))] {
            let said = (failure.class, failure.put_off, failure.certainty());
            assert_eq!(said, (class, put_off, certainty), "{failure:?}");
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("error sending request")]
struct Sending(#[source] std::io::Error);

#[test]
fn the_causes_of_the_last_error_are_told() {
    let refused = std::io::Error::other("connection refused");
    let story = Box::new(Story {
        attempts: Vec::new(),
        source: Some(Sending(refused)),
    });
    let (kind, why) = (Kind::Failed, Suppressed::Attempts);
    let error = CallError::failed("psp".into(), kind, NotSent, Meaning::NOT_SENT, why, story);
    assert_eq!(
        Failure::from(error).text.as_str(),
        "the call of psp failed, no further attempt: attempts: error sending request: connection refused"
    );
}

#[test]
fn an_error_is_small() {
    assert!(std::mem::size_of::<CallError<[u8; 4096]>>() <= 96);
}

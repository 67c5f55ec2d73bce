//! Effects: a write applies only when it follows on the one on record, and a holder's only under its epoch.

use std::slice::from_ref;
use std::sync::Arc;

use surefoot_core::effect::Effect;
use surefoot_core::id::{Epoch, JobId};
use surefoot_core::job::{JobState, StateName};
use surefoot_core::port::{EffectWrite, EffectWritten, Store};
use surefoot_core::time::Timestamp;

use super::fixture::effect::{
    changed, confirmed, effects, free, held, intended, told, unknown, write, write_all, wrote,
};
use super::fixture::{
    START, applied, at, extended, fresh_id, in_state, job, permanent, record, released, running,
    success, take_one, verifying,
};

/// A job and the first record of an effect of it, for a job that may not be running.
async fn in_any_state(store: &dyn Store, state: StateName) -> (JobId, Effect) {
    let leased = running(store, "model", START).await;
    let id = in_state(store, job(&format!("kind-{}", state.as_str())), state).await;
    let effect = Effect {
        job: id,
        ..intended(&leased, 0)
    };
    (id, effect)
}

pub async fn a_write_follows_on_the_one_on_record(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let first = intended(&leased, 0);
    let second = unknown(&first, at(1));
    let third = confirmed(&second, at(2));
    let write = |effect: &Effect| {
        let (store, given) = (store.clone(), held(&leased, effect.clone()));
        async move { write(&*store, &given).await }
    };
    for early in [&second, &third] {
        assert_eq!(
            write(early).await,
            EffectWritten::Changed(None),
            "nothing is on record"
        );
    }
    assert_eq!(effects(&*store, leased.id).await, []);
    assert_eq!(write(&first).await, EffectWritten::Applied);
    assert_eq!(effects(&*store, leased.id).await, from_ref(&first));

    let other_first = Effect {
        sends: 9,
        ..first.clone()
    };
    for early in [&third, &other_first] {
        assert_eq!(write(early).await, changed(&first), "it is told what is");
        assert_eq!(effects(&*store, leased.id).await, from_ref(&first));
    }
    assert_eq!(write(&second).await, EffectWritten::Applied);
    assert_eq!(effects(&*store, leased.id).await, from_ref(&second));
    let other_second = told(&first, "2", at(1));
    for late in [&first, &other_first, &other_second] {
        assert_eq!(
            write(late).await,
            changed(&second),
            "one-outcome: somebody wrote in between"
        );
        assert_eq!(effects(&*store, leased.id).await, from_ref(&second));
    }
    assert_eq!(write(&third).await, EffectWritten::Applied);
    assert_eq!(effects(&*store, leased.id).await, [third]);
}

pub async fn a_repeated_write_is_already(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let first = held(&leased, intended(&leased, 0));
    let second = held(&leased, confirmed(&first.effect, at(1)));
    for given in [&first, &second] {
        wrote(&*store, given).await;
        for _ in 0..2 {
            assert_eq!(write(&*store, given).await, EffectWritten::Already);
            assert_eq!(effects(&*store, leased.id).await, from_ref(&given.effect));
        }
    }
    let without_fence = free(second.effect.clone());
    assert_eq!(write(&*store, &without_fence).await, EffectWritten::Already);

    applied(&*store, &released(&leased, at(2)), at(2)).await;
    let why = "the lease is over, and what was written under it is written";
    assert_eq!(
        write(&*store, &second).await,
        EffectWritten::Already,
        "{why}"
    );
    let again = take_one(&*store, "refund", at(3)).await;
    assert_eq!(
        write(&*store, &second).await,
        EffectWritten::Already,
        "{why}"
    );
    applied(&*store, &success(&again, at(4)), at(4)).await;
    assert_eq!(
        write(&*store, &second).await,
        EffectWritten::Already,
        "{why}"
    );
    assert_eq!(effects(&*store, leased.id).await, [second.effect]);
}

pub async fn a_stale_write_changes_nothing(store: Arc<dyn Store>) {
    let first = running(&*store, "refund", START).await;
    let effect = intended(&first, 0);
    wrote(&*store, &held(&first, effect.clone())).await;
    let next = confirmed(&effect, at(1));
    let mut late = vec![
        held(&first, next.clone()),
        held(&first, intended(&first, 1)),
    ];
    for write in &mut late {
        write.lease_until = Some(at(100_000));
    }
    applied(&*store, &released(&first, at(1)), at(1)).await;
    refused(&*store, &late, "no-zombie-write: the job waits").await;
    let second = take_one(&*store, "refund", at(2)).await;
    refused(
        &*store,
        &late,
        "no-zombie-write: it runs under a later epoch",
    )
    .await;
    let mut early = late.clone();
    for write in &mut early {
        write.fence = Some(Epoch(second.state.epoch.0 + 1));
    }
    refused(
        &*store,
        &early,
        "no-zombie-write: the epoch was never given",
    )
    .await;
    applied(&*store, &verifying(&second, at(3), at(2)), at(2)).await;
    refused(&*store, &late, "no-zombie-write: the job is verifying").await;
    let third = take_one(&*store, "refund", at(3)).await;
    wrote(&*store, &held(&third, next)).await;
    refused(&*store, &late[1..], "no-zombie-write: nor beside it").await;
    applied(&*store, &permanent(&third, "no", at(4)), at(4)).await;
    refused(&*store, &late[1..], "no-zombie-write: the job is settled").await;
    let own = held(&third, confirmed(&effect, at(9)));
    refused(&*store, &[own], "no-zombie-write: its own lease is over").await;
}

/// Each of the writes is stale, alone and in one batch, and all that is on record stays as it was.
async fn refused(store: &dyn Store, writes: &[EffectWrite], why: &str) {
    let job = writes[0].effect.job;
    let before = (record(store, job).await, effects(store, job).await);
    for stale in writes {
        assert_eq!(write(store, stale).await, EffectWritten::Stale, "{why}");
    }
    let answers = write_all(store, writes).await;
    assert_eq!(answers, vec![EffectWritten::Stale; writes.len()], "{why}");
    let after = (record(store, job).await, effects(store, job).await);
    assert_eq!(after, before, "{why}");
}

pub async fn a_witness_needs_no_lease(store: Arc<dyn Store>) {
    for state in StateName::ALL {
        let (id, first) = in_any_state(&*store, state).await;
        let before = record(&*store, id).await;
        let second = told(&first, r#"{"by":"webhook"}"#, at(5));
        for effect in [&first, &second] {
            wrote(&*store, &free(effect.clone())).await;
            assert_eq!(
                effects(&*store, id).await,
                from_ref(effect),
                "a {} job",
                state.as_str()
            );
        }
        let skipped = Effect {
            version: 4,
            ..second.clone()
        };
        assert_eq!(write(&*store, &free(skipped)).await, changed(&second));
        assert_eq!(
            record(&*store, id).await,
            before,
            "a witness leaves a {} job as it is",
            state.as_str()
        );
    }
}

pub async fn a_job_that_is_not_there_is_told(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let nobody = Effect {
        job: fresh_id(),
        ..intended(&leased, 0)
    };
    for given in [free(nobody.clone()), held(&leased, nobody.clone())] {
        assert_eq!(write(&*store, &given).await, EffectWritten::NotFound);
    }
    assert_eq!(effects(&*store, nobody.job).await, []);
    assert_eq!(effects(&*store, leased.id).await, []);
}

pub async fn one_refused_write_spoils_no_other(store: Arc<dyn Store>) {
    let first = running(&*store, "first", START).await;
    let second = running(&*store, "second", START).await;
    let known = intended(&second, 0);
    wrote(&*store, &held(&second, known.clone())).await;
    let nobody = Effect {
        job: fresh_id(),
        ..intended(&first, 0)
    };
    let mut stale = held(&first, intended(&first, 1));
    stale.fence = Some(Epoch(first.state.epoch.0 + 1));
    let writes = [
        free(nobody),
        held(&first, intended(&first, 0)),
        stale,
        held(&first, intended(&first, 2)),
        held(&second, confirmed(&unknown(&known, at(1)), at(1))),
        held(&second, known.clone()),
        held(&second, intended(&second, 3)),
    ];
    let expected = [
        EffectWritten::NotFound,
        EffectWritten::Applied,
        EffectWritten::Stale,
        EffectWritten::Applied,
        changed(&known),
        EffectWritten::Already,
        EffectWritten::Applied,
    ];
    assert_eq!(write_all(&*store, &writes).await, expected);
    let found = store
        .effects(&[first.id, second.id])
        .await
        .expect("effects");
    let places: Vec<_> = found
        .iter()
        .map(|effect| (effect.job, effect.place))
        .collect();
    let (one, two) = (first.id, second.id);
    assert_eq!(places, [(one, 0), (one, 2), (two, 0), (two, 3)]);
}

pub async fn writes_of_one_batch_follow_on_one_another(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let first = intended(&leased, 0);
    let second = unknown(&first, at(1));
    let other = told(&first, "1", at(1));
    let writes = [
        held(&leased, first.clone()),
        held(&leased, first),
        held(&leased, second.clone()),
        free(other),
        held(&leased, intended(&leased, 1)),
        free(confirmed(&second, at(2))),
    ];
    let expected = [
        EffectWritten::Applied,
        EffectWritten::Already,
        EffectWritten::Applied,
        changed(&second),
        EffectWritten::Applied,
        EffectWritten::Applied,
    ];
    assert_eq!(
        write_all(&*store, &writes).await,
        expected,
        "in the order of the batch, as if each had come by itself"
    );
    assert_eq!(
        effects(&*store, leased.id).await,
        [confirmed(&second, at(2)), intended(&leased, 1)]
    );
}

async fn lease_until(store: &dyn Store, job: JobId) -> Timestamp {
    match record(store, job).await.job.state {
        JobState::Running(run) => run.lease_until,
        other => panic!("it runs: {other:?}"),
    }
}

pub async fn a_write_extends_the_lease_and_never_shortens_it(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let mut given = held(&leased, intended(&leased, 0));
    given.lease_until = Some(at(100));
    wrote(&*store, &given).await;
    assert_eq!(lease_until(&*store, leased.id).await, at(100));
    assert_eq!(
        store.lapsed(at(99), 10).await.expect("lapsed"),
        [],
        "the call has room in it"
    );
    let mut next = held(&leased, unknown(&given.effect, at(1)));
    next.lease_until = Some(at(50));
    wrote(&*store, &next).await;
    assert_eq!(
        lease_until(&*store, leased.id).await,
        at(100),
        "never shorter"
    );
    wrote(&*store, &held(&leased, intended(&leased, 1))).await;
    assert_eq!(lease_until(&*store, leased.id).await, at(100));
    extended(&*store, &leased, at(200), at(2)).await;
    let mut last = held(&leased, intended(&leased, 2));
    last.lease_until = Some(at(150));
    wrote(&*store, &last).await;
    assert_eq!(lease_until(&*store, leased.id).await, at(200));
    assert_eq!(store.lapsed(at(201), 10).await.expect("lapsed").len(), 1);
}

pub async fn what_does_not_apply_extends_no_lease(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let known = held(&leased, intended(&leased, 0));
    wrote(&*store, &known).await;
    let before = record(&*store, leased.id).await;
    let refused = [
        known.clone(),
        held(&leased, confirmed(&unknown(&known.effect, at(1)), at(1))),
        EffectWrite {
            fence: Some(Epoch(leased.state.epoch.0 + 1)),
            ..held(&leased, intended(&leased, 1))
        },
    ];
    let refused: Vec<_> = refused
        .into_iter()
        .map(|write| EffectWrite {
            lease_until: Some(at(500)),
            ..write
        })
        .collect();
    let expected = [
        EffectWritten::Already,
        changed(&known.effect),
        EffectWritten::Stale,
    ];
    assert_eq!(write_all(&*store, &refused).await, expected);
    assert_eq!(record(&*store, leased.id).await, before);
    let witness = EffectWrite {
        lease_until: Some(at(500)),
        ..free(told(&known.effect, "1", at(1)))
    };
    wrote(&*store, &witness).await;
    assert_eq!(
        record(&*store, leased.id).await,
        before,
        "who has no lease extends none"
    );
}

pub async fn a_lapsed_holder_that_nobody_settled_may_write(store: Arc<dyn Store>) {
    let leased = running(&*store, "refund", START).await;
    let mut given = held(&leased, intended(&leased, 0));
    given.lease_until = Some(at(1_000));
    let answers = store.write_effects(&[given], at(500)).await;
    assert_eq!(answers.expect("write_effects"), [EffectWritten::Applied]);
    assert_eq!(lease_until(&*store, leased.id).await, at(1_000));
}

//! Two at once at one effect: exactly one write applies, and who comes second sees what is on record.

use std::sync::Arc;

use surefoot_core::effect::Effect;
use surefoot_core::id::JobId;
use surefoot_core::job::StateName;
use surefoot_core::port::{EffectWrite, EffectWritten, Settled, Store};

use super::fixture::effect::{
    changed, effects, free, held, intended, told, unknown, write, write_all, wrote,
};
use super::fixture::{LEASE, START, at, at_once, lost, record, running, settled};

pub async fn one_of_many_concurrent_witnesses_applies(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let effect = intended(&leased, 0);
        wrote(&*store, &held(&leased, effect.clone())).await;
        let answers = at_once(6, |number| {
            let (store, next) = (store.clone(), told(&effect, &number.to_string(), at(1)));
            async move { write(&*store, &free(next)).await }
        })
        .await;
        one_won(&*store, leased.id, &answers, |number| {
            told(&effect, &number.to_string(), at(1))
        })
        .await;
    }
}

pub async fn a_witness_and_the_holder_at_once_have_one_winner(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let effect = intended(&leased, 0);
        wrote(&*store, &held(&leased, effect.clone())).await;
        let next = [unknown(&effect, at(1)), told(&effect, "1", at(1))];
        let answers = at_once(2, |number| {
            let (store, effect) = (store.clone(), next[number].clone());
            let fence = (number == 0).then_some(leased.state.epoch);
            let given = EffectWrite {
                fence,
                ..free(effect)
            };
            async move { write(&*store, &given).await }
        })
        .await;
        one_won(&*store, leased.id, &answers, |number| next[number].clone()).await;
    }
}

pub async fn one_first_record_of_many_applies(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let first = |number: usize| Effect {
            sends: u32::try_from(number).expect("it fits") + 1,
            ..intended(&leased, 0)
        };
        let answers = at_once(4, |number| {
            let (store, given) = (store.clone(), held(&leased, first(number)));
            async move { write(&*store, &given).await }
        })
        .await;
        one_won(&*store, leased.id, &answers, first).await;
    }
}

/// Exactly one of the writes was applied, all others were told of it, and it is on record.
async fn one_won(
    store: &dyn Store,
    job: JobId,
    answers: &[EffectWritten],
    written: impl Fn(usize) -> Effect,
) {
    let won: Vec<_> = (0..answers.len())
        .filter(|number| answers[*number] == EffectWritten::Applied)
        .collect();
    assert_eq!(won.len(), 1, "one-outcome: {answers:?}");
    let known = written(won[0]);
    for answer in answers {
        assert!(
            *answer == EffectWritten::Applied || *answer == changed(&known),
            "who comes second sees what is on record: {answer:?}"
        );
    }
    assert_eq!(effects(store, job).await, [known]);
}

pub async fn concurrent_repeats_of_one_write_apply_once(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let given = held(&leased, intended(&leased, 0));
        let answers = at_once(4, |_| {
            let (store, given) = (store.clone(), given.clone());
            async move { write(&*store, &given).await }
        })
        .await;
        let count = |wanted| answers.iter().filter(|answer| **answer == wanted).count();
        let counts = (count(EffectWritten::Applied), count(EffectWritten::Already));
        assert_eq!(counts, (1, 3), "{answers:?}");
        assert_eq!(effects(&*store, leased.id).await, [given.effect]);
    }
}

pub async fn a_write_and_a_lapse_at_once_have_one_winner(store: Arc<dyn Store>) {
    for round in 0..20 {
        let leased = running(&*store, &format!("kind-{round}"), START).await;
        let found_at = at(1).after(LEASE);
        let mut given = held(&leased, intended(&leased, 0));
        given.lease_until = Some(at(10_000));
        let end = lost(&leased, found_at);
        let answers = at_once(2, |number| {
            let (store, given, end) = (store.clone(), given.clone(), end.clone());
            async move {
                if number == 0 {
                    write(&*store, &given).await == EffectWritten::Applied
                } else {
                    settled(&*store, &end, found_at).await == Settled::Applied
                }
            }
        })
        .await;
        let (wrote, lapsed) = (answers[0], answers[1]);
        assert!(
            wrote != lapsed,
            "no-zombie-write: a call leaves only while its lease holds ({wrote}, {lapsed})"
        );
        let known = effects(&*store, leased.id).await;
        assert_eq!(known.len(), usize::from(wrote));
        let state = record(&*store, leased.id).await.job.state.name();
        let expected = if wrote {
            StateName::Running
        } else {
            StateName::Retrying
        };
        assert_eq!(state, expected);
    }
}

pub async fn overlapping_writes_in_opposite_orders(store: Arc<dyn Store>) {
    let mut jobs = Vec::new();
    for number in 0..10 {
        jobs.push(running(&*store, &format!("kind-{number}"), START).await);
    }
    let writes: Vec<_> = jobs
        .iter()
        .flat_map(|job| (0..4).map(|place| held(job, intended(job, place))))
        .map(|write| EffectWrite {
            lease_until: Some(at(300)),
            ..write
        })
        .collect();
    let answers = at_once(6, |number| {
        let (store, mut writes) = (store.clone(), writes.clone());
        async move {
            if number % 2 == 1 {
                writes.reverse();
            }
            write_all(&*store, &writes).await
        }
    })
    .await;
    let all = answers.concat();
    let count = |wanted| all.iter().filter(|answer| **answer == wanted).count();
    let counts = (count(EffectWritten::Applied), count(EffectWritten::Already));
    assert_eq!(counts, (40, 200), "one-outcome: each is written once");
}

//! Claiming a key, and what each state answers to whoever comes after.

use std::sync::Arc;

use surefoot_core::id::Tenant;
use surefoot_core::port::Requests;
use surefoot_core::request::{
    Arrived, FIELDS_MAX, Identity, Operation, RequestKey, RequestState, RequestStateName, arrive,
};

use super::fixture::{
    FIRST, START, applied, arrival, arrival_of, at, begin, claimed, identity, in_state, known,
    record, released, run,
};

pub async fn a_key_is_claimed_once(store: Arc<dyn Requests>) {
    let first = claimed(&*store, "k").await;
    assert_eq!((first.version, first.epoch), (1, FIRST));
    for second in 1..5 {
        let answer = begin(&*store, &arrival("k"), at(second)).await;
        assert!(
            matches!(answer, Arrived::Running { .. }),
            "no-double-effect: {answer:?}"
        );
    }
    let other = begin(
        &*store,
        &arrival_of(identity("k"), r#"{"amount":900}"#),
        at(9),
    )
    .await;
    let fields = vec!["body.amount".to_owned()];
    assert_eq!(
        other,
        Arrived::Mismatch { fields },
        "another request under the key is told so"
    );
    assert_eq!(record(&*store, "k").await, first, "and nothing has changed");
}

pub async fn what_was_asked_is_on_record(store: Arc<dyn Requests>) {
    let new = arrival("k");
    let request = run(&*store, &new, START).await;
    assert_eq!(
        record(&*store, "k").await,
        request,
        "a claim is on record before it is answered"
    );
    assert_eq!(Arrived::Run(Box::new(request)), arrive(None, &new, START));
}

pub async fn the_same_arrival_repeated_runs(store: Arc<dyn Requests>) {
    let new = arrival("k");
    let first = run(&*store, &new, START).await;
    assert_eq!(
        run(&*store, &new, at(1)).await,
        first,
        "its answer was lost, and nothing ran yet"
    );
    let late = begin(&*store, &new, at(40)).await;
    assert!(
        matches!(late, Arrived::UnknownOutcome { .. }),
        "honest-unknown: {late:?}"
    );
    assert_eq!(record(&*store, "k").await, first);
}

pub async fn each_state_has_its_answer(store: Arc<dyn Requests>) {
    for name in RequestStateName::ALL {
        let request = in_state(&*store, name.as_str(), name).await;
        assert_eq!(request.state.name(), name);
        for now in [at(6), at(50), at(104), at(105), at(100_000)] {
            let other = arrival_of(request.identity.clone(), "{}");
            let told = begin(&*store, &other, now).await;
            assert_eq!(
                told,
                arrive(Some(&request), &other, now),
                "a mismatch in every state: {name:?}"
            );
            assert!(matches!(told, Arrived::Mismatch { .. }));
            if name == RequestStateName::Released {
                continue;
            }
            let same = arrival(name.as_str());
            let told = begin(&*store, &same, now).await;
            assert_eq!(
                told,
                arrive(Some(&request), &same, now),
                "one-outcome: {name:?} at {now}"
            );
        }
        assert_eq!(
            record(&*store, name.as_str()).await,
            request,
            "{name:?} stays as it is"
        );
    }
}

pub async fn what_is_released_runs_again_under_the_next_epoch(store: Arc<dyn Requests>) {
    let first = in_state(&*store, "k", RequestStateName::Released).await;
    let again = arrival("k");
    let second = run(&*store, &again, at(10)).await;
    assert_eq!(
        second.epoch,
        first.epoch.next(),
        "no-zombie-write: epochs rise"
    );
    assert_eq!((second.id, second.version), (first.id, first.version + 1));
    assert_eq!(record(&*store, "k").await, second);
    assert_eq!(
        run(&*store, &again, at(11)).await,
        second,
        "also when its answer was lost"
    );
    let other = begin(&*store, &arrival("k"), at(11)).await;
    assert!(
        matches!(other, Arrived::Running { .. }),
        "no-double-effect: {other:?}"
    );
    let third = applied(&*store, released(&second, at(12))).await;
    assert_eq!(
        run(&*store, &arrival("k"), at(13)).await.epoch,
        third.epoch.next()
    );
}

pub async fn what_lapsed_does_not_run_again(store: Arc<dyn Requests>) {
    let request = claimed(&*store, "k").await;
    for now in [at(40), at(41), at(100_000_000)] {
        let answer = begin(&*store, &arrival("k"), now).await;
        let Arrived::UnknownOutcome { since, .. } = answer else {
            panic!("honest-unknown: {answer:?}")
        };
        assert_eq!(since, at(40));
    }
    assert_eq!(record(&*store, "k").await, request);
}

pub async fn tenants_and_keys_are_apart(store: Arc<dyn Requests>) {
    let tenant = |name: &str| Tenant::new(name).expect("a tenant");
    let names = [
        ("a", "bc"),
        ("ab", "c"),
        ("a", "BC"),
        ("A", "bc"),
        ("a", "b"),
        ("a", "bc%"),
        ("a", "b_"),
    ];
    let identities = names.map(|(owner, key)| Identity {
        tenant: tenant(owner),
        key: RequestKey::new(key).expect("a key"),
    });
    for identity in &identities {
        let request = run(&*store, &arrival_of(identity.clone(), "{}"), START).await;
        assert_eq!(request.identity, *identity, "each is a request of its own");
    }
    for identity in &identities {
        let request = store
            .request(identity)
            .await
            .expect("request")
            .expect("it is there");
        assert_eq!(request.identity, *identity);
    }
    assert_eq!(known(&*store, "bc").await, None, "and nobody else's");
}

pub async fn the_longest_texts_are_kept(store: Arc<dyn Requests>) {
    let identity = Identity {
        tenant: Tenant::new("t".repeat(Tenant::BYTES_MAX)).expect("a tenant"),
        key: RequestKey::new("~".repeat(255)).expect("a key"),
    };
    let members: Vec<String> = (0..200)
        .map(|n| format!("\"\u{1ea1}\\\"{n}{}\":{n}", "x".repeat(100)))
        .collect();
    let mut new = arrival_of(identity.clone(), &format!("{{{}}}", members.join(",")));
    assert_eq!(new.fingerprint.fields.len(), FIELDS_MAX);
    let method = "M".repeat(Operation::METHOD_BYTES_MAX);
    let route = "/".repeat(Operation::ROUTE_BYTES_MAX);
    new.operation = Operation::new(method, route).expect("an operation");
    let request = run(&*store, &new, START).await;
    assert_eq!(request.operation, new.operation);
    assert_eq!(request.fingerprint, new.fingerprint);
    let read = store.request(&identity).await.expect("request");
    assert_eq!(read.as_ref(), Some(&request));
    let RequestState::Claimed { claim, .. } = request.state else {
        panic!("it is claimed")
    };
    assert_eq!(claim, new.id);
}

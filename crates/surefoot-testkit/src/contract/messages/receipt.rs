//! The inbox: what was accepted is accepted once.

use std::sync::Arc;

use surefoot_core::id::{Consumer, Source, Tenant};
use surefoot_core::message::{Accepted, Receipt};
use surefoot_core::port::Messages;

use super::fixture::{START, append, at, at_once, id, message};

fn receipt(text: &str) -> Receipt {
    Receipt {
        tenant: Tenant::single(),
        source: Source::new("shop").expect("a source"),
        message: id(text),
        consumer: Consumer::new("loyalty").expect("a consumer"),
    }
}

pub async fn a_message_is_accepted_once(store: Arc<dyn Messages>) {
    let first = store.accept(&receipt("m-1"), at(1)).await.expect("accept");
    assert_eq!(first, Accepted::First);
    for round in 2..5 {
        let again = store
            .accept(&receipt("m-1"), at(round))
            .await
            .expect("accept");
        assert_eq!(again, Accepted::Duplicate { at: at(1) });
    }
}

pub async fn one_of_fifty_at_once_is_the_first(store: Arc<dyn Messages>) {
    for round in 0..5 {
        let wanted = receipt(&format!("m-{round}"));
        let answers = at_once(50, |_| {
            let (store, wanted) = (store.clone(), wanted.clone());
            async move { store.accept(&wanted, at(round)).await.expect("accept") }
        })
        .await;
        let first = answers.iter().filter(|answer| **answer == Accepted::First);
        assert_eq!(first.count(), 1, "no-double-effect");
        let duplicate = Accepted::Duplicate { at: at(round) };
        let others = answers.iter().filter(|answer| **answer == duplicate);
        assert_eq!(others.count(), 49);
    }
}

pub async fn all_four_parts_make_a_receipt(store: Arc<dyn Messages>) {
    let one = receipt("m-1");
    let others = [
        one.clone(),
        Receipt {
            tenant: Tenant::new("b").expect("a tenant"),
            ..one.clone()
        },
        Receipt {
            source: Source::new("bank").expect("a source"),
            ..one.clone()
        },
        Receipt {
            consumer: Consumer::new("mail").expect("a consumer"),
            ..one.clone()
        },
        receipt("M-1"),
        receipt("m-1 "),
    ];
    for other in &others {
        let answer = store.accept(other, START).await.expect("accept");
        assert_eq!(answer, Accepted::First, "{other:?}");
    }
    for other in &others {
        let answer = store.accept(other, at(1)).await.expect("accept");
        assert_eq!(answer, Accepted::Duplicate { at: START });
    }
}

pub async fn receipts_are_forgotten_in_steps(store: Arc<dyn Messages>) {
    for seconds in 1..=5 {
        let one = receipt(&format!("m-{seconds}"));
        store.accept(&one, at(seconds)).await.expect("accept");
    }
    let forget = |before, limit| {
        let store = store.clone();
        async move {
            store
                .forget_receipts(at(before), limit)
                .await
                .expect("forget_receipts")
        }
    };
    assert_eq!(forget(0, 9).await, 0);
    assert_eq!(forget(4, 3).await, 3, "the oldest first");
    assert_eq!(forget(4, 3).await, 1);
    assert_eq!(forget(4, 3).await, 0);
    let known = store.accept(&receipt("m-5"), at(9)).await.expect("accept");
    assert_eq!(known, Accepted::Duplicate { at: at(5) });
    let free = store.accept(&receipt("m-4"), at(9)).await.expect("accept");
    assert_eq!(free, Accepted::First);
}

pub async fn a_receipt_stays_while_its_message_is_here(store: Arc<dyn Messages>) {
    let wanted = message();
    append(&*store, std::slice::from_ref(&wanted)).await;
    let consumer = Consumer::new("loyalty").expect("a consumer");
    let ours = Receipt::of(Source::outbox(), &wanted, consumer.clone());
    let theirs = Receipt::of(Source::new("shop").expect("a source"), &wanted, consumer);
    for one in [&ours, &theirs] {
        store.accept(one, START).await.expect("accept");
    }
    assert_eq!(
        store
            .forget_receipts(at(99), 9)
            .await
            .expect("forget_receipts"),
        1
    );
    let still = store.accept(&ours, at(99)).await.expect("accept");
    assert_eq!(
        still,
        Accepted::Duplicate { at: START },
        "it may still be sent again"
    );
    store
        .forget_messages(at(99), 9)
        .await
        .expect("forget_messages");
    assert_eq!(
        store
            .forget_receipts(at(99), 9)
            .await
            .expect("forget_receipts"),
        1
    );
}

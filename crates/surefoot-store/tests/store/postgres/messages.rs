//! The contract of messages over [`PostgresStore`], and what open transactions could spoil: a commit that comes late, an order
//! that turns round, a subscription in between.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use surefoot_core::error::StoreError;
use surefoot_core::id::{Consumer, MessageId, OrderKey, SinkName, Source, Tenant, Topic, Worker};
use surefoot_core::message::{Accepted, Message, NextDelivery, Proof, Receipt, Topics};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Appended, DeliveryId, Mark, Marked, Messages, Since, Store, Subscribed, Take, TakenKey,
};
use surefoot_core::time::Timestamp;
use surefoot_store::postgres::{PostgresStore, sqlx};

use super::fixture::{START, connection, scratch, store};

async fn open(_case: &'static str) -> Arc<dyn Messages> {
    Arc::new(store().await)
}

surefoot_testkit::messages_contract!(open);

fn message(id: &str, key: Option<&str>) -> Message {
    Message {
        id: MessageId::new(id).unwrap(),
        tenant: Tenant::single(),
        topic: Topic::new("order.paid").unwrap(),
        key: key.map(|key| OrderKey::new(key).unwrap()),
        payload: Payload::null(),
        trace: None,
        appended_at: START,
    }
}

fn sink() -> SinkName {
    SinkName::new("s").unwrap()
}

async fn subscribe(store: &PostgresStore, since: Since) -> Result<Subscribed, StoreError> {
    store.subscribe(&sink(), &Topics::All, since, START).await
}

async fn take(store: &PostgresStore) -> Vec<TakenKey> {
    take_at(store, START).await
}

async fn take_at(store: &PostgresStore, now: Timestamp) -> Vec<TakenKey> {
    let take = Take {
        sink: sink(),
        holder: Worker::new("w").unwrap(),
        lease: Duration::from_secs(40),
        keys_max: 10,
        per_key_max: 10,
    };
    store.take(&take, now).await.unwrap()
}

/// Takes what there is, marks it as delivered, and gives the ids.
async fn deliver(store: &PostgresStore) -> Vec<String> {
    let mut ids = Vec::new();
    for key in take(store).await {
        for taken in key.deliveries {
            let mark = Mark {
                delivery: DeliveryId {
                    number: taken.number,
                    sink: sink(),
                },
                epoch: key.epoch,
                next: NextDelivery::Delivered {
                    at: START,
                    proof: Proof::default(),
                },
            };
            assert_eq!(store.mark(&[mark]).await.unwrap(), [Marked::Applied]);
            ids.push(taken.message.id.as_str().to_owned());
        }
    }
    ids
}

async fn append(store: &PostgresStore, tx: &mut PgConnection, id: &str, key: Option<&str>) -> i64 {
    let appended = store.append_in(tx, &[message(id, key)]).await.unwrap();
    match appended[0] {
        Appended::Written(number) => number.0,
        other => panic!("it is written: {other:?}"),
    }
}

#[tokio::test]
async fn a_commit_that_comes_late_is_delivered_too() {
    let store = store().await;
    subscribe(&store, Since::Now).await.unwrap();
    let (mut one, mut other) = (connection().await, connection().await);
    let mut early = one.begin().await.unwrap();
    let low = append(&store, &mut early, "early", Some("a")).await;
    append(&store, &mut early, "early-2", None).await;
    let mut late = other.begin().await.unwrap();
    let high = append(&store, &mut late, "late", Some("b")).await;
    assert!(low < high, "the one that commits last has the lower number");
    late.commit().await.unwrap();
    assert_eq!(deliver(&store).await, ["late"]);
    assert_eq!(
        deliver(&store).await,
        [""; 0],
        "an open transaction makes nobody wait"
    );
    early.commit().await.unwrap();
    let mut ids = deliver(&store).await;
    ids.sort();
    assert_eq!(ids, ["early", "early-2"], "no-lost-intent");
}

#[tokio::test]
async fn under_one_key_the_order_is_that_of_the_commits() {
    let store = store().await;
    subscribe(&store, Since::Now).await.unwrap();
    let (mut one, mut other) = (connection().await, connection().await);
    let mut first = one.begin().await.unwrap();
    append(&store, &mut first, "first", Some("k")).await;
    let second = tokio::spawn({
        let store = store.clone();
        async move {
            let mut tx = other.begin().await.unwrap();
            append(&store, &mut tx, "second", Some("k")).await;
            tx.commit().await.unwrap();
        }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(
        !second.is_finished(),
        "it waits for the one that holds the key"
    );
    assert_eq!(deliver(&store).await, [""; 0]);
    append(&store, &mut first, "first-2", Some("k")).await;
    first.commit().await.unwrap();
    second.await.unwrap();
    assert_eq!(
        deliver(&store).await,
        ["first", "first-2", "second"],
        "order-kept"
    );
}

#[tokio::test]
async fn what_is_appended_while_its_line_ends_is_delivered() {
    let store = store().await;
    subscribe(&store, Since::Now).await.unwrap();
    store.append(&[message("front", Some("k"))]).await.unwrap();
    let key = take(&store).await.remove(0);
    let mut other = connection().await;
    let mut tx = other.begin().await.unwrap();
    append(&store, &mut tx, "behind", Some("k")).await;
    // The line runs empty for all that can be seen, and a look meets nothing.
    let mark = Mark {
        delivery: DeliveryId {
            number: key.deliveries[0].number,
            sink: sink(),
        },
        epoch: key.epoch,
        next: NextDelivery::Delivered {
            at: START,
            proof: Proof::default(),
        },
    };
    assert_eq!(store.mark(&[mark]).await.unwrap(), [Marked::Applied]);
    assert_eq!(take(&store).await, []);
    tx.commit().await.unwrap();
    assert_eq!(deliver(&store).await, ["behind"], "no-lost-intent");
}

#[tokio::test]
async fn a_take_waits_for_one_that_is_open_and_takes_nothing_of_it() {
    let options = scratch();
    let schema = options.schema.clone();
    let store = PostgresStore::open_with(options).await.unwrap();
    subscribe(&store, Since::Now).await.unwrap();
    let messages = [message("m-1", None), message("m-2", None)];
    store.append(&messages).await.unwrap();
    let mut other = connection().await;
    let mut tx = other.begin().await.unwrap();
    let now = START.as_micros();
    let sql = format!(
        "select number from {schema}.take_deliveries('s', 'v', {now}, {}, 10, 10, 100)",
        now + 40_000_000
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql)).fetch_all(&mut *tx).await;
    assert_eq!(rows.unwrap().len(), 2);
    let twin = tokio::spawn({
        let store = store.clone();
        async move { take(&store).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!twin.is_finished());
    tx.commit().await.unwrap();
    assert_eq!(twin.await.unwrap(), [], "a key has one holder");
}

#[tokio::test]
async fn a_subscription_waits_for_appends_that_are_open() {
    let store = store().await;
    let mut other = connection().await;
    let mut tx = other.begin().await.unwrap();
    append(&store, &mut tx, "before", None).await;
    let subscribing = tokio::spawn({
        let store = store.clone();
        async move { subscribe(&store, Since::Kept).await }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!subscribing.is_finished());
    tx.commit().await.unwrap();
    let done = subscribing.await.unwrap().unwrap();
    assert_eq!(done, Subscribed::Done { backfilled: 1 });
    assert_eq!(deliver(&store).await, ["before"], "no-lost-intent");
    // One that is left open holds a subscription up, and not the relay.
    let mut tx = other.begin().await.unwrap();
    append(&store, &mut tx, "open", None).await;
    let refused = store.unsubscribe(&sink(), &Topics::All).await;
    assert!(
        matches!(refused, Err(StoreError::Unavailable(_))),
        "{refused:?}"
    );
    assert_eq!(
        subscribe(&store, Since::Kept).await.unwrap(),
        Subscribed::Done { backfilled: 0 },
        "who changes nothing waits for nobody"
    );
}

#[tokio::test]
async fn an_append_with_an_old_view_is_refused_when_a_sink_came_meanwhile() {
    let store = store().await;
    let mut other = connection().await;
    for (level, changes, fits) in [
        ("repeatable read", true, false),
        ("serializable", true, false),
        ("serializable", false, true),
        ("read committed", true, true),
    ] {
        let mut tx = other.begin().await.unwrap();
        let sql = format!("set transaction isolation level {level}");
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut *tx)
            .await
            .unwrap();
        sqlx::raw_sql("select 1").execute(&mut *tx).await.unwrap();
        if changes {
            store.unsubscribe(&sink(), &Topics::All).await.unwrap();
            subscribe(&store, Since::Now).await.unwrap();
        }
        let id = format!("{level} {changes}");
        let appended = store.append_in(&mut tx, &[message(&id, Some("k"))]).await;
        if fits {
            appended.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(deliver(&store).await, [id], "no-lost-intent");
        } else {
            let refused = appended.unwrap_err();
            assert!(matches!(refused, StoreError::Unavailable(_)), "{refused:?}");
            tx.rollback().await.unwrap();
        }
    }
}

#[tokio::test]
async fn rows_messages_and_receipt_are_one_commit_or_none() {
    let options = scratch();
    let schema = options.schema.clone();
    let store = PostgresStore::open_with(options).await.unwrap();
    subscribe(&store, Since::Now).await.unwrap();
    let mut connection = connection().await;
    let sql = |text: &str| AssertSqlSafe(text.replace("points", &format!("{schema}.points")));
    sqlx::raw_sql(sql("create table points as select 0 as n"))
        .execute(&mut connection)
        .await
        .unwrap();
    let receipt = Receipt::of(
        Source::outbox(),
        &message("m-1", None),
        Consumer::new("loyalty").unwrap(),
    );
    for (commits, expected) in [
        (false, Accepted::First),
        (true, Accepted::First),
        (true, Accepted::Duplicate { at: START }),
    ] {
        let mut tx = connection.begin().await.unwrap();
        let accepted = store.accept_in(&mut tx, &receipt, START).await.unwrap();
        assert_eq!(accepted, expected);
        if accepted == Accepted::First {
            sqlx::raw_sql(sql("update points set n = n + 15"))
                .execute(&mut *tx)
                .await
                .unwrap();
            append(&store, &mut tx, "m-2", None).await;
        }
        if commits {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
        let delivered = deliver(&store).await;
        let expected = if commits && accepted == Accepted::First {
            1
        } else {
            0
        };
        assert_eq!(delivered.len(), expected);
    }
    let row = sqlx::raw_sql(sql("select n from points"))
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(row.get::<i32, _>(0), 15, "no-double-effect, no-lost-intent");
}

#[tokio::test]
async fn a_twin_of_a_receipt_waits_and_is_first_after_a_rollback() {
    let store = store().await;
    let receipt = Receipt::of(
        Source::outbox(),
        &message("m-1", None),
        Consumer::new("loyalty").unwrap(),
    );
    for (commits, expected) in [
        (false, Accepted::First),
        (true, Accepted::Duplicate { at: START }),
    ] {
        let mut other = connection().await;
        let mut tx = other.begin().await.unwrap();
        store.accept_in(&mut tx, &receipt, START).await.unwrap();
        let twin = tokio::spawn({
            let (store, receipt) = (store.clone(), receipt.clone());
            async move {
                let mut other = connection().await;
                let mut tx = other.begin().await.unwrap();
                let accepted = store.accept_in(&mut tx, &receipt, START).await.unwrap();
                tx.rollback().await.unwrap();
                accepted
            }
        });
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(!twin.is_finished());
        if commits {
            tx.commit().await.unwrap();
        } else {
            tx.rollback().await.unwrap();
        }
        assert_eq!(twin.await.unwrap(), expected);
    }
}

#[tokio::test]
async fn any_client_appends_by_the_sql_function() {
    let options = scratch();
    let schema = options.schema.clone();
    let store = PostgresStore::open_with(options).await.unwrap();
    subscribe(&store, Since::Now).await.unwrap();
    let mut connection = connection().await;
    let mut call = async |arguments: &str| {
        let sql = format!("select outcome, message_id from {schema}.append({arguments})");
        let row = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_one(&mut connection)
            .await;
        row.map(|row| (row.get::<String, _>(0), row.get::<String, _>(1)))
    };
    let table = [
        (
            "'order.paid', '{\"a\": 1}', id => 'm-1', key => 'k'",
            "written",
        ),
        (
            "'order.paid', '{\"a\":1}'::jsonb, id => 'm-1', key => 'k'",
            "already",
        ),
        (
            "'order.paid', '{\"a\": 2}', id => 'm-1', key => 'k'",
            "conflict",
        ),
        ("'order.paid', '{\"a\": 1}', id => 'm-1'", "conflict"),
        (
            "'order.paid', '{\"a\": 2}', id => 'm-1', tenant => 'b'",
            "written",
        ),
    ];
    for (arguments, expected) in table {
        let (outcome, id) = call(arguments).await.unwrap();
        assert_eq!(
            (outcome.as_str(), id.as_str()),
            (expected, "m-1"),
            "{arguments}"
        );
    }
    let (outcome, id) = call("'order.paid'").await.unwrap();
    assert_eq!((outcome.as_str(), id.len()), ("written", 36));
    for refused in [
        "null",
        "'a b'",
        "'t', 'no json'",
        "'t', tenant => ''",
        "'t', id => ''",
    ] {
        assert!(call(refused).await.is_err(), "{refused}");
    }
    // The database's clock says when they were appended.
    let now = Store::database_now(&store).await.unwrap();
    let taken = take_at(&store, now).await;
    assert_eq!(taken.len(), 3);
    let first = &taken[0].deliveries[0].message;
    assert_eq!(
        (first.id.as_str(), first.payload.as_str()),
        ("m-1", "{\"a\": 1}")
    );
}

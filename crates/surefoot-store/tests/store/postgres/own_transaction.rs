//! The caller's own transaction, from Rust and from plain SQL: a job is there if and only if that transaction commits.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use surefoot_core::id::JobId;
use surefoot_core::job::JobState;
use surefoot_core::payload::Payload;
use surefoot_core::port::{Enqueued, Store};
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};
use uuid::Uuid;

use super::fixture::{START, connection, job, keyed, kind, scratch, take};

#[tokio::test]
async fn a_rollback_leaves_nothing_and_a_commit_makes_it_claimable() {
    let store = super::fixture::store().await;
    let mut connection = connection().await;
    let mut tx = connection.begin().await.unwrap();
    store
        .enqueue_in(&mut tx, &job("mail"), START)
        .await
        .unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(take(&store, "mail", 10).await, []);

    let wanted = keyed("mail", "k");
    let mut tx = connection.begin().await.unwrap();
    let enqueued = store.enqueue_in(&mut tx, &wanted, START).await.unwrap();
    assert_eq!(enqueued, Enqueued::Created(wanted.id));
    assert_eq!(
        store.job(wanted.id).await.unwrap(),
        None,
        "nobody sees it before the commit"
    );
    tx.commit().await.unwrap();
    assert_eq!(take(&store, "mail", 10).await[0].id, wanted.id);
}

/// Two transactions of one key at once: what becomes of the first decides what the second is told.
async fn second_of_two(first_commits: bool) -> (Enqueued, JobId, JobId) {
    let store = super::fixture::store().await;
    let (first, second) = (keyed("mail", "k"), keyed("mail", "k"));
    let (first_id, second_id) = (first.id, second.id);
    let mut one = connection().await;
    let mut tx = one.begin().await.unwrap();
    store.enqueue_in(&mut tx, &first, START).await.unwrap();
    let waiting = tokio::spawn({
        let store = store.clone();
        async move {
            let mut other = connection().await;
            let mut tx = other.begin().await.unwrap();
            let answer = store.enqueue_in(&mut tx, &second, START).await.unwrap();
            tx.commit().await.unwrap();
            answer
        }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        !waiting.is_finished(),
        "the second waits for what becomes of the first"
    );
    if first_commits {
        tx.commit().await.unwrap()
    } else {
        tx.rollback().await.unwrap()
    }
    let answer = waiting.await.unwrap();
    let jobs = take(&store, "mail", 10).await;
    assert_eq!(jobs.len(), 1, "one key is one job");
    assert_eq!(jobs[0].id, answer.job(), "and it is the one that was named");
    (answer, first_id, second_id)
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_41_when_the_first_rolls_back_the_second_is_created() {
    let (answer, _, second) = second_of_two(false).await;
    assert_eq!(answer, Enqueued::Created(second));
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_first_commits_the_second_is_existing() {
    let (answer, first, _) = second_of_two(true).await;
    assert_eq!(answer, Enqueued::Existing(first));
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_42_an_open_transaction_that_holds_a_key_holds_up_nobody_else() {
    let store = super::fixture::store().await;
    let mut one = connection().await;
    let mut tx = one.begin().await.unwrap();
    let first = keyed("mail", "held");
    store.enqueue_in(&mut tx, &first, START).await.unwrap();
    let held = tokio::spawn({
        let store = store.clone();
        async move { store.enqueue(&[keyed("mail", "held")], START).await }
    });
    let others: Vec<_> = (0..50)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move {
                store
                    .enqueue(&[keyed("mail", &format!("free {n}"))], START)
                    .await
            })
        })
        .collect();
    for other in others {
        let answer = tokio::time::timeout(Duration::from_secs(3), other).await;
        assert!(
            matches!(
                answer.unwrap().unwrap().unwrap()[..],
                [Enqueued::Created(_)]
            ),
            "the others are written"
        );
    }
    assert!(!held.is_finished());
    tx.commit().await.unwrap();
    assert_eq!(held.await.unwrap().unwrap(), [Enqueued::Existing(first.id)]);
}

struct Client {
    store: PostgresStore,
    options: PostgresOptions,
    connection: PgConnection,
}

impl Client {
    async fn new() -> Self {
        let options = scratch();
        let store = PostgresStore::open_with(options.clone()).await.unwrap();
        Self {
            store,
            options,
            connection: connection().await,
        }
    }

    /// Runs `arguments` through the SQL function, as any client would, in the simple protocol.
    async fn enqueue(&mut self, arguments: &str) -> Result<(JobId, String), String> {
        let sql = format!(
            "select job_id, outcome from {}.enqueue({arguments})",
            self.options.schema
        );
        let row = sqlx::raw_sql(AssertSqlSafe(sql))
            .fetch_one(&mut self.connection)
            .await;
        let row = row.map_err(|error| {
            error
                .as_database_error()
                .unwrap()
                .code()
                .unwrap()
                .into_owned()
        })?;
        Ok((JobId::from_uuid(row.get::<Uuid, _>(0)), row.get(1)))
    }

    async fn plain(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .execute(&mut self.connection)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn any_client_enqueues_in_its_own_transaction() {
    let mut client = Client::new().await;
    client.plain("begin").await;
    client.enqueue("'mail'").await.unwrap();
    client.plain("rollback").await;
    assert_eq!(take(&client.store, "mail", 10).await, []);

    client.plain("begin").await;
    let (id, outcome) = client
        .enqueue(
            r#"'mail', '{"to": "ada", "n": 9007199254740993}', key => 'k', queue => 'slow', priority => 7,
            order_key => 'customer 7', deadline_at => '2100-01-01T00:00:00Z', tenant => 'acme',
            run_at => '2026-01-01T00:00:00Z',
            trace => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'"#,
        )
        .await
        .unwrap();
    client.plain("commit").await;
    assert_eq!(outcome, "created");
    let found = client.store.job(id).await.unwrap().unwrap().job;
    assert_eq!(
        found.payload,
        Payload::parse(r#"{"to": "ada", "n": 9007199254740993}"#).unwrap()
    );
    assert_eq!(
        (
            found.key.unwrap().as_str(),
            found.queue.as_str(),
            found.priority
        ),
        ("k", "slow", 7)
    );
    assert_eq!(
        (found.order_key.unwrap().as_str(), found.tenant.as_str()),
        ("customer 7", "acme")
    );
    assert_eq!(
        found.deadline_at.unwrap().as_micros(),
        4_102_444_800_000_000
    );
    assert!(found.trace.is_some());
    let JobState::Pending { due_at } = found.state else {
        panic!("it waits")
    };
    assert_eq!(due_at.as_micros(), 1_767_225_600_000_000);
    let database_now = client.store.database_now().await.unwrap();
    assert!(
        database_now.since(found.enqueued_at) < Duration::from_secs(60),
        "acknowledged at the database's time"
    );
    let leased = client
        .store
        .advance(&[], Some(&super::fixture::claim("mail", 1)), database_now)
        .await
        .unwrap()
        .leased;
    assert_eq!((leased[0].id, &leased[0].kind), (id, &kind("mail")));
}

#[tokio::test]
async fn the_sql_function_tells_created_existing_and_conflict() {
    let mut client = Client::new().await;
    let (first, outcome) = client
        .enqueue(r#"'mail', '{"a":1,"b":[2]}', key => 'k'"#)
        .await
        .unwrap();
    assert_eq!(outcome, "created");
    for (arguments, expected) in [
        (
            r#"'mail', '{ "b" : [2], "a" : 1 }', key => 'k'"#,
            "existing",
        ),
        (
            r#"'mail', '{"b":[2],"a":1}'::jsonb, key => 'k'"#,
            "existing",
        ),
        (r#"'mail', '{"a":1,"b":[3]}', key => 'k'"#, "conflict"),
        (r#"'mail', '"\u0000"', key => 'k'"#, "conflict"),
    ] {
        assert_eq!(
            client.enqueue(arguments).await,
            Ok((first, expected.to_owned())),
            "{arguments}"
        );
    }
    for other in [
        "'refund', key => 'k'",
        "'mail', key => 'k', tenant => 'other'",
        "'mail'",
        "'mail'",
    ] {
        assert_eq!(client.enqueue(other).await.unwrap().1, "created", "{other}");
    }
    // A text without a jsonb form is the same as itself, and a key from SQL is known to Rust.
    assert_eq!(
        client
            .enqueue(r#"'nul', '"\u0000"', key => 'k'"#)
            .await
            .unwrap()
            .1,
        "created"
    );
    assert_eq!(
        client
            .enqueue(r#"'nul', '"\u0000"', key => 'k'"#)
            .await
            .unwrap()
            .1,
        "existing"
    );
    let same = surefoot_core::port::NewJob {
        payload: Payload::parse(r#"{"b":[2],"a":1}"#).unwrap(),
        ..keyed("mail", "k")
    };
    assert_eq!(
        client.store.enqueue(&[same], START).await.unwrap(),
        [Enqueued::Existing(first)]
    );
}

#[tokio::test]
async fn the_sql_function_takes_what_the_types_take_and_nothing_else() {
    let mut client = Client::new().await;
    let long = |letter: &str, bytes: usize| letter.repeat(bytes);
    for good in [
        format!("'{}'", long("k", 128)),
        format!("'m', key => '{}'", long("ü", 127)),
        "'a.b:c/d-e_F9', key => 'Zoë – 7'".to_owned(),
        "'m', priority => -100".to_owned(),
        "'m', run_at => 'infinity', deadline_at => '-infinity'".to_owned(),
    ] {
        let made = client.enqueue(&good).await.unwrap();
        assert!(
            client.store.job(made.0).await.unwrap().is_some(),
            "and it reads back: {good}"
        );
    }
    for (wrong, code) in [
        ("''".to_owned(), "22023"),
        ("'a b'".to_owned(), "22023"),
        ("'ä'".to_owned(), "22023"),
        (format!("'{}'", long("k", 129)), "22023"),
        (format!("'m', key => '{}'", long("ü", 128)), "22023"),
        ("'m', key => ''".to_owned(), "22023"),
        ("'m', key => E'a\\nb'".to_owned(), "22023"),
        ("'m', order_key => E'a\\u0085b'".to_owned(), "22023"),
        ("'m', queue => 'a b'".to_owned(), "22023"),
        ("'m', tenant => 'a b'".to_owned(), "22023"),
        ("'m', priority => 101".to_owned(), "22023"),
        ("'m', trace => 'x'".to_owned(), "22023"),
        ("'m', '{'".to_owned(), "22P02"),
        ("'m', '{} {}'".to_owned(), "22P02"),
        (format!("'m', '\"{}\"'", long("x", 1024 * 1024)), "22023"),
        ("null".to_owned(), "22004"),
    ] {
        let shown: String = wrong.chars().take(60).collect();
        assert_eq!(
            client.enqueue(&wrong).await,
            Err(code.to_owned()),
            "{shown}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sql_function_notifies_at_commit_when_asked() {
    let mut client = Client::new().await;
    let mut heard = client.store.announcements().await.unwrap().unwrap();
    client.plain("begin").await;
    client.enqueue("'mail', queue => 'quiet'").await.unwrap();
    client
        .enqueue("'mail', queue => 'loud', notify => true")
        .await
        .unwrap();
    let early = tokio::time::timeout(Duration::from_millis(300), heard.next()).await;
    assert!(early.is_err(), "nothing is told before the commit");
    client.plain("commit").await;
    assert_eq!(heard.next().await.unwrap().as_str(), "loud");
}

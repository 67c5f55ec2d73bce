//! Many claimers, and many jobs that cannot run: nobody gets a job twice, and a claim does not pay for what it cannot take.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection, Row};
use surefoot_core::port::{NewJob, Store};
use surefoot_store::postgres::{PostgresOptions, PostgresStore, sqlx};

use super::fixture::{START, at, claim, connection, job, scratch, success, take};

#[tokio::test(flavor = "multi_thread")]
async fn symptom_29_two_nodes_of_fifty_claimers_share_no_job() {
    const JOBS: usize = 5_000;
    // Generous, because a debug build takes long to log in a hundred times.
    let options = PostgresOptions {
        call_timeout: Duration::from_secs(60),
        ..scratch()
    };
    let nodes = [
        PostgresStore::open_with(options.clone()).await.unwrap(),
        PostgresStore::open_with(options.clone()).await.unwrap(),
    ];
    for _ in 0..JOBS / 1000 {
        let batch: Vec<_> = (0..1000).map(|_| job("mail")).collect();
        nodes[0].enqueue(&batch, START).await.unwrap();
    }
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let store = nodes[number % 2].clone();
            tokio::spawn(async move {
                let mut mine = Vec::new();
                let mut empty = 0;
                // A claim may come away empty while others hold what it looked at.
                while empty < 20 {
                    let taken = take(&store, "mail", 10).await;
                    empty = if taken.is_empty() { empty + 1 } else { 0 };
                    mine.extend(taken.into_iter().map(|job| job.id));
                }
                mine
            })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    let distinct: BTreeSet<_> = all.iter().copied().collect();
    assert_eq!(
        (all.len(), distinct.len()),
        (JOBS, JOBS),
        "each job was given once"
    );
}

/// Fills the small table as enqueues would, only quicker.
async fn fill(connection: &mut PgConnection, options: &PostgresOptions, rows: &str) {
    let schema = &options.schema;
    let sql = format!(
        "insert into {schema}.job (id, tenant, kind, queue, urgency, payload, enqueued_at, readiness, due_at, order_key)
        select gen_random_uuid(), 'default', 'mail', 'default', 0, '{{}}', {start}, r.readiness, r.due_at, r.order_key
        from ({rows}) r (readiness, due_at, order_key)",
        start = START.as_micros()
    );
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .unwrap();
}

/// How many blocks a claim of 1,000 touches. It is undone.
async fn blocks_of_a_claim(connection: &mut PgConnection, options: &PostgresOptions) -> i64 {
    let sql = format!(
        "begin;
        explain (analyze, buffers, timing off, format json) select * from {schema}.advance(
            '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}',
            '{{}}', '{{}}', '{{}}', 'w', '{{mail}}', '{{40000000}}', '{{null}}', '{{null}}', '{{null}}', null, '{{}}',
            '{{}}', 1000, null, null, null, null, null, {now});
        rollback",
        schema = options.schema,
        now = at(1).as_micros()
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await
        .unwrap();
    let plan: serde_json::Value =
        serde_json::from_str(rows[0].try_get_unchecked::<&str, _>(0).unwrap()).unwrap();
    let plan = &plan[0]["Plan"];
    assert_eq!(
        plan["Actual Rows"].as_f64(),
        Some(1001.0),
        "the answer and 1,000 jobs"
    );
    plan["Shared Hit Blocks"].as_i64().unwrap() + plan["Shared Read Blocks"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_57_what_stands_behind_an_order_key_costs_a_claim_nothing() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    let mut connection = connection().await;
    let now = START.as_micros();
    let ready = format!("select 'ready', {now} + n, null from generate_series(1, 50000) n");
    fill(&mut connection, &options, &ready).await;
    let unblocked = blocks_of_a_claim(&mut connection, &options).await;
    // 1,000 order keys, in front of each a job of tomorrow, behind it a hundred that are due before all that is ready.
    let heads = format!(
        "select 'scheduled', {now} + 86400000000, 'key ' || n from generate_series(1, 1000) n"
    );
    fill(&mut connection, &options, &heads).await;
    let blocked = format!(
        "select 'gated', {now} - n, 'key ' || n % 1000 + 1 from generate_series(1, 100000) n"
    );
    fill(&mut connection, &options, &blocked).await;
    // The first claims set aside what is in the way, each a bounded part of it, and come away with all they ask for.
    let mut claims = 0;
    while in_the_way(&mut connection, &options).await > 0 {
        assert_eq!(
            take(&store, "mail", 100).await.len(),
            100,
            "no claim comes away short"
        );
        claims += 1;
        assert!(claims < 400, "each sets aside a part of what is in the way");
    }
    let then = blocks_of_a_claim(&mut connection, &options).await;
    assert!(
        then < unblocked * 3,
        "100,000 blocked jobs: {then} blocks, without them {unblocked}"
    );
    // What was set aside comes forward when its key is free.
    let sql = format!(
        "delete from {}.job where readiness = 'scheduled' and order_key <> 'key 7'",
        options.schema
    );
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(&mut connection)
        .await
        .unwrap();
    let head: Vec<_> = find_scheduled(&mut connection, &options).await;
    store.cancel(head[0], &by(), at(2)).await.unwrap();
    let mut next = claim("mail", 1);
    next.queues = surefoot_core::port::Queues::All;
    let first = store.advance(&[], Some(&next), at(2)).await.unwrap().leased;
    assert_eq!(
        first[0].order_key.as_ref().unwrap().as_str(),
        "key 7",
        "the line moves up at once"
    );
    let second = store
        .advance(&[success(&first[0], at(3))], Some(&next), at(3))
        .await
        .unwrap()
        .leased;
    assert_eq!(
        second[0].order_key.as_ref().unwrap().as_str(),
        "key 7",
        "and again, in one call"
    );
}

async fn in_the_way(connection: &mut PgConnection, options: &PostgresOptions) -> i64 {
    let sql = format!(
        "select count(*) from {}.job where readiness = 'gated'",
        options.schema
    );
    let row = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await
        .unwrap();
    row.get(0)
}

fn by() -> surefoot_core::port::By {
    surefoot_core::port::By {
        actor: surefoot_core::id::Actor::new("ada").unwrap(),
        reason: surefoot_core::text::ErrorText::from("not needed"),
    }
}

async fn find_scheduled(
    connection: &mut PgConnection,
    options: &PostgresOptions,
) -> Vec<surefoot_core::id::JobId> {
    let sql = format!(
        "select id from {}.job where readiness = 'scheduled'",
        options.schema
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await
        .unwrap();
    rows.iter()
        .map(|row| surefoot_core::id::JobId::from_uuid(row.get(0)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn symptom_55_what_is_scheduled_for_later_costs_a_claim_nothing() {
    let options = scratch();
    PostgresStore::open_with(options.clone()).await.unwrap();
    let mut connection = connection().await;
    let now = START.as_micros();
    let ready = format!("select 'ready', {now} + n, null from generate_series(1, 20000) n");
    fill(&mut connection, &options, &ready).await;
    let alone = blocks_of_a_claim(&mut connection, &options).await;
    let later = format!(
        "select 'scheduled', {now} + 86400000000 + n, null from generate_series(1, 200000) n"
    );
    fill(&mut connection, &options, &later).await;
    let beside = blocks_of_a_claim(&mut connection, &options).await;
    assert!(
        beside < alone * 2,
        "200,000 scheduled jobs: {beside} blocks, without them {alone}"
    );
}

/// On a table that was never analyzed, the planner takes the partial index of what runs for empty, and would read all of
/// it for each settlement.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_finds_its_job_by_id_whatever_the_planner_knows() {
    let options = scratch();
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    for _ in 0..4 {
        let batch: Vec<_> = (0..1000).map(|_| job("mail")).collect();
        store.enqueue(&batch, START).await.unwrap();
    }
    let mut batches = Vec::new();
    for _ in 0..4 {
        let leased = take(&store, "mail", 1000).await;
        let leases: Vec<_> = leased
            .iter()
            .map(|job| surefoot_core::port::Extension {
                job: job.id,
                epoch: job.state.epoch,
                until: at(60),
            })
            .collect();
        store.extend(&leases, at(1)).await.unwrap();
        batches.push(leased);
    }
    for leased in batches {
        let ends: Vec<_> = leased.iter().map(|job| success(job, at(2))).collect();
        store.advance(&ends, None, at(2)).await.unwrap();
    }
    let sql = format!(
        "select coalesce(sum(idx_tup_read), 0)::bigint, (select sum(idx_tup_read)::bigint from pg_stat_user_indexes
            where schemaname = '{schema}' and indexrelname = 'job_pkey')
        from pg_stat_user_indexes where schemaname = '{schema}' and indexrelname in ('job_lane', 'job_again')",
        schema = options.schema
    );
    // A server process reports what it read up to a second late.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    store.depth(START).await.unwrap();
    let row = sqlx::raw_sql(AssertSqlSafe(sql))
        .fetch_one(&mut connection().await)
        .await
        .unwrap();
    let (partial, by_id): (i64, Option<i64>) = (row.get(0), row.get(1));
    assert!(by_id.unwrap_or(0) >= 8_000, "the figures are in: {by_id:?}");
    assert!(
        partial < 60_000,
        "rows read from partial indexes: {partial}, by id: {by_id:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn large_payloads_come_in_bounded_answers() {
    let store = super::fixture::store().await;
    let large =
        surefoot_core::payload::Payload::parse(format!("\"{}\"", "x".repeat(1024 * 1024 - 2)))
            .unwrap();
    let batch: Vec<_> = (0..40)
        .map(|_| NewJob {
            payload: large.clone(),
            ..job("mail")
        })
        .collect();
    store.enqueue(&batch, START).await.unwrap();
    let first = take(&store, "mail", 1000).await;
    assert_eq!(first.len(), 32, "32 MiB in one answer");
    let rest = take(&store, "mail", 1000).await;
    assert_eq!(rest.len(), 8, "and the rest with the next");
    let late = at(10_000);
    assert_eq!(store.lapsed(late, 1000).await.unwrap().len(), 32);
    let ends: Vec<_> = first
        .iter()
        .chain(&rest)
        .map(|job| {
            super::fixture::decided(
                job,
                surefoot_core::settle::Report::Succeeded(large.clone()),
                at(2),
            )
        })
        .collect();
    let settled = store.advance(&ends, None, at(2)).await.unwrap().settled;
    assert_eq!(settled, vec![surefoot_core::port::Settled::Applied; 40]);
    let page = store.jobs(&Default::default(), None, 500).await.unwrap();
    assert!(
        (1..=17).contains(&page.len()),
        "a page is as long as it can be carried: {}",
        page.len()
    );
}

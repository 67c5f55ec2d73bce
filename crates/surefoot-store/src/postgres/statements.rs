//! Every statement is prepared on a real server, so that none waits for its first use to be wrong.

use sqlx::{ConnectOptions, Executor, SqlSafeStr};

use super::options::PostgresOptions;
use super::store::PostgresStore;
use super::{
    advance, announce, call, cancel, clock, dead_groups, depth, effect, enqueue, expire, late,
    lease, list, maintain, message, message_deliver, message_list, migrate, pause, receipt, record,
    request, request_forget, request_list, steer,
};

#[tokio::test]
async fn every_statement_is_prepared_and_names_its_verb() {
    let url = std::env::var("SUREFOOT_TEST_POSTGRES").expect(
        "SUREFOOT_TEST_POSTGRES names no server; run ./test, or scripts/with-postgres cargo test",
    );
    let schema = format!("statements_{}", std::process::id());
    let options = PostgresOptions {
        schema: schema.clone(),
        ..PostgresOptions::parse(&url).unwrap()
    };
    let store = PostgresStore::open_with(options.clone()).await.unwrap();
    let mut connection = options.connect().unwrap().connect().await.unwrap();
    let files = [
        advance::ALL,
        announce::ALL,
        call::ALL,
        cancel::ALL,
        clock::ALL,
        dead_groups::ALL,
        depth::ALL,
        effect::ALL,
        enqueue::ALL,
        expire::ALL,
        late::ALL,
        lease::ALL,
        list::ALL,
        maintain::ALL,
        message::ALL,
        message_deliver::ALL,
        message_list::ALL,
        migrate::ALL,
        pause::ALL,
        receipt::ALL,
        record::ALL,
        request::ALL,
        request_forget::ALL,
        request_list::ALL,
        steer::ALL,
    ];
    let mut faults = Vec::new();
    for statement in files.into_iter().flatten() {
        assert!(
            statement.trim_start().starts_with("-- "),
            "names its verb: {statement}"
        );
        if let Err(error) = connection.prepare(store.caller().sql(statement)).await {
            faults.push(format!("{error}: {statement}"));
        }
    }
    let drop = sqlx::AssertSqlSafe(format!("drop schema {schema} cascade")).into_sql_str();
    connection.execute(drop).await.unwrap();
    assert_eq!(faults, Vec::<String>::new());
}

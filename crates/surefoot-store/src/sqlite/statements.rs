//! Every statement of this store against the schema: it prepares, it names its verb, and it never walks through a table
//! that grows.

use rusqlite::Connection;

use super::{
    cancel, claim, dead_groups, depth, effect, enqueue, expire, late, lease, list, maintain,
    message, message_forget, message_line, message_list, message_mark, message_steer, message_take,
    order_line, pause, receipt, record, request, request_forget, request_list, schema, settle,
    steer, tally, writer,
};

const FILES: &[(&str, &[&str])] = &[
    ("cancel", cancel::ALL),
    ("claim/crowd", claim::crowd::ALL),
    ("claim/lane", claim::lane::ALL),
    ("claim/levels", claim::levels::ALL),
    ("claim/next_due", claim::next_due::ALL),
    ("claim/room", claim::room::ALL),
    ("claim/served", claim::served::ALL),
    ("claim/take", claim::take::ALL),
    ("dead_groups", dead_groups::ALL),
    ("depth", depth::ALL),
    ("effect", effect::ALL),
    ("enqueue", enqueue::ALL),
    ("expire", expire::ALL),
    ("late", late::ALL),
    ("lease", lease::ALL),
    ("list", list::ALL),
    ("maintain", maintain::ALL),
    ("message", message::ALL),
    ("message_forget", message_forget::ALL),
    ("message_line", message_line::ALL),
    ("message_list", message_list::ALL),
    ("message_mark", message_mark::ALL),
    ("message_steer", message_steer::ALL),
    ("message_take", message_take::ALL),
    ("order_line", order_line::ALL),
    ("pause", pause::ALL),
    ("receipt", receipt::ALL),
    ("record", record::ALL),
    ("request", request::ALL),
    ("request_forget", request_forget::ALL),
    ("request_list", request_list::ALL),
    ("schema", schema::ALL),
    ("settle", settle::ALL),
    ("steer", steer::ALL),
    ("tally", tally::ALL),
    ("writer", writer::ALL),
];

/// Statements that walk through all of something, and what keeps that small.
const WALKS: &[(&str, &str)] = &[
    ("-- claim: how many jobs run", "the jobs that run"),
    ("-- claim: the paused queues", "the paused queues"),
    ("-- crowd: whether there is any", "one row"),
    (
        "-- dead_groups: the largest groups",
        "the dead letters, in their index",
    ),
    ("-- depth: the counters", "the lanes"),
    ("-- depth: when the oldest dead letter died", "one row"),
    ("-- jobs: of any state", "a page, in the order of the index"),
    ("-- jobs: that run", "the jobs that run"),
    ("-- lapsed: running jobs", "the jobs that run"),
    ("-- migrate: ", "the migrations"),
    ("-- pauses: ", "the paused queues"),
    (
        "-- requests: of any state",
        "a page, in the order of the index",
    ),
    (
        "-- subscribe: what is kept of the topics",
        "once for a sink, when it is first subscribed to every topic",
    ),
    ("-- take: an epoch that was never given", "one row"),
];

fn migrated() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    schema::migrate(&connection).unwrap();
    connection
}

/// Every statement, with the file that it is in.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES
        .iter()
        .flat_map(|(file, statements)| statements.iter().map(|sql| (*file, *sql)))
}

/// How SQLite would run a statement, a line for each step.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut explain = connection
        .prepare(&format!("explain query plan {sql}"))
        .unwrap();
    for index in 1..=explain.parameter_count() {
        explain
            .raw_bind_parameter(index, rusqlite::types::Null)
            .unwrap();
    }
    let mut rows = explain.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

#[test]
fn each_statement_prepares_and_names_its_verb() {
    let connection = migrated();
    for (file, sql) in all() {
        assert!(
            sql.starts_with("-- ") && sql.lines().next().unwrap().contains(": "),
            "{file}: {sql}"
        );
        if let Err(error) = connection.prepare(sql) {
            panic!("{file}: {error}\n{sql}");
        }
    }
}

#[test]
fn no_statement_walks_through_a_table_that_grows() {
    let connection = migrated();
    let walks = |sql: &str| WALKS.iter().any(|(comment, _)| sql.starts_with(comment));
    for (file, sql) in all().filter(|(_, sql)| !walks(sql) && !sql.contains("savepoint")) {
        for step in plan(&connection, sql) {
            let walk = step.starts_with("SCAN") && !step.contains("CONSTANT ROW");
            assert!(!walk, "{file}: {step}\n{sql}");
        }
    }
}

#[test]
fn a_claim_reads_its_lanes_in_the_order_of_the_index() {
    let connection = migrated();
    for (file, sql) in all().filter(|(file, _)| file.starts_with("claim/")) {
        for step in plan(&connection, sql) {
            assert!(!step.contains("TEMP B-TREE"), "{file}: {step}\n{sql}");
        }
    }
    let lane = "SEARCH surefoot_job USING INDEX surefoot_job_lane (readiness=? AND queue=? AND kind=? AND priority=?";
    assert_eq!(
        plan(&connection, claim::lane::ALL[0]),
        [format!("{lane} AND due_at>?)")]
    );
    assert_eq!(
        plan(&connection, claim::lane::ALL[1]),
        [format!("{lane} AND due_at=? AND rowid>?)")]
    );
}

/// A file whose statements are not in the list above would go untested.
#[test]
fn the_statements_of_every_file_are_listed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlite");
    let mut found = Vec::new();
    for place in ["", "claim"] {
        for entry in std::fs::read_dir(folder.join(place)).unwrap() {
            let path = entry.unwrap().path();
            let source = if path.is_file() {
                std::fs::read_to_string(&path).unwrap()
            } else {
                continue;
            };
            if source.contains("\nstatements! {") {
                let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
                found.push(if place.is_empty() {
                    stem
                } else {
                    format!("{place}/{stem}")
                });
            }
        }
    }
    found.sort();
    assert_eq!(
        found,
        FILES
            .iter()
            .map(|(file, _)| (*file).to_owned())
            .collect::<Vec<_>>()
    );
}

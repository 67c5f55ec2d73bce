//! Migrations stand in nobody's way: no statement that rewrites a large table or holds it for long, none that cannot run
//! in a transaction, and no lock that outlives one, here or anywhere in the store. It reads words; it never runs SQL.

use std::collections::BTreeMap;
use std::path::Path;

use crate::report::{Fault, Report};
use crate::workspace;

const STORE: &str = "crates/surefoot-store/src/";

/// A sequence of words in one statement (`..` stands for any words between), what it does, and what to do instead.
type Rule = (&'static str, &'static str, &'static str);

/// What no migration may say.
const RULES: &[Rule] = &[
    (
        "concurrently",
        "cannot run in a transaction, and every migration is one",
        "do it beside the migrations, in a step that may be repeated",
    ),
    (
        "reindex",
        "locks a table, and leaves an invalid index behind when it is interrupted",
        "make a new index beside the old one",
    ),
    (
        "alter table .. generated .. stored",
        "rewrites the table under a lock that stops everybody",
        "add a plain column and fill it in steps",
    ),
    (
        "alter table .. alter column .. type",
        "rewrites the table under a lock that stops everybody",
        "add a column of the new type and fill it in steps",
    ),
    (
        "drop index",
        "waits for every reader and stops those behind it",
        "leave the index, or drop it beside the migrations",
    ),
    (
        "vacuum",
        "cannot run in a transaction",
        "leave it to the database",
    ),
    (
        "lock table",
        "stops everybody who works",
        "write a statement that needs no lock on the whole table",
    ),
];

/// Locks of a session: behind a pooler they stay with a server that nobody gives back.
const SESSION_LOCKS: &[&str] = &[
    concat!("pg_advisory_", "lock"),
    concat!("pg_try_advisory_", "lock"),
    concat!("pg_advisory_", "unlock"),
];

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let mut report = Report {
        checked: 0,
        unit: "files",
        faults: Vec::new(),
    };
    let mut migrations: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in workspace::tracked_files(root)? {
        let place = path.to_string_lossy().replace('\\', "/");
        let is_read =
            place.starts_with(STORE) && [".sql", ".rs"].iter().any(|end| place.ends_with(end));
        if !is_read || !root.join(&path).is_file() {
            continue;
        }
        let text = workspace::text(&root.join(&path))?;
        report.checked += 1;
        report.faults.extend(session_locks(&place, &text));
        if let Some(migration) = migration_of(&place) {
            migrations.entry(migration).or_default().push((place, text));
        }
    }
    for parts in migrations.values() {
        report.faults.extend(faults(parts));
    }
    Ok(report)
}

/// The migration that a file belongs to: `sqlite/0001` for `sqlite/migrations/0001_jobs.sql`.
fn migration_of(place: &str) -> Option<String> {
    let (database, file) = place.strip_prefix(STORE)?.split_once("/migrations/")?;
    let number: String = file.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("{database}/{number}"))
}

fn session_locks(place: &str, text: &str) -> Vec<Fault> {
    let lines = text.lines().enumerate();
    let named = |line: &str| {
        SESSION_LOCKS
            .iter()
            .find(|lock| line.contains(&format!("{lock}(")) || line.contains(&format!("{lock}_")))
            .copied()
    };
    let fault = |(index, line): (usize, &str)| {
        named(&line.to_lowercase()).map(|lock| {
            Fault::new(
                format!("{place}:{}", index + 1),
                format!("`{lock}` holds a lock that outlives its transaction"),
                "take pg_advisory_xact_lock, which ends with the transaction",
            )
        })
    };
    lines.filter_map(fault).collect()
}

/// The faults of one migration, all of its files together.
fn faults(parts: &[(String, String)]) -> Vec<Fault> {
    let statements: Vec<(&str, usize, Vec<String>)> = parts
        .iter()
        .flat_map(|(place, text)| {
            statements(text)
                .into_iter()
                .map(move |(line, words)| (place.as_str(), line, words))
        })
        .collect();
    let made: Vec<&str> = statements
        .iter()
        .filter_map(|(_, _, words)| object(words, "table", "create"))
        .collect();
    let mut faults = Vec::new();
    for (place, line, words) in &statements {
        let mut fault = |what: String, remedy: &str| {
            faults.push(Fault::new(format!("{place}:{line}"), what, remedy));
        };
        for (pattern, what, remedy) in RULES {
            if matches(words, pattern) {
                fault(format!("`{pattern}` {what}"), remedy);
            }
        }
        if let Some(table) = indexed_table(words)
            && !made.contains(&table)
        {
            let what =
                format!("the index on {table} is built while nobody can write to that table");
            fault(
                what,
                "build it beside the migrations, in a step that may be repeated",
            );
        }
    }
    faults
}

/// Statements as lower-case words, each with the line it begins on. A function's body counts as statements of its own.
fn statements(text: &str) -> Vec<(usize, Vec<String>)> {
    let mut all = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut begins = 1;
    for (index, line) in text.lines().enumerate() {
        let code = line.split("--").next().unwrap_or(line).to_lowercase();
        let spaced: String = code
            .chars()
            .map(|c| {
                if c.is_alphanumeric() || "_.;%'".contains(c) {
                    c
                } else {
                    ' '
                }
            })
            .collect();
        for part in spaced.split_inclusive(';') {
            for word in part.trim_end_matches(';').split_whitespace() {
                if words.is_empty() {
                    begins = index + 1;
                }
                words.push(word.trim_matches('\'').to_owned());
            }
            if part.ends_with(';') && !words.is_empty() {
                all.push((begins, std::mem::take(&mut words)));
            }
        }
    }
    if !words.is_empty() {
        all.push((begins, words));
    }
    all
}

/// Whether the words hold the pattern's words in a row; after `..` anywhere later.
fn matches(words: &[String], pattern: &str) -> bool {
    let mut rest = words;
    for piece in pattern.split(" .. ") {
        let piece: Vec<&str> = piece.split(' ').collect();
        let found = rest.windows(piece.len()).position(|window| window == piece);
        match found {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// What `verb .. noun [if not exists] NAME` names.
fn object<'w>(words: &'w [String], noun: &str, verb: &str) -> Option<&'w str> {
    let at = words.iter().position(|word| word == noun)?;
    let begins = words[..at].iter().any(|word| word == verb);
    let names = words[at + 1..]
        .iter()
        .map(String::as_str)
        .find(|word| !["if", "not", "exists", "only"].contains(word));
    names.filter(|_| begins)
}

fn indexed_table(words: &[String]) -> Option<&str> {
    let at = words.iter().position(|word| word == "index")?;
    let created = words[..at].iter().any(|word| word == "create");
    let on = words[at..].iter().position(|word| word == "on")? + at;
    words.get(on + 1).map(String::as_str).filter(|_| created)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(sql: &str) -> Vec<String> {
        let parts = [("m.sql".to_owned(), sql.to_owned())];
        let line = |fault: Fault| format!("{}: {}", fault.place, fault.what);
        faults(&parts).into_iter().map(line).collect()
    }

    #[test]
    fn what_makes_its_own_tables_passes() {
        let sql = "-- drop index of old\ncreate table s.job (id uuid not null,\n seq bigint generated always as identity);\n\
                   create unique index job_seq on s.job (seq);\nalter table s.job add column note text;\n";
        assert_eq!(told(sql), Vec::<String>::new());
    }

    #[test]
    fn what_stands_in_the_way_is_named_with_its_line() {
        let table = [
            (
                "create index\n  a on s.job (id);",
                "m.sql:1: the index on s.job is built",
            ),
            (
                "select 1;\ndrop index s.job_seq;",
                "m.sql:2: `drop index` waits",
            ),
            (
                "create index concurrently a on s.job (id)",
                "m.sql:1: `concurrently` cannot",
            ),
            (
                "alter table s.job add n int generated always as (1) stored;",
                "m.sql:1: `alter table .. generated .. stored`",
            ),
            (
                "ALTER TABLE s.job ALTER COLUMN id TYPE text;",
                "m.sql:1: `alter table .. alter column .. type`",
            ),
            ("begin reindex table s.job; end", "m.sql:1: `reindex`"),
            ("lock table s.job;", "m.sql:1: `lock table`"),
        ];
        for (sql, expected) in table {
            let found = told(sql);
            assert!(
                found.iter().any(|line| line.starts_with(expected)),
                "{sql}: {found:?}"
            );
        }
    }

    #[test]
    fn only_locks_of_a_transaction_pass() {
        let line = |lock: &str| session_locks("a.rs", &format!("perform {lock}(1)")).len();
        assert_eq!(
            (
                line("pg_advisory_xact_lock"),
                line("pg_try_advisory_xact_lock")
            ),
            (0, 0)
        );
        for lock in SESSION_LOCKS {
            assert_eq!(
                (line(lock), line(&format!("{lock}_shared"))),
                (1, 1),
                "{lock}"
            );
        }
    }

    #[test]
    fn the_files_of_a_migration_are_one() {
        let of = |file: &str| migration_of(&format!("{STORE}{file}"));
        assert_eq!(
            of("postgres/migrations/0001/tables.sql"),
            Some("postgres/0001".to_owned())
        );
        assert_eq!(
            of("sqlite/migrations/0001_jobs.sql"),
            Some("sqlite/0001".to_owned())
        );
        assert_eq!(of("sqlite/claim/take.rs"), None);
    }
}

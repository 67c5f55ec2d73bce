//! SQL lives in surefoot-store. This check reads the string literals of every other crate's `src`; it must never read the
//! store's own, nor tests: the store contract may look at rows, and the benchmark's floors, the lab's plain loop and the demo's unprotected checkout are
//! SQL without a store.

use std::path::Path;

use crate::literals::{Literal, literals};
use crate::report::{Fault, Report};
use crate::workspace;

const STORE: &str = "surefoot-store";
/// The store contract of the testkit checks stores from outside and may ask them in SQL.
const CONTRACT: &str = "surefoot-testkit/src/contract";
/// What the database does without the store, to measure the store against.
const FLOORS: &str = "surefoot-bench/src/floor/";
/// The retrying loop that the lab measures beside Surefoot has a table of its own.
const PLAIN_LOOP: &str = "surefoot-lab/src/plain/";
/// The unprotected checkout of the demo has a table of its own.
const PLAIN_CHECKOUT: &str = "surefoot-demo/src/checkout/plain.rs";

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let crates = root.join("crates");
    let mut report = Report {
        checked: 0,
        unit: "files",
        faults: Vec::new(),
    };
    for path in workspace::rust_files(&crates)? {
        let place = path
            .strip_prefix(&crates)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace('\\', "/");
        if is_checked(&place) {
            report.checked += 1;
            report
                .faults
                .extend(faults(&format!("crates/{place}"), &workspace::text(&path)?));
        }
    }
    Ok(report)
}

/// Only `CRATE/src/..`, the store, its contract, the floors, what is plain and test modules apart.
fn is_checked(place: &str) -> bool {
    let mut parts = place.split('/');
    let owner = parts.next();
    let in_src = parts.next() == Some("src");
    let is_test = parts.any(|part| part == "tests" || part == "tests.rs");
    owner != Some(STORE)
        && in_src
        && !is_test
        && !place.starts_with(CONTRACT)
        && !place.starts_with(FLOORS)
        && !place.starts_with(PLAIN_LOOP)
        && place != PLAIN_CHECKOUT
}

fn faults(place: &str, source: &str) -> Vec<Fault> {
    let code = before_tests(source);
    literals(code)
        .into_iter()
        .filter(|literal| is_sql(&literal.text))
        .map(|literal| fault(place, &literal))
        .collect()
}

fn fault(place: &str, literal: &Literal) -> Fault {
    let words: Vec<&str> = literal.text.split_whitespace().take(4).collect();
    Fault::new(
        format!("{place}:{}", literal.line),
        format!("a string reads as SQL: \"{} ..\"", words.join(" ")),
        "move the statement to surefoot-store behind a verb of a port; if it is prose, begin it with another word",
    )
}

/// Test modules stand last in a file, so everything before the first one is the code.
fn before_tests(source: &str) -> &str {
    let starts = source.match_indices("#[cfg(test)]").find(|(at, mark)| {
        let module = source[at + mark.len()..].trim_start();
        module.starts_with("mod ")
            && module
                .lines()
                .next()
                .is_some_and(|line| line.trim_end().ends_with('{'))
    });
    starts.map_or(source, |(at, _)| &source[..at])
}

fn is_sql(text: &str) -> bool {
    let text = without_comments(&text.replace("\\n", "\n").replace("\\t", "\t")).to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["insert", "into", ..]
        | ["delete", "from", ..]
        | ["create" | "alter" | "drop", "table" | "index", ..] => true,
        ["update", _, more @ ..] => more.iter().take(3).any(|word| *word == "set"),
        ["select", first, more @ ..] => {
            more.contains(&"from")
                || first.contains('(')
                || first.starts_with(|c: char| c.is_ascii_digit() || c == '*')
        }
        ["with", _, "as", third, ..] => third.starts_with('('),
        _ => false,
    }
}

/// A statement of the house opens with a comment that names its verb.
fn without_comments(text: &str) -> String {
    let mut rest = text.trim_start();
    loop {
        let after = if rest.starts_with("--") {
            rest.split_once('\n').map(|(_, after)| after)
        } else if rest.starts_with("/*") {
            rest.split_once("*/").map(|(_, after)| after)
        } else {
            None
        };
        match after {
            Some(after) => rest = after.trim_start(),
            None => return rest.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_recognised() {
        for text in [
            "select id from job",
            "  SELECT 1",
            "select\\n  * from job",
            "select surefoot.enqueue($1)",
            "/* claim */ select id from job",
            "-- claim\nselect id from job",
            "insert into job values (1)",
            "UPDATE job SET state = 1",
            "update job as j set state = 1",
            "delete from job",
            "with due as (select 1) delete from job",
        ] {
            assert!(is_sql(text), "{text}");
        }
    }

    #[test]
    fn prose_is_not() {
        for text in [
            "select a job",
            "selected from a list",
            "update failed",
            "delete",
            "updates of the set",
            "",
            "-- x",
        ] {
            assert!(!is_sql(text), "{text}");
        }
    }

    #[test]
    fn a_statement_outside_the_store_is_named_with_its_line() {
        let source = "// \"select id from job\"\nconst CLAIM: &str =\n    \"delete from job where id = $1\";\n";
        let faults = faults("crates/surefoot/src/claim.rs", source);
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].place, "crates/surefoot/src/claim.rs:3");
        assert_eq!(
            faults[0].what,
            "a string reads as SQL: \"delete from job where ..\""
        );
    }

    #[test]
    fn inline_tests_are_left_out() {
        let source =
            "fn f() {}\n#[cfg(test)]\nmod tests {\n const A: &str = \"delete from job\"; }";
        assert_eq!(faults("a.rs", source), []);
        let declared = "#[cfg(test)]\nmod tests;\nconst A: &str = \"delete from job\";";
        assert_eq!(faults("a.rs", declared).len(), 1);
    }

    #[test]
    fn the_store_tests_and_the_contract_are_left_out() {
        for (place, checked) in [
            ("surefoot/src/engine.rs", true),
            ("surefoot-testkit/src/memory.rs", true),
            ("surefoot-store/src/claim.rs", false),
            ("surefoot-testkit/src/contract/claim.rs", false),
            ("surefoot-testkit/src/contract.rs", false),
            ("surefoot-bench/src/floor/sqlite.rs", false),
            ("surefoot-bench/src/soak.rs", true),
            ("surefoot-lab/src/plain/table.rs", false),
            ("surefoot-lab/src/faults/cell.rs", true),
            ("surefoot/src/engine/tests.rs", false),
            ("surefoot/tests/all/main.rs", false),
            ("surefoot/benches/claim.rs", false),
        ] {
            assert_eq!(is_checked(place), checked, "{place}");
        }
    }
}

//! The pages about faults of other systems stay true: every test that they name is a test in the tree, every file that
//! they name exists, and every numbered row has an answer. It never judges whether a test shows what its row says.
//!
//! In the tables of a page, `folder/file.rs::name` is a test of that file and `folder/file.rs` a file, where the page has
//! a row | `folder` | `path/of/folder` |. Any other name of three words or more is a test somewhere in the tree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::report::{Fault, Report};
use crate::workspace;

/// Pages are `docs/symptoms*.md`.
const PAGES: (&str, &str) = ("docs/symptoms", ".md");
/// The cases of the store contract are tests by way of the macro that lists them.
const CONTRACT: &str = "crates/surefoot-testkit/src/contract/";
/// How a row says that the part of the product which could have the fault is still to come.
const TO_COME: &str = "Comes with ";
/// How many words a name that stands alone has at least, so that it is the name of a test and nothing else.
const WORDS_MIN: usize = 3;

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let files = workspace::tracked_files(root)?;
    let mut tree = BTreeMap::new();
    let mut pages = Vec::new();
    for path in files.iter().filter(|path| root.join(path).is_file()) {
        let place = path.to_string_lossy().replace('\\', "/");
        if place.starts_with(PAGES.0) && place.ends_with(PAGES.1) {
            pages.push((place, workspace::text(&root.join(path))?));
        } else if place.ends_with(".rs") || place.ends_with(".sql") {
            tree.insert(place, workspace::text(&root.join(path))?);
        }
    }
    let tree = Tree::of(tree);
    let mut report = Report {
        checked: 0,
        unit: "tests and files",
        faults: Vec::new(),
    };
    for (place, text) in &pages {
        let page = Page::read(text);
        report.checked += page.named.len();
        report.faults.extend(page.faults(place, &tree));
    }
    Ok(report)
}

/// The sources, and the names of all tests in them.
struct Tree {
    files: BTreeMap<String, String>,
    tests: BTreeSet<String>,
}

impl Tree {
    fn of(files: BTreeMap<String, String>) -> Self {
        let rust = files.iter().filter(|(path, _)| path.ends_with(".rs"));
        let tests = rust.flat_map(|(path, text)| tests(path, text)).collect();
        Self { files, tests }
    }
}

/// What a page says, each with its line.
struct Page {
    /// Short names of folders, from rows of the form | `short` | `folder` |.
    folders: BTreeMap<String, String>,
    named: Vec<(usize, Named)>,
    rows: Vec<Row>,
}

/// What stands in backticks.
#[derive(Debug, PartialEq)]
enum Named {
    /// A file, or a test of it.
    File {
        folder: String,
        file: String,
        test: Option<String>,
    },
    /// A test, wherever it is.
    Test(String),
}

/// A row that begins with a number.
struct Row {
    line: usize,
    number: u32,
    answered: bool,
    /// `As 52`: the answer of that row.
    like: Option<u32>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self {
            folders: BTreeMap::new(),
            named: Vec::new(),
            rows: Vec::new(),
        };
        let lines = text.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| line.starts_with('|')) {
            page.row(index + 1, line);
        }
        page
    }

    fn row(&mut self, number: usize, line: &str) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", short, folder, ""] = cells.as_slice()
            && let (Some(short), Some(folder)) = (in_backticks(short), in_backticks(folder))
        {
            self.folders.insert(short.to_owned(), folder.to_owned());
            return;
        }
        let spans = line.split('`').skip(1).step_by(2);
        let named: Vec<Named> = spans.filter_map(named).collect();
        if let ["", first, ..] = cells.as_slice()
            && let Ok(row) = first.parse()
        {
            self.rows.push(Row {
                line: number,
                number: row,
                answered: !named.is_empty() || line.contains(TO_COME),
                like: cells.iter().find_map(|cell| like(cell)),
            });
        }
        let named = named.into_iter().map(|named| (number, named));
        self.named.extend(named);
    }

    fn faults(&self, page: &str, tree: &Tree) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (line, named) in &self.named {
            if let Err((what, remedy)) = self.look(named, tree) {
                faults.push(Fault::new(format!("{page}:{line}"), what, remedy));
            }
        }
        let mut last = 0;
        for row in &self.rows {
            let answered = row.answered
                || self
                    .rows
                    .iter()
                    .any(|other| other.answered && row.like == Some(other.number));
            let what = match (answered, row.number > last) {
                (true, true) => None,
                (false, _) => Some("names no test and no file"),
                (true, false) => Some("does not follow the row above"),
            };
            last = row.number;
            faults.extend(what.map(|what| {
                Fault::new(
                    format!("{page}:{}", row.line),
                    format!("row {} {what}", row.number),
                    format!(
                        "name the test or the file that keeps the fault out, or say \"{TO_COME}..\""
                    ),
                )
            }));
        }
        faults
    }

    fn look(&self, named: &Named, tree: &Tree) -> Result<(), (String, &'static str)> {
        let (folder, file, test) = match named {
            Named::File { folder, file, test } => (folder, file, test),
            Named::Test(name) if tree.tests.contains(name) => return Ok(()),
            Named::Test(name) => {
                let what = format!("names the test `{name}`, which is nowhere");
                return Err((what, "name the test as it is called in the tree"));
            }
        };
        let Some(folder) = self.folders.get(folder) else {
            let what = format!("`{folder}/..` is no folder of the page's list");
            return Err((what, "add it to the table of folders"));
        };
        let path = format!("{folder}/{file}");
        let Some(text) = tree.files.get(&path) else {
            let what = format!("names {path}, which does not exist");
            return Err((what, "correct the path"));
        };
        match test {
            Some(test) if !tests(&path, text).any(|name| name == *test) => {
                let what = format!("names the test `{test}`, which is not in {path}");
                Err((what, "name the test as it is called there"))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// The row that a cell such as `As 52 and more` points to.
fn like(cell: &str) -> Option<u32> {
    let after = cell.strip_prefix("As ")?;
    let end = after
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(after.len());
    after[..end].parse().ok()
}

fn in_backticks(cell: &str) -> Option<&str> {
    let inner = cell.strip_prefix('`')?.strip_suffix('`')?;
    (!inner.contains('`')).then_some(inner)
}

fn named(span: &str) -> Option<Named> {
    let (path, test) = match span.split_once("::") {
        Some((path, test)) => (path, Some(test.to_owned())),
        None => (span, None),
    };
    let is_path = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
    };
    if let Some((folder, file)) = path.split_once('/')
        && [".rs", ".sql"].iter().any(|end| file.ends_with(end))
        && is_path(path)
        && !folder.is_empty()
    {
        return Some(Named::File {
            folder: folder.to_owned(),
            file: file.to_owned(),
            test,
        });
    }
    let name = span.rsplit([' ', ':']).next().unwrap_or(span);
    let is_word = |word: &str| {
        let mut bytes = word.bytes();
        !word.is_empty() && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let words: Vec<&str> = name.split('_').collect();
    let is_name = words.len() >= WORDS_MIN && words.into_iter().all(is_word);
    is_name.then(|| Named::Test(name.to_owned()))
}

/// The names of the functions in `text` that the test harness runs.
fn tests<'t>(path: &str, text: &'t str) -> impl Iterator<Item = String> + use<'t> {
    let is_contract = path.starts_with(CONTRACT);
    let mut attributes: Vec<&str> = Vec::new();
    text.lines().filter_map(move |line| {
        let code = line.trim_start();
        if code.starts_with("#[") || code.starts_with("//") {
            attributes.push(code);
            return None;
        }
        let is_test = attributes.drain(..).any(is_test_attribute);
        let is_case = is_contract && line.starts_with("pub async fn ");
        let (before, after) = code.split_once("fn ")?;
        let is_head = before
            .split_whitespace()
            .all(|word| ["pub", "async"].contains(&word));
        let name = after.split(['(', '<']).next()?;
        (is_head && (is_test || is_case)).then(|| name.to_owned())
    })
}

fn is_test_attribute(line: &str) -> bool {
    let Some(attribute) = line.strip_prefix("#[") else {
        return false;
    };
    let path = attribute.split(['(', ']']).next().unwrap_or(attribute);
    path == "test" || path.ends_with("::test")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEGEND: &str = "| `engine` | `crates/e/tests` |\n\
                          | `contract` | `crates/surefoot-testkit/src/contract` |\n";

    fn tree() -> Tree {
        let engine = "fn it_helps_out() {}\n\n/// Why.\n#[tokio::test(start_paused = true)]\nasync fn it_holds() {}\n\
                      #[test]\nfn nothing_is_lost() {}\n    #[test]\n    fn p1_any_value(value in any()) {}\n";
        let contract = "pub async fn a_case(store: S) {}\nfn it_helps_too(x: u8) {}\n";
        let files = [
            ("crates/e/tests/crash.rs", engine),
            ("crates/surefoot-testkit/src/contract/fence.rs", contract),
            ("crates/e/tests/claim.sql", "select 1"),
        ];
        Tree::of(
            files
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .into(),
        )
    }

    fn told(rows: &str) -> Vec<String> {
        let page = Page::read(&format!("{LEGEND}{rows}"));
        let faults = page.faults("docs/symptoms.md", &tree());
        let line = |fault: Fault| format!("{}: {}", fault.place, fault.what);
        faults.into_iter().map(line).collect()
    }

    #[test]
    fn tests_and_files_that_exist_are_answers() {
        let rows = "| 1 | lost | `engine/crash.rs::it_holds` |\n| 2 | twice | `engine/claim.sql` |\n\
                    | 4 | x | `contract/fence.rs::a_case` |\n| 9 | cron | Comes with cron schedules. |\n\
                    | 10 | y | As 4, and more |\n\
                    | A1 | x | `crash: nothing_is_lost`, `p1_any_value` |\n`not_a_row_at_all`\n";
        assert_eq!(told(rows), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is_told_with_its_line() {
        let rows = "| 1 | a | `engine/crash.rs::it_held` |\n| 2 | b | `engine/crash.rs::it_helps_out` |\n\
                    | 3 | c | `engine/gone.rs` |\n| 4 | d | `motor/crash.rs` |\n| 5 | e | As 77 |\n\
                    | 5 | f | `engine/crash.rs` |\n| A1 | g | `crash: nothing_was_lost` |\n\
                    | 6 | h | `contract/fence.rs::it_helps_too` |\n";
        let path = "crates/e/tests";
        assert_eq!(
            told(rows),
            [
                format!(
                    "docs/symptoms.md:3: names the test `it_held`, which is not in {path}/crash.rs"
                ),
                format!(
                    "docs/symptoms.md:4: names the test `it_helps_out`, which is not in {path}/crash.rs"
                ),
                format!("docs/symptoms.md:5: names {path}/gone.rs, which does not exist"),
                "docs/symptoms.md:6: `motor/..` is no folder of the page's list".to_owned(),
                "docs/symptoms.md:9: names the test `nothing_was_lost`, which is nowhere"
                    .to_owned(),
                format!(
                    "docs/symptoms.md:10: names the test `it_helps_too`, which is not in {}/fence.rs",
                    "crates/surefoot-testkit/src/contract"
                ),
                "docs/symptoms.md:7: row 5 names no test and no file".to_owned(),
                "docs/symptoms.md:8: row 5 does not follow the row above".to_owned(),
            ]
        );
    }

    #[test]
    fn other_spans_are_prose() {
        for span in [
            "same_key",
            "a::b",
            "/v1/jobs",
            "a/b",
            "lease < x",
            "POST /v1/a.rs x",
            "Idempotency_Key_x",
            "a__b",
        ] {
            assert_eq!(named(span), None, "{span}");
        }
    }
}

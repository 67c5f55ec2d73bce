//! Parser, published schema and document say the same: each key of the one is a key of the others, what loads is valid,
//! bounds and words are those of the parser. A key that one of them has alone fails here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use super::duration;
use super::fault::Placed;
use super::file::parse;
use super::keys::{self, Key, Shape, Table};
use super::schema;

/// A key that nobody knows.
const UNKNOWN: &str = "qqqqqqqqqqqqqqqqqqqqqqqq";

/// Where the schema stands while it is compiled.
const PLACE: &str = "urn:surefoot.toml";

pub(super) static VALIDATOR: LazyLock<Validator> = LazyLock::new(Validator::new);

/// The published schema, ready to check files.
pub(super) struct Validator(Schemas, SchemaIndex);

impl Validator {
    pub(super) fn new() -> Self {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource(PLACE, schema::document()).unwrap();
        let index = compiler.compile(PLACE, &mut schemas).unwrap();
        Self(schemas, index)
    }

    /// What is invalid about a file; `None` when nothing is.
    pub(super) fn refusal(&self, text: &str) -> Option<String> {
        let table: toml::Table = text.parse().unwrap();
        let document = serde_json::to_value(table).unwrap();
        let checked = self.0.validate(&document, self.1);
        checked.err().map(|refusal| format!("{refusal:#}"))
    }
}

/// What is in the environment of every test: anything, and it is a token.
pub(super) fn environment(_: &str) -> Option<String> {
    Some("0123456789abcdef0123".to_owned())
}

/// A file that loads must be valid too.
#[track_caller]
pub(super) fn valid(text: &str) {
    if let Some(refusal) = VALIDATOR.refusal(text) {
        panic!("it loads and is not valid: {refusal}\n{text}");
    }
}

fn faults(text: &str) -> Vec<Placed> {
    match parse("f", text, &environment) {
        Ok(_) => Vec::new(),
        Err(unloadable) => unloadable.placed,
    }
}

fn workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

#[test]
fn the_published_schema_is_the_one_that_is_printed() {
    let path = workspace("docs/configuration.schema.json");
    let published = std::fs::read_to_string(path).unwrap();
    assert!(
        published == schema::text(),
        "run: surefoot config schema > docs/configuration.schema.json"
    );
}

#[test]
fn a_table_has_no_key_twice_and_each_is_described() {
    each_table(keys::file(), "", &mut |path, tables| {
        for table in tables {
            let names: BTreeSet<&str> = table.keys.iter().map(|key| key.name).collect();
            assert_eq!(names.len(), table.keys.len(), "[{path}]");
            for key in &table.keys {
                let first = key.what.chars().next().unwrap();
                assert!(first.is_uppercase() || first == '`', "{path}.{}", key.name);
                assert!(key.what.ends_with(['.', ';']), "{path}.{}", key.name);
                let needs = key.needs.iter().all(|need| names.contains(need));
                assert!(needs, "{path}.{}", key.name);
            }
        }
    });
}

/// Every place of the file where a table may stand, with what may stand there.
fn each_table(table: &'static Table, path: &str, see: &mut dyn FnMut(&str, &[&'static Table])) {
    for key in &table.keys {
        let tables = key.shape.tables();
        if tables.is_empty() {
            continue;
        }
        let dot = if path.is_empty() { "" } else { "." };
        let name = if matches!(key.shape, Shape::Named(..)) {
            ".n"
        } else {
            ""
        };
        let inner = format!("{path}{dot}{}{name}", key.name);
        see(&inner, &tables);
        for table in tables {
            each_table(table, &inner, see);
        }
    }
}

/// The keys that the parser tells when a table has one that it does not know: every one that it takes there.
fn keys_of_the_parser(path: &str) -> BTreeSet<String> {
    let header = match path {
        "proxy.route" => "[[proxy.route]]".to_owned(),
        _ => format!("[{path}]"),
    };
    let contents: &[&str] = match path {
        "job.n.recovery" => &["verify = {}", "same_key = {}"],
        "job.n.backoff" | "dependency.n.retry.backoff" => &["base = '1s'"],
        _ => &[""],
    };
    let mut found = BTreeSet::new();
    for content in contents {
        let calls = if path.starts_with("job.n.recovery") {
            "job.n.dependency = 'n'\n"
        } else {
            ""
        };
        let text = format!("{calls}{header}\n{UNKNOWN} = 1\n{content}\n");
        for Placed { fault, .. } in faults(&text) {
            let known = ["known here: ", "give one of: "]
                .into_iter()
                .find_map(|words| {
                    fault
                        .remedy
                        .strip_prefix(words)
                        .or(fault.remedy.split(words).nth(1))
                });
            if let (true, Some(known)) = (fault.what.contains(UNKNOWN), known) {
                found.extend(known.split(", ").map(str::to_owned));
            }
        }
    }
    found
}

#[test]
fn the_parser_takes_the_keys_of_the_schema_and_no_others() {
    let mut places = 0;
    each_table(keys::file(), "", &mut |path, tables| {
        // Here a key is the word of a jitter, and the words are no keys.
        if path.ends_with(".jitter") {
            return;
        }
        // Reasons are texts: the faults that can be accepted are told for one that is none.
        let told = match path.strip_suffix(".waive") {
            Some(section) => faults_that_can_be_accepted(section),
            None => keys_of_the_parser(path),
        };
        let declared = tables.iter().flat_map(|table| &table.keys);
        let declared: BTreeSet<String> = declared.map(|key| key.name.to_owned()).collect();
        assert_eq!(told, declared, "[{path}]");
        places += 1;
    });
    assert!(places >= 30, "{places}");
    let top: BTreeSet<&str> = keys::file().keys.iter().map(|key| key.name).collect();
    let told = faults(&format!("{UNKNOWN} = 1\n"));
    let known = told[0].fault.remedy.split("known here: ").nth(1).unwrap();
    assert_eq!(known.split(", ").collect::<BTreeSet<_>>(), top);
}

fn faults_that_can_be_accepted(section: &str) -> BTreeSet<String> {
    let told = faults(&format!("[{section}.waive]\n{UNKNOWN} = 'why'\n"));
    let known = told
        .iter()
        .find_map(|placed| placed.fault.remedy.strip_prefix("give one of: "));
    known.unwrap().split(", ").map(str::to_owned).collect()
}

const DOCUMENT: &str = include_str!("../../../../docs/configuration.md");

/// Ways to say things that exclude those of the example in the document.
const OTHER_WAYS: [&str; 2] = [
    "[proxy]\nupstream = 'http://h:1'\ntenant_header = 'x-tenant'\ntrusted_proxies = ['10.0.0.7']\n",
    "[proxy]\nupstream = 'http://h:1'\ntenant = 'a'\n\
     [dependency.prices]\nbase_url = 'http://h'\nwaive = { no_jitter = 'why' }\nretry = { backoff = { base = '1s', jitter = { fraction = 0.5 } } }\n",
];

/// Every file that [`occurrences`] looks in.
pub(super) fn whole_files() -> Vec<toml::Table> {
    let example = DOCUMENT.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let files = std::iter::once(example).chain(OTHER_WAYS);
    files.map(|text| text.parse().unwrap()).collect()
}

/// A key where a file has it.
struct Occurrence {
    key: &'static Key,
    /// The file as it would be with this value there.
    with: Box<dyn Fn(toml::Value) -> toml::Table>,
    /// As faults name it.
    path: String,
}

/// One place for each key, by the path of its declaration.
fn occurrences() -> Vec<(String, Occurrence)> {
    let mut found: Vec<(String, Occurrence)> = Vec::new();
    for file in whole_files() {
        let value = toml::Value::Table(file.clone());
        within(
            &[keys::file()],
            &value,
            &file,
            &mut Vec::new(),
            String::new(),
            &mut found,
        );
    }
    found
}

fn within(
    tables: &[&'static Table],
    value: &toml::Value,
    file: &toml::Table,
    at: &mut Vec<String>,
    declared: String,
    found: &mut Vec<(String, Occurrence)>,
) {
    if let toml::Value::Array(items) = value {
        for (index, item) in items.iter().enumerate() {
            at.push(index.to_string());
            within(tables, item, file, at, declared.clone(), found);
            at.pop();
        }
        return;
    }
    let Some(table) = value.as_table() else {
        return;
    };
    for key in tables.iter().flat_map(|table| &table.keys) {
        let Some(inner) = table.get(key.name) else {
            continue;
        };
        at.push(key.name.to_owned());
        let path = format!("{declared}.{}", key.name);
        if !found.iter().any(|(known, _)| *known == path) {
            let (whole, place) = (file.clone(), at.clone());
            let occurrence = Occurrence {
                key,
                path: place
                    .iter()
                    .filter(|part| part.parse::<usize>().is_err())
                    .cloned()
                    .collect::<Vec<_>>()
                    .join("."),
                with: Box::new(move |value| replaced(&whole, &place, value)),
            };
            found.push((path.clone(), occurrence));
        }
        let tables = key.shape.tables();
        match (&key.shape, inner.as_table()) {
            (Shape::Named(..), Some(names)) => {
                for (name, each) in names {
                    at.push(name.clone());
                    within(&tables, each, file, at, format!("{path}.n"), found);
                    at.pop();
                }
            }
            _ => within(&tables, inner, file, at, path, found),
        }
        at.pop();
    }
}

fn replaced(file: &toml::Table, place: &[String], value: toml::Value) -> toml::Table {
    let mut whole = toml::Value::Table(file.clone());
    let mut here = &mut whole;
    for part in place {
        here = match here {
            toml::Value::Array(items) => &mut items[part.parse::<usize>().unwrap()],
            other => other.as_table_mut().unwrap().get_mut(part).unwrap(),
        };
    }
    *here = value;
    whole.as_table().unwrap().clone()
}

/// Every key stands in the example of the document, but those that the other ways have and the names of faults.
#[test]
fn the_example_of_the_document_has_every_key() {
    let found: BTreeSet<String> = occurrences().into_iter().map(|(path, _)| path).collect();
    let mut missing = Vec::new();
    let mut see = |path: &str, tables: &[&'static Table]| {
        if path.ends_with(".waive") {
            return;
        }
        for key in tables.iter().flat_map(|table| &table.keys) {
            let path = format!(".{path}.{}", key.name);
            // A key of the one is a key of the other.
            let shared = [
                path.replace(".proxy.route.", ".proxy."),
                path.replace(".proxy.", ".proxy.route."),
            ];
            if !found.contains(&path) && !shared.iter().any(|path| found.contains(path)) {
                missing.push(path);
            }
        }
    };
    each_table(keys::file(), "", &mut see);
    assert!(missing.is_empty(), "{missing:?}");
}

/// The tables of the document name the defaults that the schema has, which are those of the code.
#[test]
fn the_document_says_the_defaults_of_the_schema() {
    let mut checked = 0;
    for (declared, Occurrence { key, .. }) in occurrences() {
        let Some(default) = &key.default else {
            continue;
        };
        // These have one row each, in which the defaults stand among the words.
        let in_words = [
            ".adaptive.",
            ".fallback.",
            ".fault.",
            ".hedge.",
            ".request.",
        ]
        .iter()
        .any(|part| declared.contains(part));
        if in_words || default.is_array() || default.is_object() {
            continue;
        }
        let (plain, short) = (format!("`{}`", key.name), format!(".{}`", key.name));
        let rows = DOCUMENT.lines().filter(|line| line.starts_with('|'));
        let about = rows.filter(|row| {
            let first = row.split('|').nth(1).unwrap();
            first.contains(&plain) || first.contains(&short)
        });
        let about: Vec<&str> = about.collect();
        // What has no row of its own stands in the words of a row with its table.
        if !about.is_empty() {
            let said = about.iter().any(|row| says(row, default));
            assert!(said, "{declared}: {default} is not in {about:#?}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}

/// Whether a row of the document has this value, in whatever units.
fn says(row: &str, value: &Value) -> bool {
    let words = row.split('`').skip(1).step_by(2);
    let texts = words.map(|word| word.trim_matches('"'));
    let mut texts = texts.flat_map(|text| text.split(", "));
    match value {
        Value::String(text) => texts.any(|word| {
            let time = |text: &str| duration::parse(text).ok();
            word == text || (time(word).is_some() && time(word) == time(text))
        }),
        Value::Number(number) => texts.any(|word| {
            word.parse::<f64>()
                .is_ok_and(|word| Some(word) == number.as_f64())
        }),
        other => {
            let said = other.to_string();
            texts.any(|word| word == said)
        }
    }
}

/// What is said of the key itself, not of how it goes with others.
fn told_of_the_key(occurrence: &Occurrence, value: toml::Value) -> Vec<String> {
    let text = toml::to_string(&(occurrence.with)(value)).unwrap();
    let found = faults(&text).into_iter();
    found
        .filter(|placed| placed.fault.key == occurrence.path)
        .map(|placed| placed.fault.what)
        .collect()
}

#[test]
fn every_key_is_read_and_takes_no_date() {
    let date: toml::Value = toml::Value::Datetime("1979-05-27".parse().unwrap());
    let mut seen = 0;
    for (declared, occurrence) in occurrences() {
        let told = told_of_the_key(&occurrence, date.clone());
        let known = told.iter().any(|what| !what.contains("unknown key"));
        assert!(known, "{declared}: {told:?}");
        let text = toml::to_string(&(occurrence.with)(toml::Value::Boolean(false))).unwrap();
        let is_truth = matches!(occurrence.key.shape, Shape::Truth);
        assert_eq!(VALIDATOR.refusal(&text).is_none(), is_truth, "{declared}");
        seen += 1;
    }
    assert!(seen > 130, "{seen}");
}

/// Values that go beyond what other keys of the example allow, and are within the bounds of their own.
const TOGETHER: [&str; 8] = [
    "limit_min",
    "limit_max",
    "optional_at",
    "degradable_at",
    "shares of fault",
    "has no latency",
    "could not be sent",
    "and calls",
];

#[test]
fn bounds_and_words_are_those_of_the_parser() {
    let mut checked = 0;
    for (declared, occurrence) in occurrences() {
        let (taken, refused) = samples(&occurrence.key.shape);
        checked += taken.len() + refused.len();
        for value in taken {
            let told = told_of_the_key(&occurrence, value.clone());
            let own = told
                .iter()
                .filter(|what| !TOGETHER.iter().any(|words| what.contains(words)));
            let beyond: Vec<&String> = own.filter(|what| is_about_bounds(what)).collect();
            assert!(beyond.is_empty(), "{declared} = {value}: {beyond:?}");
        }
        for value in refused {
            let text = toml::to_string(&(occurrence.with)(value.clone())).unwrap();
            assert!(!faults(&text).is_empty(), "{declared} = {value} is taken");
        }
    }
    assert!(checked > 250, "{checked}");
}

/// Contradictions with other keys have other words.
fn is_about_bounds(what: &str) -> bool {
    [
        "is unknown",
        "not within",
        "whole number",
        "no method",
        "above 0",
        "is 0",
        "is above",
        "is no ",
        "none that is known",
    ]
    .iter()
    .any(|words| what.contains(words))
}

/// Values that are just within the bounds, and values that are just beyond.
fn samples(shape: &Shape) -> (Vec<toml::Value>, Vec<toml::Value>) {
    let whole = |number: u64| i64::try_from(number).map(toml::Value::Integer).unwrap();
    match shape {
        Shape::Words(words) => (
            words.iter().map(|word| (*word).into()).collect(),
            vec![UNKNOWN.into(), format!("{}x", words[0]).into()],
        ),
        Shape::Count(range) => {
            let below = i64::try_from(*range.start()).unwrap() - 1;
            (
                vec![whole(*range.start()), whole(*range.end())],
                vec![below.into(), whole(*range.end() + 1)],
            )
        }
        Shape::Number { least, above, most } => {
            let most = most.unwrap_or(1e9);
            let first = if *above { least + 1e-6 } else { *least };
            let mut refused = vec![(least - 0.001).into()];
            if *above {
                refused.push((*least).into());
            }
            if most < 1e9 {
                refused.push((most + 0.001).into());
            }
            (vec![first.into(), most.into()], refused)
        }
        Shape::Duration { zero, .. } => {
            let refused = ["", "1", "1.5s", "1s1m", "1w", "4000d"].map(toml::Value::from);
            let mut refused = refused.to_vec();
            if !zero {
                refused.push("0s".into());
            }
            (Vec::new(), refused)
        }
        Shape::List(item, entries) => {
            let mut refused = Vec::new();
            if *entries.start() > 0 {
                refused.push(toml::Value::Array(Vec::new()));
            }
            let (_, beyond) = samples(item);
            refused.extend(beyond.into_iter().map(|value| vec![value].into()));
            (Vec::new(), refused)
        }
        Shape::AnyOf(shapes) => {
            let taken = shapes.iter().flat_map(|shape| samples(shape).0);
            (taken.collect(), vec![UNKNOWN.into()])
        }
        Shape::Text(_) | Shape::Truth | Shape::Table(_) | Shape::Named(..) => {
            (Vec::new(), Vec::new())
        }
    }
}

/// Every example of every page and folder that loads is valid.
#[test]
fn every_example_that_loads_is_valid() {
    let mut files = Vec::new();
    collect(&workspace("docs"), &mut files);
    collect(&workspace("examples"), &mut files);
    files.push(workspace("README.md"));
    let mut loaded = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let examples: Vec<&str> = if file.extension().is_some_and(|end| end == "md") {
            let fences = text.split("```toml\n").skip(1);
            fences
                .filter_map(|fence| fence.split("```").next())
                .collect()
        } else {
            vec![&text]
        };
        for example in examples {
            if parse("f", example, &environment).is_ok() {
                loaded += 1;
                let refusal = VALIDATOR.refusal(example);
                assert!(refusal.is_none(), "{}: {refusal:?}", file.display());
            }
        }
    }
    assert!(loaded >= 5, "{loaded}");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|end| end == "md" || end == "toml")
        {
            files.push(path);
        }
    }
}

#[test]
fn what_does_not_load_for_its_form_is_not_valid() {
    for text in [
        "servr = 1",
        "[server]\nlisten = 'localhost'",
        "[server]\nlisten = 7070",
        "[server]\ntokens = { 'a b' = '0123456789abcdef' }",
        "[database]\nurl = 'mysql://h/d'",
        "[engine]\nconcurency = 3",
        "[engine]\nconcurrency = 0",
        "[engine]\nqueues = []",
        "[engine]\npoll = '0s'",
        "[engine]\nretention = 7",
        "[engine]\nretention = '30 days'",
        "[queue.q]",
        "[queue.'a b']\nconcurrency = 1",
        "[telemetry]\nlog_format = 'xml'",
        "[alerts]\ndead_letters = ' '",
        "[dependency.a]",
        "[dependency.a]\nbase_url = 'ftp://h'",
        "[dependency.a]\nbase_url = 'http://h'\nhedge = {}",
        "[dependency.a]\nbase_url = 'http://h'\nretry = { attempts_max = 21 }",
        "[dependency.a]\nbase_url = 'http://h'\nretry = { backoff = { base = '1s', delays = ['1s'] } }",
        "[dependency.a]\nbase_url = 'http://h'\nbreaker = { mode = 'off' }",
        "[dependency.a]\nbase_url = 'http://h'\nwaive = { no_alert = 'why' }",
        "[job.k]\nrecovery = 'maybe'",
        "[job.k]\nrequest = { path = '/' }",
        "[dependency.a]\nbase_url = 'http://h'\n[job.k]\ndependency = 'a'\nrequest = { path = '/' }",
        "[dependency.a]\nbase_url = 'http://h'\n[job.k]\ndependency = 'a'\nrequest = { path = 'send' }\nrecovery = 'repeatable'",
        "[dependency.a]\nbase_url = 'http://h'\n[job.k]\ndependency = 'a'\nrequest = { path = '/' }\nrecovery = { same_key = {} }",
        "[dependency.a]\nbase_url = 'http://h'\n[job.k]\ndependency = 'a'\nrequest = { path = '/' }\n\
         recovery = { same_key = { ttl = '1d' }, settles_within = '1s' }",
        "[dependency.a]\nbase_url = 'http://h'\n[job.k]\ndependency = 'a'\nrequest = { path = '/' }\n\
         recovery = { verify = { path = '/x', happened = [200], did_not_happen = [404] }, settles_within = '60s' }",
        "[job.k]\nbackoff = []",
        "[job.k]\nbackoff = { factor = 2 }",
        "[job.k]\njitter = 2",
        "[proxy]",
        "[proxy]\nupstream = 'https://h'",
        "[proxy]\nupstream = 'http://h'\nneed = 'always'",
        "[proxy]\nupstream = 'http://h'\ntenant_header = 'x-tenant'",
        "[proxy]\nupstream = 'http://h'\n[[proxy.route]]\nmethod = 'POST'",
        "[proxy]\nupstream = 'http://h'\n[[proxy.route]]\npath = '/a'\nmethod = 'post'",
    ] {
        assert!(parse("f", text, &environment).is_err(), "it loads: {text}");
        assert!(VALIDATOR.refusal(text).is_some(), "it is valid: {text}");
    }
}

/// What editors read of it: draft 7, and nothing of it that hides descriptions or that one of them does not know.
#[test]
fn the_schema_is_one_that_every_editor_reads() {
    let schema = schema::document();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    fn look(value: &Value, patterns: &mut usize) {
        match value {
            Value::Object(entries) => {
                for word in ["$ref", "allOf", "$defs", "unevaluatedProperties"] {
                    assert!(!entries.contains_key(word), "{word}");
                }
                if let Some(pattern) = entries.get("pattern").and_then(Value::as_str) {
                    assert!(!pattern.contains("(?"), "{pattern}");
                    *patterns += 1;
                }
                entries.values().for_each(|value| look(value, patterns));
            }
            Value::Array(items) => items.iter().for_each(|value| look(value, patterns)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut patterns = 0;
    look(&schema, &mut patterns);
    assert!(patterns > 50, "{patterns}");
}

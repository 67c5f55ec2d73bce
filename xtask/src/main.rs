//! `cargo xtask TASK`: the checks that keep the house in order. This file only dispatches; it must never check anything itself.

mod arrows;
mod licences;
mod literals;
mod migrations;
mod readme;
mod report;
mod spdx;
mod sql;
mod symptoms;
mod words;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use report::{Fault, Report};

/// A task looks at the workspace under `root` and reports; an error means that it could not look.
type Task = fn(root: &Path) -> Result<Report, Fault>;

const TASKS: &[(&str, &str, Task)] = &[
    ("arrows", "which crate may depend on which", arrows::run),
    ("sql", "SQL only in surefoot-store", sql::run),
    (
        "migrations",
        "migrations that stand in nobody's way",
        migrations::run,
    ),
    ("words", "no machine paths in tracked files", words::run),
    (
        "readme",
        "the paths that the documents name exist",
        readme::run,
    ),
    (
        "symptoms",
        "the tests that docs/symptoms*.md name exist",
        symptoms::run,
    ),
    (
        "licences",
        "licences and sources of all dependencies",
        licences::run,
    ),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let [wanted] = wanted.as_slice() else {
        return usage();
    };
    let tasks: Vec<_> = TASKS
        .iter()
        .filter(|(name, ..)| wanted == "all" || wanted == name)
        .collect();
    if tasks.is_empty() {
        return usage();
    }
    let root = workspace::root();
    let mut ok = true;
    for (name, _, task) in tasks {
        ok &= report::print(name, task(&root));
    }
    if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: cargo xtask TASK, where TASK is `all` or one of");
    for (name, what, _) in TASKS {
        eprintln!("  {name:<10}{what}");
    }
    ExitCode::from(2)
}

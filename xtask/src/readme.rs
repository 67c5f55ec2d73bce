//! The documents point at files that exist: a map that lies is worse than none.

use std::path::Path;

use crate::report::{Fault, Report};
use crate::workspace;

const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"];
/// Where a path in backticks begins.
const FOLDERS: &[&str] = &[
    "crates/",
    "docs/",
    "examples/",
    "scripts/",
    "xtask/",
    "benches/",
];

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let mut report = Report {
        checked: 0,
        unit: "paths",
        faults: Vec::new(),
    };
    for document in DOCUMENTS {
        let text = workspace::text(&root.join(document))?;
        let named = named(&text);
        report.checked += named.len();
        report
            .faults
            .extend(faults(document, &named, |path| root.join(path).exists()));
    }
    Ok(report)
}

/// A path and the line that names it.
type Named = (usize, String);

fn faults(document: &str, named: &[Named], exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    let missing = named.iter().filter(|(_, path)| !exists(path));
    let fault = |(line, path): &Named| {
        Fault::new(
            format!("{document}:{line}"),
            format!("names `{path}`, which does not exist"),
            "correct the path, or take it out until the file is there",
        )
    };
    missing.map(fault).collect()
}

fn named(text: &str) -> Vec<Named> {
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            quoted(line)
                .chain(linked(line))
                .map(move |path| (index + 1, path.to_owned()))
        })
        .collect()
}

/// Paths in backticks; a pattern such as `crates/*` names no file.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.split('`').skip(1).step_by(2);
    spans.filter(|span| {
        FOLDERS.iter().any(|folder| span.starts_with(folder))
            && !span.contains(['*', ' ', '{', '<'])
    })
}

/// Targets of relative Markdown links, without their anchor.
fn linked(line: &str) -> impl Iterator<Item = &str> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|after| after.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with('#'))
        .map(|target| target.split('#').next().unwrap_or(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_is_named_with_its_line() {
        let text = "# Map\n`crates/gone` and `docs/here.md`\n[a](docs/lost.md#part)\n";
        let faults = faults("ARCHITECTURE.md", &named(text), |path| {
            path == "docs/here.md"
        });
        let told: Vec<_> = faults
            .iter()
            .map(|fault| format!("{}: {}", fault.place, fault.what))
            .collect();
        assert_eq!(
            told,
            [
                "ARCHITECTURE.md:2: names `crates/gone`, which does not exist",
                "ARCHITECTURE.md:3: names `docs/lost.md`, which does not exist",
            ]
        );
    }

    #[test]
    fn what_names_no_file_is_left_out() {
        for text in [
            "crates/gone",
            "`surefoot-core`",
            "`crates/*/src`",
            "[a](https://example.org/docs/a)",
            "[a](#part)",
        ] {
            assert_eq!(named(text), [], "{text}");
        }
    }
}

//! Tracked files speak of the project alone: no path of somebody's machine, no word of how the work was organised.

use std::path::Path;

use crate::report::{Fault, Report};
use crate::workspace;

/// What must not occur, in lower case. Put together by `concat!`, so that this file passes its own check.
const REFUSED: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("..", "/shared"),
    concat!("sub", "agent"),
    concat!("sub-", "agent"),
];

pub(crate) fn run(root: &Path) -> Result<Report, Fault> {
    let files = workspace::tracked_files(root)?;
    let mut faults = Vec::new();
    for file in &files {
        let path = root.join(file);
        if path.is_file() {
            faults.extend(faults_of(&file.to_string_lossy(), &workspace::text(&path)?));
        }
    }
    Ok(Report {
        checked: files.len(),
        unit: "files",
        faults,
    })
}

fn faults_of(place: &str, text: &str) -> Vec<Fault> {
    let lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (format!("{place}:{}", index + 1), line));
    let all = std::iter::once((place.to_owned(), place)).chain(lines);
    all.filter_map(|(place, line)| refused_in(line).map(|word| fault(place, word)))
        .collect()
}

fn fault(place: String, word: &str) -> Fault {
    Fault::new(
        place,
        format!("contains `{word}`"),
        "use a path relative to the repository, or words about the project",
    )
}

fn refused_in(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    REFUSED.iter().copied().find(|word| {
        line.match_indices(word)
            .any(|(at, _)| begins(&line[..at], word))
    })
}

/// A machine path begins with its slash: `a/work/b` is somebody's URL or folder, not the root of a machine.
fn begins(before: &str, word: &str) -> bool {
    let inside = before.ends_with(|last: char| last.is_alphanumeric() || "_-.}>".contains(last));
    !word.starts_with('/') || !inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_words_are_named_with_their_line() {
        for word in REFUSED {
            let faults = faults_of(
                "docs/a.md",
                &format!("fine\nsee \"{}x\"", word.to_uppercase()),
            );
            assert_eq!(faults.len(), 1, "{word}");
            assert_eq!(faults[0].place, "docs/a.md:2");
            assert_eq!(faults[0].what, format!("contains `{word}`"));
        }
    }

    #[test]
    fn a_path_is_checked_too() {
        assert_eq!(faults_of(&format!("docs/{}.md", REFUSED[3]), "").len(), 1);
    }

    #[test]
    fn other_words_pass() {
        for line in [
            "networks/work/a.rs",
            "http://localhost/v1/work/1",
            "worker",
            "shared/",
            "agent",
        ] {
            assert_eq!(faults_of("a.md", line), [], "{line}");
        }
    }
}

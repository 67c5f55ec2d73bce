//! Every case of a contract is in the macro that runs it. A case that nobody runs would be a promise that no store keeps.

use std::path::Path;

/// How many cases the families of a folder have; each must stand in the macro that its `mod.rs` exports.
fn listed(folder: &str) -> usize {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).join(folder);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let macros = read(&folder.join("mod.rs"));
    let mut cases = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let family = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() || family == "mod" || family == "fixture" {
            continue;
        }
        let room = macros.split(&format!("@family $open {family}\n")).nth(1);
        let room = room.unwrap_or_else(|| panic!("family {family} is not in the macro"));
        let room = room.split('}').next().unwrap();
        for line in read(&path).lines() {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                let case = rest.split('(').next().unwrap();
                let found = room.lines().any(|line| line.trim() == case);
                assert!(found, "{family}::{case} is not in the macro");
                cases += 1;
            }
        }
    }
    cases
}

#[test]
fn every_case_is_in_its_macro() {
    for (folder, cases_min) in [
        ("contract", 100),
        ("contract/requests", 40),
        ("contract/messages", 40),
    ] {
        let cases = listed(folder);
        assert!(cases > cases_min, "{cases} cases were found in {folder}");
    }
}

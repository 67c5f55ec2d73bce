//! `demo`: both acts, really put on. Act two holds what it promises, act one shows what it is for, and a signal in the middle
//! leaves nothing behind.

use serde_json::Value;

use crate::process::{Folder, Node, command};

/// Every figure of an act, by the names that programs read.
const FIGURES: [&str; 8] = [
    "name",
    "intents",
    "provider_calls",
    "amplification",
    "charged_twice",
    "lost",
    "page_availability",
    "p99_ms",
];

#[test]
fn the_unprotected_shop_charges_twice_and_loses_orders_and_surefoot_does_neither() {
    let folder = Folder::new();
    let answer = folder.answer(&["demo", "--fast", "--seed", "1", "--svg", "acts.svg"]);
    let acts = answer["acts"].as_array().unwrap();
    let named: Vec<&Value> = acts.iter().map(|act| &act["name"]).collect();
    assert_eq!(named, ["unprotected", "surefoot"], "{answer:#}");
    for act in acts {
        let mut named: Vec<&String> = act.as_object().unwrap().keys().collect();
        let mut expected = FIGURES.map(str::to_owned);
        named.sort();
        expected.sort();
        assert_eq!(named, expected.iter().collect::<Vec<_>>(), "{act:#}");
        assert_eq!(act["intents"], acts[0]["intents"]);
    }
    let figure = |act: usize, name: &str| acts[act][name].as_f64().unwrap();

    assert_eq!(acts[1]["charged_twice"], 0, "{answer:#}");
    assert_eq!(acts[1]["lost"], 0, "{answer:#}");
    assert!(figure(1, "amplification") <= 1.1, "{answer:#}");
    assert!(figure(1, "page_availability") > 0.999, "{answer:#}");
    // What was sent in vain has to be sent again.
    assert!(
        figure(1, "provider_calls") > figure(1, "intents"),
        "{answer:#}"
    );

    // Those whose answers were dropped, and those that the kill hit, to begin with.
    assert!(figure(0, "charged_twice") >= 40.0, "{answer:#}");
    assert!(figure(0, "lost") >= 8.0, "{answer:#}");
    assert!(figure(0, "amplification") > 3.0, "{answer:#}");
    assert!(figure(0, "page_availability") < 0.9, "{answer:#}");
    // Telephones try for 12 s before they give up.
    assert!(figure(0, "p99_ms") > 10_000.0, "{answer:#}");

    let drawn = std::fs::read_to_string(folder.path().join("acts.svg")).unwrap();
    assert!(drawn.contains("act two: with Surefoot"), "{drawn}");
}

#[test]
fn a_signal_in_the_middle_leaves_neither_a_folder_nor_a_process() {
    let folder = Folder::new();
    let mut demo = command(folder.path(), &["demo", "--fast"]);
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    demo.env("TMPDIR", &temporary);
    let log = folder.path().join("demo.log");
    let mut demo = Node::silent(demo, log);
    demo.logs("act one");
    let there = || std::fs::read_dir(&temporary).unwrap().count();
    assert_eq!(there(), 1);
    let checkouts = || living_in(&temporary);
    assert_eq!(checkouts(), 1);

    demo.signal("INT");
    assert_eq!(demo.ended().code(), Some(130), "{}", demo.log());
    assert_eq!(there(), 0);
    assert_eq!(checkouts(), 0);
}

/// How many processes have their working folder below this one.
fn living_in(folder: &std::path::Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let places =
        processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    places.filter(|place| place.starts_with(folder)).count()
}

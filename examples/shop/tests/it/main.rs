//! The shop as a process, driven over HTTP while what it calls and it itself are made to fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod outage;
mod payments;
mod points;
mod world;

use std::process::Command;

use serde_json::json;
use world::{ADA, BOB, World};

#[test]
fn an_export_goes_from_202_to_its_file() {
    let world = World::start(&[]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    world.until(&paid, |order| order["state"] == "paid");
    let accepted = world.post(ADA, "/exports", Some("e-1"), &json!({}));
    assert_eq!(accepted.status, 202, "{accepted:?}");
    let location = accepted.location.clone().unwrap();
    let again = world.post(ADA, "/exports", Some("e-1"), &json!({}));
    assert_eq!(
        (again.location, again.mark.as_deref()),
        (accepted.location, Some("replayed"))
    );

    // The stream ends by itself when the export is there.
    let events = world.get(ADA, &format!("{location}/events"), "en").text;
    let last = events.rsplit("data: ").next().unwrap();
    assert!(last.contains("\"succeeded\""), "{events}");
    let done = world.show(&location);
    assert_eq!(
        (&done["state"], &done["result"]["orders"]),
        (&json!("succeeded"), &json!(1))
    );
    let file = done["result"]["file"].as_str().unwrap();
    let order = paid.rsplit('/').next().unwrap();
    let expected = format!("order,product,cents,state\n{order},rope,12900,paid\n");
    assert_eq!(world.get(ADA, file, "en").text, expected);
    for path in [&location, file] {
        assert_eq!(
            world.get(BOB, path, "en").status,
            404,
            "{path} is hers alone"
        );
    }
}

#[test]
fn it_ends_when_it_is_asked_to_and_goes_on_where_it_was() {
    let mut world = World::start(&[]);
    let paid = world.pay("p-1", "rope").location.unwrap();
    assert!(world.terminate().success());
    world.restart();
    world.until(&paid, |order| order["state"] == "paid");
    assert_eq!(world.taken(), [12_900]);
}

#[test]
fn every_question_is_answered_before_it_runs() {
    let mut check = Command::new(env!("CARGO_BIN_EXE_shop"));
    let output = check.arg("check").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert_eq!(text.matches('?').count(), 2 * 18, "{text}");
}

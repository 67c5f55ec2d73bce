//! The service and the stand-in for its model as processes, driven over HTTP while they are made to fail.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

mod world;

use std::process::Command;

use serde_json::json;
use world::World;

/// What the stand-in charges for an answer.
const CHARGED: u64 = 150;
/// What the service expects to pay for texts as short as these.
const EXPECTED: u64 = 400;

#[test]
fn a_submission_is_graded_once_however_often_it_is_handed_in() {
    let world = World::start(&["ok"]);
    assert_eq!(world.hand_in("s-1", "the cat sat", "cat mat").0, 202);
    for _ in 0..5 {
        assert_eq!(world.hand_in("s-1", "the cat sat", "cat mat").0, 200);
    }
    assert_eq!(world.hand_in("s-1", "another text", "cat mat").0, 409);
    let shown = world.until("s-1", "succeeded");
    assert_eq!(shown["grade"]["score"], 5);
    assert_eq!(shown["text"], "Done.");
    assert_eq!(shown["cost_micros"], CHARGED);
    assert_eq!(world.asked(), 1);
    assert_eq!(
        world.hand_in("s-1", "the cat sat", "cat mat").1["grade"]["score"],
        5
    );
}

#[test]
fn a_time_out_is_tried_again_and_paid_for() {
    let world = World::start(&["hang", "ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    let waiting = world.until("s-1", "retrying");
    let text = waiting["text"].as_str().unwrap();
    assert!(
        text.starts_with("A temporary fault; trying again"),
        "{text}"
    );
    let vietnamese = world.show("s-1", "vi");
    assert_ne!(vietnamese["text"], waiting["text"]);
    let shown = world.until("s-1", "succeeded");
    assert_eq!(shown["cost_micros"], EXPECTED + CHARGED);
    let attempts = world.attempts("s-1");
    assert_eq!(attempts[0]["raw"], json!(null));
    assert_eq!(attempts[0]["cost_micros"], EXPECTED);
    assert!(
        attempts[1]["raw"]
            .as_str()
            .unwrap()
            .contains("1 of 1 points")
    );
    assert_eq!(world.show("s-1", "vi")["text"], "Đã xong.");
}

#[test]
fn a_page_is_told_how_it_goes_on_in_the_language_of_its_reader() {
    let world = World::start(&["503", "503", "ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    // The stream ends by itself when there is nothing more to tell.
    let told = world.get("/submissions/s-1/events", "vi").1;
    let told = told.as_str().unwrap();
    assert!(told.contains("Gặp lỗi tạm thời; "), "{told}");
    assert!(told.contains("Đã xong."), "{told}");
}

#[test]
fn a_burst_of_503_and_429_passes_and_what_was_said_is_kept() {
    let world = World::start(&["503", "429", "ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    let shown = world.until("s-1", "succeeded");
    assert_eq!(
        (&shown["tries"], &shown["cost_micros"]),
        (&json!(3), &json!(CHARGED))
    );
    let said: Vec<_> = world
        .attempts("s-1")
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| (attempt["status"].as_u64().unwrap(), attempt["raw"].clone()))
        .collect();
    assert_eq!(said[0], (503, json!("overloaded")));
    assert_eq!(said[1], (429, json!("too many questions")));
    assert_eq!(said[2].0, 200);
}

#[test]
fn after_three_tries_a_person_looks_and_the_student_is_told_so() {
    let world = World::start(&["503", "503", "503", "ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    let shown = world.until("s-1", "dead");
    assert_eq!(world.asked(), 3);
    assert_eq!(
        shown["text"],
        "It could not be done; we are looking into it."
    );
    assert_eq!(
        world.show("s-1", "vi-VN,vi;q=0.9")["text"],
        "Không thể thực hiện được; chúng tôi đang xem xét."
    );
    world.operate(
        "s-1",
        "POST",
        "replay",
        json!({ "reason": "the model is back" }),
    );
    assert_eq!(world.until("s-1", "succeeded")["grade"]["score"], 10);
}

#[test]
fn a_bad_rubric_is_not_tried_again_and_a_mended_one_is_graded() {
    let world = World::start(&[]);
    world.hand_in("s-1", "the cat sat", "   ");
    world.until("s-1", "dead");
    assert_eq!(
        world.asked(),
        1,
        "a rubric does not get better by asking again"
    );
    let mended = json!({ "submission": "s-1", "answer": "the cat sat", "rubric": "cat sat" });
    let edit = json!({ "payload": mended, "reason": "the rubric was empty" });
    world.operate("s-1", "PUT", "payload", edit);
    world.operate(
        "s-1",
        "POST",
        "replay",
        json!({ "reason": "the rubric is mended" }),
    );
    let shown = world.until("s-1", "succeeded");
    assert_eq!((&shown["grade"]["score"], world.asked()), (&json!(10), 2));
    assert_eq!(world.attempts("s-1")[0]["raw"], "the rubric is empty");
}

#[test]
fn a_service_that_is_killed_while_the_model_thinks_gives_one_grade() {
    let mut world = World::start(&["hang", "ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    world.until_asked(1);
    world.kill_and_restart();
    let shown = world.until("s-1", "succeeded");
    assert_eq!((&shown["grade"]["score"], world.asked()), (&json!(10), 2));
    assert_eq!(
        shown["cost_micros"],
        EXPECTED + CHARGED,
        "nobody knows what the first one cost"
    );
    assert_eq!(world.attempts("s-1")[0]["status"], json!(null));
}

#[test]
fn words_that_are_no_grade_are_kept_and_asked_again() {
    let world = World::start(&["prose", "ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    world.until("s-1", "succeeded");
    let attempts = world.attempts("s-1");
    assert_eq!(attempts[0]["raw"], "A fine piece of work, I should say!");
    assert_eq!(attempts[0]["cost_micros"], EXPECTED);
}

#[test]
fn what_is_no_submission_is_refused() {
    let world = World::start(&[]);
    assert_eq!(world.hand_in("", "a", "b").0, 422);
    assert_eq!(
        world
            .post("/submissions", &json!({ "submission": "s-1" }))
            .0,
        422
    );
    assert_eq!(world.get("/submissions/nobody", "en").0, 404);
}

#[test]
fn it_ends_when_it_is_asked_to() {
    let world = World::start(&["ok"]);
    world.hand_in("s-1", "the cat sat", "cat");
    world.until("s-1", "succeeded");
    assert!(world.terminate().success());
}

#[test]
fn every_question_is_answered_before_it_runs_and_an_unsound_ladder_is_told() {
    let check = |name: &str, value: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ai-judge"))
            .arg("check")
            .env(name, value)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.success(), text)
    };
    let (green, text) = check("AI_JUDGE_HTTP_SECONDS", "120");
    assert!(green, "{text}");
    assert_eq!(text.matches('?').count(), 18, "{text}");
    let (green, text) = check("AI_JUDGE_HTTP_SECONDS", "160");
    assert!(!green && text.contains("timeout_ladder"), "{text}");
    let (green, text) = check("AI_JUDGE_LEASE_SECONDS", "150");
    assert!(!green && text.contains("timeout_ladder"), "{text}");
}

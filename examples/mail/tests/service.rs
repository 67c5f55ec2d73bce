//! The service and the stand-in for its provider as processes, driven over HTTP while they are made to fail.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::Command;
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};
use surefoot_testkit::Process;
use tempfile::TempDir;

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

struct World {
    service: Option<Process>,
    provider: Process,
    client: Client,
    folder: TempDir,
}

impl World {
    fn start(acts: &[&str]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut provider = Command::new(env!("CARGO_BIN_EXE_mail-provider"));
        let mut world = Self {
            service: None,
            provider: Process::start(provider.env("PROVIDER_LISTEN", "127.0.0.1:0")).unwrap(),
            client: Client::builder().tls_certs_only([]).build().unwrap(),
            folder: TempDir::new().unwrap(),
        };
        let script = format!("{}/script", world.provider.said("listen"));
        world.client.post(script).json(&acts).send().unwrap();
        world.service = Some(world.served());
        world
    }

    fn served(&self) -> Process {
        let mut service = Command::new(env!("CARGO_BIN_EXE_mail"));
        service
            .env("MAIL_DATABASE", self.folder.path().join("mail.db"))
            .env("MAIL_LISTEN", "127.0.0.1:0")
            .env("MAIL_PROVIDER", self.provider.said("listen"))
            .env("MAIL_HTTP_SECONDS", "0.6")
            .env("MAIL_JOB_SECONDS", "1.2")
            .env("MAIL_LEASE_SECONDS", "2.4")
            .env("MAIL_SETTLES_SECONDS", "2")
            .env("MAIL_WAIT_SECONDS", "0.3");
        Process::start(&mut service).unwrap()
    }

    fn kill_and_restart(&mut self) {
        self.service.take().unwrap().kill().unwrap();
        self.service = Some(self.served());
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.service.as_ref().unwrap().said("listen"))
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        read(self.client.post(self.url(path)).json(body).send().unwrap())
    }

    fn hand_in(&self, class: &str) -> (u16, Value) {
        self.post("/messages", &message(class, "ada@example.org"))
    }

    fn show(&self, language: &str) -> Value {
        let request = self.client.get(self.url("/messages/order/7"));
        read(request.header("accept-language", language).send().unwrap()).1
    }

    #[track_caller]
    fn until(&self, state: &str) -> Value {
        let ends_at = Instant::now() + PATIENCE;
        loop {
            let shown = self.show("en");
            if shown["state"] == state {
                return shown;
            }
            assert!(Instant::now() < ends_at, "it is not {state}: {shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// How often the provider was called, and how often it sent.
    fn counts(&self) -> (u64, usize) {
        let url = format!("{}/sent", self.provider.said("listen"));
        let seen: Value = self.client.get(url).send().unwrap().json().unwrap();
        (
            seen["calls"].as_u64().unwrap(),
            seen["sent"].as_array().unwrap().len(),
        )
    }

    fn until_called(&self) {
        let ends_at = Instant::now() + PATIENCE;
        while self.counts().0 == 0 {
            assert!(Instant::now() < ends_at, "the provider was not called");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn message(class: &str, to: &str) -> Value {
    json!({ "id": "order/7", "class": class, "to": to, "subject": "s", "body": "b" })
}

fn read(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().unwrap();
    (
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    )
}

#[test]
fn what_is_sent_is_not_sent_again() {
    let world = World::start(&[]);
    assert_eq!(world.hand_in("receipt").0, 202);
    let shown = world.until("succeeded");
    assert_eq!(shown["sent"]["provider_message_id"], "pm-1");
    for _ in 0..5 {
        let (status, again) = world.hand_in("receipt");
        assert_eq!((status, &again["sent"]), (200, &shown["sent"]));
    }
    assert_eq!(world.hand_in("marketing").0, 409, "an id is one message");
    assert_eq!(world.counts(), (1, 1));
}

#[test]
fn an_uncertain_advertisement_is_sent_again() {
    let world = World::start(&["silent"]);
    world.hand_in("marketing");
    world.until("succeeded");
    assert_eq!(world.counts(), (2, 2), "a second copy does no harm");
}

#[test]
fn an_uncertain_receipt_is_looked_up_and_not_sent_again() {
    let world = World::start(&["silent"]);
    world.hand_in("receipt");
    let shown = world.until("succeeded");
    assert_eq!(shown["sent"]["provider_message_id"], "pm-1");
    assert_eq!(world.counts(), (1, 1));
}

#[test]
fn a_receipt_that_never_left_the_provider_is_sent_once_that_is_sure() {
    let world = World::start(&["hang"]);
    world.hand_in("receipt");
    let waiting = world.until("verifying");
    let text = waiting["text"].as_str().unwrap();
    assert!(text.contains("whether it went through"), "{text}");
    world.until("succeeded");
    assert_eq!(world.counts(), (2, 1));
}

#[test]
fn an_uncertain_code_is_not_sent_again_and_the_one_who_waits_is_asked() {
    let world = World::start(&["silent"]);
    world.hand_in("one_time_code");
    let shown = world.until("dead");
    assert_eq!(shown["question"], "Did the code arrive?");
    assert_eq!(
        shown["text"],
        "We do not know yet whether it happened; a person is looking into it."
    );
    assert_eq!(world.show("vi")["question"], "Bạn đã nhận được mã chưa?");
    assert_eq!(world.counts(), (1, 1));
    let (status, _) = world.post("/arrived/order/7", &json!({ "arrived": true }));
    assert_eq!(status, 200);
    world.until("succeeded");
    assert_eq!(world.counts(), (1, 1));
    assert_eq!(
        world
            .post("/arrived/order/7", &json!({ "arrived": false }))
            .0,
        409
    );
}

#[test]
fn whoever_did_not_get_the_code_gets_a_new_one() {
    let world = World::start(&["hang"]);
    world.hand_in("one_time_code");
    world.until("dead");
    let (status, _) = world.post("/arrived/order/7", &json!({ "arrived": false }));
    assert_eq!(status, 200);
    world.until("succeeded");
    assert_eq!(world.counts(), (2, 1));
}

#[test]
fn a_burst_of_503_passes_for_every_class() {
    for class in ["marketing", "one_time_code", "receipt"] {
        let world = World::start(&["503", "503"]);
        world.hand_in(class);
        world.until("succeeded");
        assert_eq!(
            world.counts(),
            (3, 1),
            "{class}: what was refused was not sent"
        );
    }
}

#[test]
fn a_service_that_is_killed_while_it_sends_goes_by_the_class() {
    for (class, state, counts) in [
        ("marketing", "succeeded", (2, 2)),
        ("one_time_code", "dead", (1, 1)),
        ("receipt", "succeeded", (1, 1)),
    ] {
        let mut world = World::start(&["silent"]);
        world.hand_in(class);
        world.until_called();
        world.kill_and_restart();
        world.until(state);
        assert_eq!(world.counts(), counts, "{class}");
    }
}

#[test]
fn what_is_no_message_is_refused_and_what_the_provider_refuses_is_not_tried_again() {
    let world = World::start(&["422"]);
    for to in [
        "abc@@example.org",
        "abc",
        "@example.org",
        "a b@example.org",
        "a@host",
    ] {
        assert_eq!(
            world.post("/messages", &message("receipt", to)).0,
            422,
            "{to}"
        );
    }
    assert_eq!(world.counts().0, 0);
    world.hand_in("receipt");
    let shown = world.until("dead");
    assert_eq!(
        shown["text"],
        "It could not be done; we are looking into it."
    );
    assert_eq!((&shown["question"], world.counts()), (&Value::Null, (1, 0)));
}

#[test]
fn every_question_is_answered_before_it_runs() {
    let check = |settles: &str| {
        let mut check = Command::new(env!("CARGO_BIN_EXE_mail"));
        let output = check
            .arg("check")
            .env("MAIL_SETTLES_SECONDS", settles)
            .output();
        let output = output.unwrap();
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (green, text) = check("120");
    assert!(green, "{text}");
    assert_eq!(
        text.matches('?').count(),
        3 * 18,
        "one for each class: {text}"
    );
    let (green, text) = check("5");
    assert!(
        !green && text.contains("settles_within 5s is shorter"),
        "{text}"
    );
}

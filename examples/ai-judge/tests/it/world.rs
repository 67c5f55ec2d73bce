//! The two processes, and what a student, a teacher and an operator do over HTTP. Times are short and keep their order.

use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use reqwest::blocking::{Client, Response};
use serde_json::{Value, json};
use surefoot_testkit::Process;
use tempfile::TempDir;

/// How long a state is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct World {
    service: Option<Process>,
    model: Process,
    client: Client,
    folder: TempDir,
}

impl World {
    /// A model that behaves by a script, and the service that asks it.
    pub(crate) fn start(acts: &[&str]) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let model = Command::new(env!("CARGO_BIN_EXE_ai-judge-model"))
            .env("MODEL_LISTEN", "127.0.0.1:0")
            .started();
        let mut world = Self {
            service: None,
            model,
            client: Client::builder().tls_certs_only([]).build().unwrap(),
            folder: TempDir::new().unwrap(),
        };
        let script = format!("{}/script", world.model.said("listen"));
        world.client.post(script).json(&acts).send().unwrap();
        world.service = Some(world.served());
        world
    }

    fn served(&self) -> Process {
        Command::new(env!("CARGO_BIN_EXE_ai-judge"))
            .env("AI_JUDGE_DATABASE", self.folder.path().join("judge.db"))
            .env("AI_JUDGE_LISTEN", "127.0.0.1:0")
            .env("AI_JUDGE_OPERATORS", "127.0.0.1:0")
            .env(
                "AI_JUDGE_MODEL",
                format!("{}/grade", self.model.said("listen")),
            )
            .env("AI_JUDGE_HTTP_SECONDS", "0.6")
            .env("AI_JUDGE_JOB_SECONDS", "1.2")
            .env("AI_JUDGE_LEASE_SECONDS", "2.4")
            .env("AI_JUDGE_WAIT_SECONDS", "1")
            .started()
    }

    fn service(&self) -> &Process {
        self.service.as_ref().unwrap()
    }

    pub(crate) fn kill_and_restart(&mut self) {
        self.service.take().unwrap().kill().unwrap();
        self.service = Some(self.served());
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        self.service.take().unwrap().terminate().unwrap()
    }

    pub(crate) fn hand_in(&self, submission: &str, answer: &str, rubric: &str) -> (u16, Value) {
        let work = json!({ "submission": submission, "answer": answer, "rubric": rubric });
        self.post("/submissions", &work)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.service().said("listen"));
        read(self.client.post(url).json(body).send().unwrap())
    }

    pub(crate) fn get(&self, path: &str, language: &str) -> (u16, Value) {
        let url = format!("{}{path}", self.service().said("listen"));
        let request = self.client.get(url).header("accept-language", language);
        read(request.send().unwrap())
    }

    pub(crate) fn show(&self, submission: &str, language: &str) -> Value {
        let (status, shown) = self.get(&format!("/submissions/{submission}"), language);
        assert_eq!(status, 200, "{shown}");
        shown
    }

    pub(crate) fn attempts(&self, submission: &str) -> Value {
        self.get(&format!("/submissions/{submission}/attempts"), "en")
            .1
    }

    /// Watches a submission until it is in this state.
    #[track_caller]
    pub(crate) fn until(&self, submission: &str, state: &str) -> Value {
        let ends_at = Instant::now() + PATIENCE;
        loop {
            let shown = self.show(submission, "en");
            if shown["state"] == state {
                return shown;
            }
            assert!(
                Instant::now() < ends_at,
                "{submission} is not {state}: {shown}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// An order to the operators' port.
    #[track_caller]
    pub(crate) fn operate(&self, submission: &str, method: &str, verb: &str, body: Value) {
        let shown = self.show(submission, "en");
        let (base, job) = (
            self.service().said("operators"),
            shown["job"].as_str().unwrap(),
        );
        let url = format!("{base}/v1/jobs/{job}/{verb}");
        let request = self
            .client
            .request(method.parse().unwrap(), url)
            .json(&body);
        let (status, answer) = read(request.send().unwrap());
        assert_eq!(status, 200, "{answer}");
    }

    /// How often the model was asked.
    pub(crate) fn asked(&self) -> u32 {
        let url = format!("{}/asked", self.model.said("listen"));
        self.client
            .get(url)
            .send()
            .unwrap()
            .text()
            .unwrap()
            .parse()
            .unwrap()
    }

    pub(crate) fn until_asked(&self, times: u32) {
        let ends_at = Instant::now() + PATIENCE;
        while self.asked() < times {
            assert!(Instant::now() < ends_at, "the model was not asked");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

trait Started {
    fn started(&mut self) -> Process;
}

impl Started for Command {
    #[track_caller]
    fn started(&mut self) -> Process {
        Process::start(self).expect("the service starts")
    }
}

fn read(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let text = answer.text().unwrap();
    (
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    )
}

//! Starts the binary in a folder of its own, and ends it when the test does.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a node may take to say that it listens.
const START_MAX: Duration = Duration::from_secs(60);
/// How long a process may take to end; those of the lab wait for leases.
const END_MAX: Duration = Duration::from_secs(180);

/// A folder for one test; it goes when the test ends.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes `surefoot.toml`.
    pub(crate) fn config(&self, text: &str) {
        std::fs::write(self.0.path().join("surefoot.toml"), text).unwrap();
    }

    /// Runs a command to its end, which has to come in time.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut command = command(self.path(), arguments);
        let mut child = Ended(
            command
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let (stdout, stderr) = (
            whole(child.0.stdout.take().unwrap()),
            whole(child.0.stderr.take().unwrap()),
        );
        let status = child
            .ended()
            .unwrap_or_else(|| panic!("it did not end: {arguments:?}"));
        Run {
            code: status.code(),
            stdout: stdout.join().unwrap(),
            stderr: stderr.join().unwrap(),
        }
    }

    /// Runs a command with `--json` that must succeed, and reads its answer.
    #[track_caller]
    pub(crate) fn answer(&self, arguments: &[&str]) -> Value {
        let run = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.stderr);
        serde_json::from_str(&run.stdout).unwrap()
    }

    /// Starts a node on a free port.
    pub(crate) fn serve(&self, arguments: &[&str]) -> Node {
        crate::config_schema::valid(self.path());
        let arguments = [&["serve", "--json", "--listen", "127.0.0.1:0"], arguments].concat();
        Node::start(
            command(self.path(), &arguments),
            self.path().join("node.log"),
        )
    }
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_surefoot"));
    command
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env("SUREFOOT_ACTOR", "tester")
        .env("NO_COLOR", "1");
    for name in [
        "SUREFOOT_DATABASE",
        "SUREFOOT_CONFIG",
        "SUREFOOT_LISTEN",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "RUST_LOG",
    ] {
        command.env_remove(name);
    }
    command
}

/// A process that serves.
pub(crate) struct Node {
    child: Ended,
    log: PathBuf,
    lines: mpsc::Receiver<String>,
    /// What it said when it was ready, with `--json`.
    pub(crate) facts: Value,
}

impl Node {
    /// Starts it and waits until it says that it listens. Standard error goes to the end of `log`.
    pub(crate) fn start(mut command: Command, log: PathBuf) -> Self {
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let mut node = Self {
            child: Ended(child),
            log,
            lines,
            facts: Value::Null,
        };
        let line = node.line();
        node.facts = serde_json::from_str(&line).unwrap_or(Value::String(line));
        node
    }

    /// Starts a process that need not say anything. Standard error goes to the end of `log`.
    pub(crate) fn silent(mut command: Command, log: PathBuf) -> Self {
        let file = std::fs::File::create(&log).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        Self {
            child: Ended(child),
            log,
            lines,
            facts: Value::Null,
        }
    }

    /// Waits until its log holds a text.
    #[track_caller]
    pub(crate) fn logs(&self, text: &str) {
        let ends_at = Instant::now() + START_MAX;
        while !self.log().contains(text) {
            assert!(Instant::now() < ends_at, "no {text}: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The next line of standard output.
    #[track_caller]
    pub(crate) fn line(&self) -> String {
        self.lines
            .recv_timeout(START_MAX)
            .unwrap_or_else(|_| panic!("it said nothing more: {}", self.log()))
    }

    pub(crate) fn url(&self) -> String {
        self.facts["listen"].as_str().unwrap().to_owned()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.0.kill().unwrap();
        self.child.0.wait().unwrap();
    }

    /// Sends a signal, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.0.id().to_string();
        let status = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status()
            .unwrap();
        assert!(status.success(), "kill -{name} {id}");
    }

    /// Waits until it ended.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child
            .ended()
            .unwrap_or_else(|| panic!("it did not end: {}", self.log()))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("log of a node:\n{}", self.log());
        }
    }
}

/// A process that has ended when this is dropped.
struct Ended(Child);

impl Ended {
    /// Waits until it ended; `None` when it did not in time.
    fn ended(&mut self) -> Option<ExitStatus> {
        let ends_at = Instant::now() + END_MAX;
        while Instant::now() < ends_at {
            if let Some(status) = self.0.try_wait().unwrap() {
                return Some(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        None
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All of an output, read beside the process, so that the writer never blocks.
fn whole(mut output: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text
    })
}

/// The lines of an output, which is read at once, so that the writer never blocks.
fn lines(output: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

//! The checkout as a process of its own, so that it can be killed. It is ended in any case: by this handle when it is
//! dropped, and by itself when whoever started it is gone and its standard input ends.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::DemoError;

/// How long it may take to say where it listens.
const START_MAX: Duration = Duration::from_secs(60);
/// How much of a log an error shows, in bytes from its end.
const TAIL_BYTES_MAX: usize = 4096;
/// What it must not inherit: it would work on somebody's real database.
const NOT_INHERITED: [&str; 5] = [
    "SUREFOOT_DATABASE",
    "SUREFOOT_CONFIG",
    "SUREFOOT_LISTEN",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "RUST_LOG",
];

/// A running checkout; it has ended when this is dropped.
pub(crate) struct ChildProcess {
    child: Child,
    /// Held open: its end asks the process to end.
    _stdin: Option<ChildStdin>,
    /// Where it listens.
    pub(crate) url: String,
}

impl ChildProcess {
    /// Starts it and waits for the first line that it prints, which is where it listens.
    pub(crate) async fn start(
        program: &Path,
        arguments: &[String],
        folder: &Path,
    ) -> Result<Self, DemoError> {
        let log = folder.join("checkout.log");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(DemoError::io("open a log"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file);
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        let mut child = command
            .spawn()
            .map_err(DemoError::io("start the checkout"))?;
        let output = child.stdout.take();
        let mut process = Self {
            _stdin: child.stdin.take(),
            child,
            url: String::new(),
        };
        let line = match output.map(first_line) {
            Some(line) => tokio::time::timeout(START_MAX, line).await,
            None => return Err(late(log)),
        };
        let Ok(Ok(url)) = line else {
            return Err(late(log));
        };
        process.url = url;
        Ok(process)
    }

    /// `kill -9`, and waits for the end.
    pub(crate) fn kill(self) {
        drop(self);
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn late(log: PathBuf) -> DemoError {
    let bytes = std::fs::read(&log).unwrap_or_default();
    let from = bytes.len().saturating_sub(TAIL_BYTES_MAX);
    DemoError::Start {
        within: START_MAX,
        log,
        tail: String::from_utf8_lossy(&bytes[from..]).into_owned(),
    }
}

/// The first line of an output. The rest is read and left, so that the writer never blocks.
fn first_line(output: impl Read + Send + 'static) -> oneshot::Receiver<String> {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        if let Some(line) = lines.next() {
            // Nobody waits for it any more when the start took too long.
            let _ = sender.send(line);
        }
        lines.for_each(drop);
    });
    receiver
}

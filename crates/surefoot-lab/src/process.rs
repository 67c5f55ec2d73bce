//! A process of the lab: started until it says that it is ready, stopped, continued, killed, and ended in any case.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;

use crate::error::LabError;

/// How long a process may take to say that it is ready.
const START_MAX: Duration = Duration::from_secs(60);
/// How much of a log an error shows, in bytes from its end.
const TAIL_BYTES_MAX: usize = 4096;
/// What a process of the lab must not inherit: it would work on somebody's real database.
const NOT_INHERITED: [&str; 7] = [
    "SUREFOOT_DATABASE",
    "SUREFOOT_CONFIG",
    "SUREFOOT_LISTEN",
    "SUREFOOT_LOG_FORMAT",
    "SUREFOOT_ACTOR",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "RUST_LOG",
];

/// A process that has ended when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    /// Starts `program` in `folder` and waits for the first line that it prints. Its standard error goes to the end of
    /// `log`.
    pub(crate) async fn start(
        program: &Path,
        arguments: &[&str],
        folder: &Path,
        log: PathBuf,
    ) -> Result<(Self, String), LabError> {
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(LabError::io("open a log"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(file);
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(LabError::io("start a process"))?;
        let output = child.stdout.take();
        let process = Self(child);
        let late = || LabError::Start {
            within: START_MAX,
            log: log.clone(),
            tail: tail(&log),
        };
        let ready = output.map(first_line).ok_or_else(late)?;
        match tokio::time::timeout(START_MAX, ready).await {
            Ok(Ok(line)) => Ok((process, line)),
            Ok(Err(_)) | Err(_) => Err(late()),
        }
    }

    /// `kill -9`, and waits for the end.
    pub(crate) fn kill(self) {
        drop(self);
    }

    /// Takes the processor away from it, until [`go_on`](Self::go_on).
    pub(crate) fn freeze(&self) -> Result<(), LabError> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    pub(crate) fn go_on(&self) -> Result<(), LabError> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<(), LabError> {
        let pid = Pid::from_child(&self.0);
        kill_process(pid, signal).map_err(|error| LabError::io("signal a process")(error.into()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
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

fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let from = bytes.len().saturating_sub(TAIL_BYTES_MAX);
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

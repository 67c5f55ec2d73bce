//! A service under test as a process of its own, to be stopped as services are stopped: by a signal that asks, or by one that
//! does not. It never outlives the test.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a service may take to say that it is there, and to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service that says on the first line of its standard output, in JSON, where it is to be found.
///
/// It is killed when this is dropped. Its standard error goes where that of the test goes, unless the command says
/// otherwise.
#[derive(Debug)]
pub struct Process {
    child: Child,
    said: Value,
}

impl Process {
    /// Starts a service and waits until it is there, at most a minute.
    ///
    /// # Errors
    /// It could not be started, ended at once, or said something else than JSON.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = child.stdout.take();
        let mut process = Self {
            child,
            said: Value::Null,
        };
        let (sender, lines) = mpsc::channel();
        if let Some(output) = output {
            // Read to its end, so that the service never blocks.
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        let first = lines.recv_timeout(PATIENCE);
        let first = first.map_err(|_| io::Error::other("the service said nothing"))?;
        process.said = serde_json::from_str(&first).map_err(io::Error::other)?;
        Ok(process)
    }

    /// What it said under this name; empty when it said nothing of it.
    #[must_use]
    pub fn said(&self, name: &str) -> &str {
        self.said.get(name).and_then(Value::as_str).unwrap_or("")
    }

    /// Ends it as a power cut would: `kill -9`.
    ///
    /// # Errors
    /// The operating system refused.
    pub fn kill(mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Asks it to end, by SIGTERM, and waits until it has, at most a minute.
    ///
    /// # Errors
    /// It did not end in that time.
    pub fn terminate(mut self) -> io::Result<ExitStatus> {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        let ends_at = Instant::now() + PATIENCE;
        while Instant::now() < ends_at {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! What commands print: one JSON document, or a text for people. Standard output carries the answer and nothing else.

mod effect;
mod job;
mod message;
mod progress;
mod request;
mod table;
mod time;

use std::io::{self, Write};

use serde::Serialize;

pub(crate) use effect::effects_text;
pub(crate) use job::{job_text, jobs_table};
pub(crate) use message::{message_text, parked_table, sinks_table};
pub(crate) use progress::Progress;
pub(crate) use request::{request_text, requests_table};
pub(crate) use table::{Table, plain};
pub(crate) use time::utc;

/// Where and how a command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    /// As JSON, or for people.
    pub(crate) const fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether it prints JSON.
    pub(crate) const fn is_json(self) -> bool {
        self.json
    }

    /// Prints the answer: `document` as JSON on one line, or what `text` says.
    ///
    /// # Errors
    /// When standard output takes no more. A reader that left, as `head` does, is no error.
    pub(crate) fn answer(
        self,
        document: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> io::Result<()> {
        let text = if self.json {
            serde_json::to_string(document)?
        } else {
            text()
        };
        write_line(text.trim_end())
    }
}

/// Writes one line or several to standard output.
pub(crate) fn write_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

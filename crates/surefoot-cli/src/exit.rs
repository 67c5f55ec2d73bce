//! How the process ends: exit codes, and for each error what it means for the user. This is the one place where
//! errors become codes and hints; nothing else ends the process.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use surefoot::StartError;
use surefoot_core::error::StoreError;
use surefoot_demo::DemoError;
use surefoot_lab::LabError;
use surefoot_store::OpenError;

use crate::args::{ActorUnknown, PayloadArgError, ToldArgError};
use crate::config::{LoadError, Unloadable};
use crate::http_kind::ClientError;

/// The exit codes, as `--help` prints them.
pub(crate) const TABLE: &str = "\
Exit codes:
  0    done
  1    check: faults that nobody accepted; demo: act two does not hold; else: something else went wrong, the message says what
  2    the arguments are wrong
  3    the configuration does not load or contradicts itself
  4    the database did not answer; the same command may be run again
  5    there is no such job, request, message, database or file
  6    refused: the state of the job, the request, the delivery or the key does not allow it
  7    the canary did not succeed (or not in time); nothing else was replayed
  130  stopped by a second signal, in the middle of its work";

/// The exit codes; [`TABLE`] says what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// 1
    Failed,
    /// 2
    Usage,
    /// 3
    Configuration,
    /// 4
    Unavailable,
    /// 5
    NotFound,
    /// 6
    Refused,
    /// 7
    CanaryFailed,
    /// 130
    Stopped,
}

impl Code {
    const fn number(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Configuration => 3,
            Self::Unavailable => 4,
            Self::NotFound => 5,
            Self::Refused => 6,
            Self::CanaryFailed => 7,
            Self::Stopped => 130,
        }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code.number())
    }
}

/// Ends the process in the middle of its work, as a second signal asks for. What runs is found lost later, as after a
/// crash.
pub(crate) fn at_once() -> ! {
    std::process::exit(i32::from(Code::Stopped.number()))
}

/// A command did not do what it was asked to.
#[derive(Debug)]
pub(crate) struct Failed {
    code: Code,
    what: String,
    hint: String,
    unloadable: Option<(PathBuf, Box<Unloadable>)>,
}

impl Failed {
    /// With a code, what happened and what to do about it.
    pub(crate) fn new(code: Code, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            what: what.into(),
            hint: hint.into(),
            unloadable: None,
        }
    }

    /// Tells the user on standard error, as text or as JSON, and answers the code to end with.
    pub(crate) fn tell(&self, as_json: bool) -> ExitCode {
        let text = if as_json {
            format!("{}\n", self.as_json())
        } else {
            self.as_text()
        };
        // Nobody is left to be told when standard error is closed.
        let _ = std::io::stderr().lock().write_all(text.as_bytes());
        self.code.into()
    }

    fn as_json(&self) -> serde_json::Value {
        let faults = self
            .unloadable
            .as_ref()
            .map_or_else(Vec::new, |(file, unloadable)| {
                let fault = |placed: &crate::config::Placed| {
                    json!({
                        "file": file.display().to_string(),
                        "line": placed.line,
                        "column": placed.column,
                        "key": placed.fault.key,
                        "what": placed.fault.what,
                        "remedy": placed.fault.remedy,
                    })
                };
                unloadable.placed().iter().map(fault).collect()
            });
        json!({ "error": { "code": self.code.number(), "what": self.what, "hint": self.hint, "faults": faults } })
    }

    fn as_text(&self) -> String {
        let mut text = match &self.unloadable {
            Some((_, unloadable)) => {
                let drawn = unloadable.drawn(theme());
                let text = drawn.unwrap_or_else(|_| unloadable.lines().join("\n"));
                format!("{text}\n")
            }
            None => format!("error: {}\n", self.what),
        };
        if !self.hint.is_empty() {
            text.push_str(&format!("hint: {}\n", self.hint));
        }
        text
    }
}

fn theme() -> miette::GraphicalTheme {
    let plain = std::env::var_os("NO_COLOR").is_some()
        || !std::io::IsTerminal::is_terminal(&std::io::stderr());
    if plain {
        miette::GraphicalTheme::unicode_nocolor()
    } else {
        miette::GraphicalTheme::unicode()
    }
}

/// An error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut link = error.source();
    while let Some(cause) = link {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        link = cause.source();
    }
    text
}

impl From<clap::Error> for Failed {
    fn from(error: clap::Error) -> Self {
        let text = error.to_string();
        let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
        let what: Vec<&str> = lines
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with("For more information"))
            .collect();
        Self::new(
            Code::Usage,
            what.join("; ").trim_start_matches("error: "),
            "see: surefoot --help",
        )
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        let (code, hint) = match &error {
            StoreError::Unavailable(_) => (
                Code::Unavailable,
                "check that the database is up and that --database is right; what was asked may or may not be done, \
                 and the same command can be run again",
            ),
            StoreError::Schema { .. } => (Code::Failed, ""),
            StoreError::Broken(_) => (
                Code::Failed,
                "this is a fault of Surefoot or of the database; please report it",
            ),
            StoreError::Refused(_) => (
                Code::Failed,
                "check the rights of the database user and the free space",
            ),
        };
        Self::new(code, chain(&error), hint)
    }
}

impl From<OpenError> for Failed {
    fn from(error: OpenError) -> Self {
        let text = error.to_string();
        let (what, hint) = text.split_once("; ").unwrap_or((&text, ""));
        match error {
            OpenError::NoScheme
            | OpenError::UnknownScheme { .. }
            | OpenError::NoPath
            | OpenError::Parameters { .. }
            | OpenError::InMemory => Self::new(Code::Usage, what, hint),
            OpenError::NoFolder { .. } => Self::new(Code::NotFound, what, hint),
            OpenError::Sqlite { source, .. } | OpenError::Postgres { source, .. } => {
                let cause = Self::from(source);
                Self::new(cause.code, format!("{what}: {}", cause.what), hint)
            }
        }
    }
}

impl From<surefoot::Error> for Failed {
    fn from(error: surefoot::Error) -> Self {
        match error {
            surefoot::Error::Store(error) => error.into(),
            surefoot::Error::Conflict(_) | surefoot::Error::Unfinished { .. } => {
                Self::new(Code::Refused, chain(&error), "")
            }
            surefoot::Error::Name(_)
            | surefoot::Error::Payload(_)
            | surefoot::Error::Priority(_)
            | surefoot::Error::DueTooLate
            | surefoot::Error::DeadlinePassed
            | surefoot::Error::ReservedWorker(_)
            | surefoot::Error::TooMany { .. } => Self::new(Code::Usage, chain(&error), ""),
        }
    }
}

impl From<StartError> for Failed {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Store(error) => error.into(),
            StartError::Unsound(faults) => {
                Self::new(Code::Configuration, faults.join("\n       "), "")
            }
            StartError::Thread(_) => Self::new(
                Code::Failed,
                chain(&error),
                "raise the limit of threads or processes",
            ),
        }
    }
}

impl Failed {
    /// The configuration in `file` does not load; `named` says that the user named the file.
    pub(crate) fn loading(error: LoadError, file: &Path, named: bool) -> Self {
        let what = chain(&error);
        match error {
            LoadError::Unreadable { source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                let hint = "check the path; without --config, surefoot.toml of this folder is read, if it is there";
                Self::new(Code::NotFound, what, hint)
            }
            LoadError::Unreadable { .. } => Self::new(
                Code::Configuration,
                what,
                "check who may read the file, and that it is UTF-8 text",
            ),
            LoadError::TooLarge { .. } | LoadError::NoFile { .. } => Self::new(
                Code::Configuration,
                what,
                "give --config the configuration itself, such as surefoot.toml",
            ),
            LoadError::Unloadable(unloadable) => {
                let check = if named {
                    format!("surefoot check --config {}", file.display())
                } else {
                    "surefoot check".to_owned()
                };
                let hint = format!("nothing was started; correct the file and run: {check}");
                Self {
                    unloadable: Some((file.to_owned(), unloadable)),
                    ..Self::new(Code::Configuration, what, hint)
                }
            }
        }
    }
}

impl From<PayloadArgError> for Failed {
    fn from(error: PayloadArgError) -> Self {
        let code = match &error {
            PayloadArgError::Unreadable { source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Code::NotFound
            }
            PayloadArgError::Unreadable { .. } => Code::Failed,
            PayloadArgError::Refused(_) => Code::Usage,
        };
        Self::new(
            code,
            chain(&error),
            "a payload is one JSON value, such as '{\"to\":\"a@example.org\"}'",
        )
    }
}

impl From<ToldArgError> for Failed {
    fn from(error: ToldArgError) -> Self {
        let code = match &error {
            ToldArgError::Unreadable { source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Code::NotFound
            }
            ToldArgError::Unreadable { .. } => Code::Failed,
            ToldArgError::Refused(_) => Code::Usage,
        };
        Self::new(code, chain(&error), "see: surefoot requests resolve --help")
    }
}

impl From<ActorUnknown> for Failed {
    fn from(error: ActorUnknown) -> Self {
        Self::new(
            Code::Usage,
            error.to_string(),
            "give your name with --actor, or set SUREFOOT_ACTOR",
        )
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        Self::new(
            Code::Failed,
            chain(&error),
            "check that the system has a store of certificates",
        )
    }
}

impl From<LabError> for Failed {
    fn from(error: LabError) -> Self {
        let hint = match &error {
            LabError::NotEmpty => "make a new database and name it with --postgres",
            LabError::Missed { .. } | LabError::Late { .. } | LabError::Start { .. } => {
                "nothing was measured; run it again when the host is less busy"
            }
            LabError::Database { .. } => {
                "nothing was measured; --database names a PostgreSQL server on which its user may make databases"
            }
            LabError::Io { .. }
            | LabError::Call(_)
            | LabError::Odd(_)
            | LabError::Api { .. }
            | LabError::Rows { .. }
            | LabError::Client(_) => "nothing was measured",
        };
        Self::new(Code::Failed, chain(&error), hint)
    }
}

impl From<DemoError> for Failed {
    fn from(error: DemoError) -> Self {
        let hint = match &error {
            DemoError::Start { .. } => "run it again when the host is less busy",
            DemoError::Io { .. } | DemoError::Unsound { .. } => "",
        };
        Self::new(Code::Failed, chain(&error), hint)
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::new(Code::Failed, chain(&error), "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_in_the_table() {
        for code in [
            Code::Failed,
            Code::Usage,
            Code::Configuration,
            Code::Unavailable,
            Code::NotFound,
            Code::Refused,
            Code::CanaryFailed,
            Code::Stopped,
        ] {
            let line = format!("\n  {:<5}", code.number());
            assert!(TABLE.contains(&line), "{line} is missing");
        }
    }

    #[test]
    fn causes_stand_on_one_line_and_once() {
        let refused = std::io::Error::other("connection refused");
        let failed = Failed::from(StoreError::Unavailable(refused.into()));
        assert_eq!(
            failed.what,
            "the database did not answer: connection refused"
        );
        assert_eq!(failed.code, Code::Unavailable);
    }
}

//! `requests`.

use std::io::Read;
use std::path::PathBuf;

use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use surefoot_core::id::Tenant;
use surefoot_core::request::{
    BODY_BYTES_MAX, Identity, Kept, RequestId, RequestKey, RequestStateName, RequestVerdict,
    ToldRefused,
};

use super::jobs::limit;
use super::people::ByArgs;

/// What `requests` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum RequestsCommand {
    /// List requests, the latest first: each by its method and route, which is `*` where no `[[proxy.route]]` names its path
    List(ListArgs),
    /// Show one request by its key, with the answer that every repetition gets
    Show(ShowArgs),
    /// Say what became of a request that nobody knows the outcome of; its repetitions are told so
    Resolve(Box<ResolveArgs>),
}

/// Arguments of `requests list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Only requests in this state
    #[arg(long, value_parser = state())]
    pub(crate) state: Option<RequestStateName>,
    /// Only requests with this key, of any tenant
    #[arg(long, value_parser = key)]
    pub(crate) key: Option<RequestKey>,
    /// Only requests of this tenant
    #[arg(long)]
    pub(crate) tenant: Option<Tenant>,
    /// Only requests before this one: the last one of the page before
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<RequestId>,
    /// How many at most, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = limit)]
    pub(crate) limit: u32,
}

/// Which request.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// The key, as the client sent it, in quotes or without
    #[arg(value_parser = key)]
    key: RequestKey,
    /// Whose it is: a key counts within one tenant
    #[arg(long, default_value = "default")]
    tenant: Tenant,
}

/// Arguments of `requests show`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// Write the body of the answer, byte for byte, and nothing else
    #[arg(long, conflicts_with = "json")]
    pub(crate) body: bool,
}

/// Arguments of `requests resolve`.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "said", required = true, multiple = false, args = ["happened", "did_not_happen"])]
pub(crate) struct ResolveArgs {
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// It happened, and this status was answered. Without a body it is known that it happened, and not what was answered
    #[arg(long, value_name = "STATUS")]
    happened: Option<u16>,
    /// It did not happen: the key is free, and its next repetition runs
    #[arg(long)]
    did_not_happen: bool,
    /// A header of the answer, as it is to be replayed; give it once for each
    // A conflict, and no requirement: clap waives what an argument requires where that one conflicts with another.
    #[arg(long, value_name = "NAME: VALUE", conflicts_with = "did_not_happen", value_parser = header)]
    header: Vec<(String, String)>,
    /// The body of the answer, which may be empty
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with_all = ["body_file", "did_not_happen"]
    )]
    body: Option<String>,
    /// A file with the body of the answer
    #[arg(long, value_name = "FILE", conflicts_with = "did_not_happen", value_hint = ValueHint::FilePath)]
    body_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

/// The answer that a person tells of could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToldArgError {
    /// The file cannot be read.
    #[error("failed to read {path}: {source}")]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It was read and cannot be an answer.
    #[error(transparent)]
    Refused(#[from] ToldRefused),
}

impl WhichArgs {
    /// What makes it one intent.
    pub(crate) fn identity(&self) -> Identity {
        Identity {
            tenant: self.tenant.clone(),
            key: self.key.clone(),
        }
    }
}

impl ResolveArgs {
    /// What was said.
    ///
    /// # Errors
    /// A file that cannot be read, or an answer that cannot be one.
    pub(crate) fn verdict(&self) -> Result<RequestVerdict, ToldArgError> {
        let Some(status) = self.happened else {
            return Ok(RequestVerdict::DidNotHappen);
        };
        let body = match (&self.body, &self.body_file) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(path)) => Some(read(path).map_err(|source| ToldArgError::Unreadable {
                path: path.clone(),
                source,
            })?),
            (None, None) => None,
        };
        let headers = self.header.iter().cloned();
        let headers = headers.map(|(name, value)| (name, value.into_bytes()));
        let kept = Kept::told(status, headers.collect(), body)?;
        Ok(RequestVerdict::Happened(kept))
    }
}

/// Reads a little more than is kept of a body, so that one that is too large is told as that.
fn read(path: &PathBuf) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(BODY_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A key in either form.
fn key(text: &str) -> Result<RequestKey, String> {
    match RequestKey::from_headers([text.as_bytes()]) {
        Ok(Some(key)) => Ok(key),
        Ok(None) => Err("give the key".to_owned()),
        Err(refused) => Err(refused.to_string()),
    }
}

/// `NAME: VALUE`.
fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once(':')
        .ok_or_else(|| "write NAME: VALUE, such as 'location: /charges/7'".to_owned())?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// A state's name; help and refusals list them all.
fn state() -> impl TypedValueParser<Value = RequestStateName> {
    PossibleValuesParser::new(RequestStateName::ALL.map(RequestStateName::as_str))
        .try_map(|name| RequestStateName::parse(&name).ok_or("no state"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::Cli;

    /// Whoever gives an answer says that it happened: to free the key on the same line would run it a second time.
    #[test]
    fn an_answer_beside_did_not_happen_is_refused() {
        let resolve = |said: &[&str]| {
            let before = ["surefoot", "requests", "resolve", "k", "--reason", "why"];
            Cli::try_parse_from(before.iter().chain(said)).is_ok()
        };
        assert!(resolve(&["--did-not-happen"]));
        assert!(resolve(&[
            "--happened",
            "201",
            "--body",
            "",
            "--header",
            "etag: 1"
        ]));
        assert!(!resolve(&["--body", "{}"]));
        for answer in [
            ["--body", "{}"],
            ["--header", "etag: 1"],
            ["--body-file", "f"],
        ] {
            let said = [&["--did-not-happen"][..], &answer].concat();
            assert!(!resolve(&said), "{answer:?}");
        }
    }
}

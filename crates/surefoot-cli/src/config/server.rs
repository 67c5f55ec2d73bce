//! `[server]`: where the API listens and who may use it. Whether address and tokens go together is decided where the
//! command line is known too.

use std::net::SocketAddr;

use surefoot_server::Token;

use super::environment::{self, Environment};
use super::section::Section;

/// What a digest of a secret begins with, where the secret itself would stand.
const DIGEST: &str = "sha256:";

/// `[server]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerSection {
    /// Where the API listens; `None` leaves it to the command line and the default.
    pub(crate) listen: Option<SocketAddr>,
    /// Further names under which it is reached without a token.
    pub(crate) hosts: Vec<String>,
    /// Who may use it; without any, no credentials are asked for.
    pub(crate) tokens: Vec<Token>,
}

/// Reads the section; `None` when something of it is wrong.
pub(super) fn read(section: &Section<'_>, environment: Environment<'_>) -> Option<ServerSection> {
    let listen = section
        .text("listen")
        .check(section.faults, |text| address("listen", text))
        .optional();
    let hosts = section.texts("hosts").or(Vec::new());
    let tokens = tokens(section, "tokens", environment);
    section.finish();
    let hosts = hosts?
        .into_iter()
        .map(|(host, _)| host.to_owned())
        .collect();
    Some(ServerSection {
        listen: listen?,
        hosts,
        tokens: tokens?,
    })
}

/// `tokens = { NAME = "SECRET" }`: the name goes on record as the actor.
pub(super) fn tokens(
    section: &Section<'_>,
    key: &'static str,
    environment: Environment<'_>,
) -> Option<Vec<Token>> {
    if section.value(key).is_none() {
        return Some(Vec::new());
    }
    let (entries, mut sound) = section.section(key)?.entries();
    let mut tokens = Vec::new();
    for entry in entries {
        match token(entry.name, entry.text, environment) {
            Ok(token) => tokens.push(token),
            Err(fault) => {
                sound = false;
                section.faults.note_text(entry.text_span, &fault);
            }
        }
    }
    sound.then_some(tokens)
}

fn token(name: &str, text: &str, environment: Environment<'_>) -> Result<Token, String> {
    let filled = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
    let token = match filled.strip_prefix(DIGEST) {
        Some(digest) => Token::from_sha256_hex(name, digest),
        None => Token::from_secret(name, &filled),
    };
    token.map_err(|refusal| refusal.to_string())
}

/// An address such as `127.0.0.1:7070` or `[::1]:7070`.
pub(super) fn address(key: &str, text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "{key} {text:?} is no address; write an IP address and a port, such as 127.0.0.1:7070"
        )
    })
}

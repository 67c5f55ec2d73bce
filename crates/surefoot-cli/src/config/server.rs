//! `[server]`: where the API listens and who may use it. Whether address and tokens go together is decided where the
//! command line is known too.

use std::net::SocketAddr;

use super::environment::{self, Environment, Secret};
use super::section::{Field, Section};

/// The shortest token that is taken.
const TOKEN_BYTES_MIN: usize = 16;

/// `[server]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ServerSection {
    /// Where the API listens; `None` leaves it to the command line and the default.
    pub(crate) listen: Option<SocketAddr>,
    /// Bearer tokens, each of which may do everything; without any, no credentials are asked for.
    pub(crate) tokens: Vec<Secret>,
}

/// Reads the section; `None` when something of it is wrong.
pub(super) fn read(section: &Section<'_>, environment: Environment<'_>) -> Option<ServerSection> {
    let listen = section
        .text("listen")
        .check(section.faults, address)
        .optional();
    let tokens = tokens(section, environment);
    section.finish();
    Some(ServerSection {
        listen: listen?,
        tokens: tokens?,
    })
}

fn tokens(section: &Section<'_>, environment: Environment<'_>) -> Option<Vec<Secret>> {
    let listed = match section.texts("tokens") {
        Field::Absent => return Some(Vec::new()),
        Field::Faulty => return None,
        Field::Given(listed, _) => listed,
    };
    let mut tokens = Vec::new();
    let count = listed.len();
    for (text, span) in listed {
        match token(text, environment) {
            Ok(token) => tokens.push(token),
            Err(fault) => section.faults.note_text(span, &fault),
        }
    }
    (tokens.len() == count).then_some(tokens)
}

fn token(text: &str, environment: Environment<'_>) -> Result<Secret, String> {
    let filled = environment::fill(text, environment).map_err(|refusal| refusal.to_string())?;
    if filled.len() < TOKEN_BYTES_MIN {
        return Err(format!(
            "the token has {} bytes; give at least {TOKEN_BYTES_MIN}, such as the output of: openssl rand -hex 24",
            filled.len()
        ));
    }
    if !filled.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(
            "the token cannot stand in a header; use printable ASCII characters without spaces"
                .to_owned(),
        );
    }
    Ok(Secret::new(filled))
}

/// An address such as `127.0.0.1:7070` or `[::1]:7070`.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "listen {text:?} is no address; write an IP address and a port, such as 127.0.0.1:7070"
        )
    })
}

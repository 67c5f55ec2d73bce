//! What a call without an answer means. The one question is whether bytes may have left: when that is open, the
//! outcome is unknown and never a failure.

use std::error::Error;
use std::time::Duration;

use surefoot_core::failure::Failure;
use surefoot_core::timeouts::TimeoutKind;

use crate::config::duration;

/// A call of `dependency` that ended with an error of the client.
pub(super) fn failure(
    dependency: &str,
    connect_timeout: Duration,
    error: &reqwest::Error,
) -> Failure {
    let causes = causes(error);
    if error.is_builder() {
        return Failure::permanent(format!(
            "{dependency}: the request cannot be made: {causes}"
        ));
    }
    if error.is_connect() && error.is_timeout() {
        return Failure::transient(format!(
            "{dependency}: no connection within {} ({} fired); nothing was sent",
            duration::written(connect_timeout),
            TimeoutKind::Connect
        ));
    }
    if error.is_connect() {
        return Failure::transient(format!(
            "{dependency}: no connection; nothing was sent: {causes}"
        ));
    }
    Failure::unknown(format!(
        "{dependency}: the connection broke before the answer was complete; the call may have been applied: {causes}"
    ))
}

/// A call that took longer than this limit lets it.
pub(super) fn too_slow(dependency: &str, limit: TimeoutKind, within: Duration) -> Failure {
    Failure::unknown(format!(
        "{dependency}: no answer within {} ({limit} fired); the call may have been applied",
        duration::written(within)
    ))
}

/// The causes below the client's own message, which would repeat the URL.
fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut link = error.source();
    while let Some(cause) = link {
        let text = cause.to_string();
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        link = cause.source();
    }
    if texts.is_empty() {
        "no cause was given".to_owned()
    } else {
        texts.join(": ")
    }
}

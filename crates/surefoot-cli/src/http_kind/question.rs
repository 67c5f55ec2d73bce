//! What a provider says when it is asked what became of a call: where it is asked, and what its answer means. A status
//! that is in no list says nothing.

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use surefoot::Verdict;
use surefoot_core::policy::Recovery;
use surefoot_core::time::Timestamp;

use super::answer;
use super::body::Body;
use super::broken::Broken;
use crate::config::{KEY, Verification};

/// The path of a question about the call under this provider key.
pub(super) fn path(template: &str, key: &str) -> String {
    template.replace(KEY, &percent_encoded(key))
}

/// Everything but the characters that RFC 3986 (section 2.3) reserves for nothing.
fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// What an answer means. One that is in no list is a failed question, so that the policy hears of it.
pub(super) fn verdict(
    dependency: &str,
    verification: &Verification,
    status: StatusCode,
    headers: &HeaderMap,
    body: Body,
    now: Timestamp,
) -> Result<Verdict, Broken> {
    if verification.happened.contains(&status.as_u16()) {
        return Ok(Verdict::Happened {
            result: answer::result(status, body),
            cost: None,
        });
    }
    if verification.did_not_happen.contains(&status.as_u16()) {
        return Ok(Verdict::DidNotHappen);
    }
    if status.is_success() {
        return Ok(Verdict::StillUnknown { ask_again_in: None });
    }
    let failure = answer::refusal(
        dependency,
        Recovery::Repeatable,
        status,
        headers,
        &body,
        now,
    );
    Err(Broken::refused(failure, status, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_one_segment_of_the_path_whatever_it_holds() {
        assert_eq!(path("/refunds/{key}", "a-b._~9"), "/refunds/a-b._~9");
        assert_eq!(
            path("/r/{key}?of={key}", "a/../b?c#d e%é"),
            "/r/a%2F..%2Fb%3Fc%23d%20e%25%C3%A9?of=a%2F..%2Fb%3Fc%23d%20e%25%C3%A9"
        );
    }
}

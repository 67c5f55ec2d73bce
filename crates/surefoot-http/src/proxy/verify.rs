//! Asks the service itself what became of a request, at an address that its owner names. Only an answer that says so in a
//! header counts: a missing page is not proof that nothing happened.

use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use http::{HeaderValue, Request, Uri};
use hyper_util::client::legacy::Client;
use surefoot_core::request::{
    Answer, Body as Kind, Request as Record, RequestPolicy, RequestVerdict,
};

use super::connect::Connector;
use super::forward::{client, is_final};
use super::headers::{REQUEST_ID, TENANT, end_hop};
use crate::guard::{Room, Unread, read};
use crate::mark::IDEMPOTENCY_KEY;
use crate::reconcile::Reconcile;
use crate::told::{Word, take_word};

/// How long connecting may take, and the rest of an answer after its head.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks by `GET` at one address, with the headers `Idempotency-Key`, `surefoot-request` and `surefoot-tenant` of the
/// request. The answer's header `surefoot-outcome` decides:
///
/// - `happened`: it happened, and this answer (status, headers that are kept, body) is what every repetition gets;
/// - `nothing-happened`: it did not happen;
/// - anything else, several words, a status outside 200 to 599, or nothing: it is not known.
#[derive(Clone, Debug)]
pub struct VerifyByUrl {
    uri: Uri,
    client: Client<Connector, Body>,
    policy: RequestPolicy,
}

impl VerifyByUrl {
    /// Asks at `uri`, an `http://` address; what is kept of its answer is as `policy` says. `None` for any other address.
    #[must_use]
    pub fn new(uri: Uri, policy: RequestPolicy) -> Option<Self> {
        (uri.scheme_str() == Some("http") && uri.authority().is_some()).then(|| Self {
            uri,
            client: client(PATIENCE, Duration::ZERO),
            policy,
        })
    }

    async fn asked(&self, record: &Record) -> Option<RequestVerdict> {
        let mut request = Request::get(self.uri.clone()).body(Body::empty()).ok()?;
        let headers = [
            (IDEMPOTENCY_KEY, quoted(record.identity.key.as_str())),
            (REQUEST_ID, record.id.to_string()),
            (TENANT, record.identity.tenant.to_string()),
        ];
        for (name, value) in headers {
            request
                .headers_mut()
                .insert(name, HeaderValue::try_from(value).ok()?);
        }
        let response = self.client.request(request).await.ok()?;
        let (mut head, body) = response.into_parts();
        end_hop(&mut head.headers);
        let (word, _) = take_word(&mut head.headers)?;
        match word {
            // What is no answer cannot be replayed as one.
            Word::Happened if !is_final(head.status) => None,
            Word::NothingHappened => Some(RequestVerdict::DidNotHappen),
            Word::Happened => {
                let most = self.policy.body_bytes_max;
                let room = Room::new(most);
                let body = match read(Body::new(body), most, PATIENCE, &room).await {
                    Ok(body) => Kind::Whole(body.to_vec()),
                    Err(Unread::TooLarge) => Kind::Passed {
                        sha256: None,
                        bytes: None,
                    },
                    Err(Unread::TooSlow | Unread::Broken | Unread::NoRoom) => return None,
                };
                let headers = head.headers.iter();
                Some(RequestVerdict::Happened(
                    self.policy.kept(Answer {
                        status: head.status.as_u16(),
                        headers: headers
                            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
                            .collect(),
                        body,
                        nothing_happened: false,
                    }),
                ))
            }
            Word::Unknown => None,
        }
    }
}

#[async_trait]
impl Reconcile for VerifyByUrl {
    async fn ask(&self, request: &Record) -> RequestVerdict {
        let asked = self.asked(request).await;
        asked.unwrap_or(RequestVerdict::StillUnknown { ask_again_in: None })
    }
}

/// An RFC 8941 string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

//! The word of somebody who was not asked what became of a request: a webhook, another program, a person. The first word
//! that says what happened settles it; what a later one says otherwise is kept beside it. It never runs a request.

use surefoot_core::effect::Witness;
use surefoot_core::error::StoreError;
use surefoot_core::id::Tenant;
use surefoot_core::port::{RequestWritten, Requests};
use surefoot_core::request::{Identity, Request, RequestVerdict, Witnessed, witnessed};
use surefoot_core::time::Timestamp;

/// How often to decide again because somebody else wrote first.
pub(crate) const ROUNDS_MAX: u32 = 16;

/// What became of the word of a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// It settled the request; this is on record.
    Settled(Box<Request>),
    /// The same was known before; this is on record.
    Same(Box<Request>),
    /// Something else was known before. The word is on record as a dispute, and a person must look.
    Disputed(Box<Request>),
    /// Its handler may still be running, or what it did may still take effect: say it again after `until`.
    TooEarly {
        /// When it counts.
        until: Timestamp,
    },
    /// It does not say what happened.
    NoVerdict,
    /// No request holds the key.
    NotFound,
}

impl Resolved {
    /// The word for what became of a word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::Same(_) => "same",
            Self::Disputed(_) => "disputed",
            Self::TooEarly { .. } => "too_early",
            Self::NoVerdict => "no_verdict",
            Self::NotFound => "not_found",
        }
    }

    fn tell(&self, tenant: &Tenant, said: &str, by: &Witness) {
        let (actor, reason) = match by {
            Witness::Answer | Witness::Query => ("", ""),
            Witness::Caller(actor) => (actor.as_str(), ""),
            Witness::Person(by) => (by.actor.as_str(), by.reason.as_str()),
        };
        let request = match self {
            Self::Settled(request) | Self::Same(request) | Self::Disputed(request) => {
                Some(tracing::field::display(request.id))
            }
            Self::TooEarly { .. } | Self::NoVerdict | Self::NotFound => None,
        };
        tracing::info!(
            %tenant,
            request,
            said,
            outcome = self.as_str(),
            actor,
            reason,
            "a witness said what became of a request"
        );
    }
}

#[derive(Debug, thiserror::Error)]
#[error("others kept writing to the request")]
struct Crowded;

/// Takes in what a witness says became of a request, at `now`. It may be repeated. Each word is in the log with who said it, why,
/// and what became of it.
///
/// # Errors
/// What the store answered; the same call may be made again.
pub async fn resolve(
    requests: &dyn Requests,
    identity: &Identity,
    verdict: RequestVerdict,
    by: Witness,
    now: Timestamp,
) -> Result<Resolved, StoreError> {
    let word = verdict.as_str();
    let resolved = settle(requests, identity, verdict, by.clone(), now).await?;
    resolved.tell(&identity.tenant, word, &by);
    Ok(resolved)
}

async fn settle(
    requests: &dyn Requests,
    identity: &Identity,
    verdict: RequestVerdict,
    by: Witness,
    now: Timestamp,
) -> Result<Resolved, StoreError> {
    let mut known = requests.request(identity).await?.map(Box::new);
    for _ in 0..ROUNDS_MAX {
        let Some(request) = known else {
            return Ok(Resolved::NotFound);
        };
        let (next, settles) = match witnessed(&request, verdict.clone(), by.clone(), now) {
            Witnessed::NoVerdict => return Ok(Resolved::NoVerdict),
            Witnessed::TooEarly(until) => return Ok(Resolved::TooEarly { until }),
            Witnessed::Same => return Ok(Resolved::Same(request)),
            Witnessed::Settled(next) => (next, true),
            Witnessed::Disputed(next) => (next, false),
        };
        match requests.write_request(&next).await? {
            RequestWritten::Applied | RequestWritten::Already if settles => {
                return Ok(Resolved::Settled(next));
            }
            RequestWritten::Applied | RequestWritten::Already => {
                return Ok(Resolved::Disputed(next));
            }
            RequestWritten::Changed(on_record) => known = on_record,
        }
    }
    Err(StoreError::Unavailable(Box::new(Crowded)))
}

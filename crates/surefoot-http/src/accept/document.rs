//! What a client reads of the job that its request became. Names and times are those of the server's API; what only its
//! operators should see (payload, errors, workers) is not among them.

use jiff::SignedDuration;
use jiff::civil::DateTime;
use serde::ser::Error;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use surefoot_core::id::JobId;
use surefoot_core::job::JobState;
use surefoot_core::payload::Payload;
use surefoot_core::port::JobRecord;
use surefoot_core::time::Timestamp;

/// What is said with 202.
pub(super) fn accepted(job: JobId, location: &str) -> String {
    let mut text = serde_json::json!({
        "id": job.to_string(),
        "status": location,
        "events": format!("{location}/events"),
    })
    .to_string();
    text.push('\n');
    text
}

/// A job, for whoever asked for it. A field that does not apply is `null`.
#[derive(Serialize)]
pub(super) struct Document {
    id: String,
    kind: String,
    /// The word of its state.
    state: &'static str,
    /// Whether it changes by itself no more.
    settled: bool,
    enqueued_at: String,
    /// When it runs next, where that is planned.
    due_at: Option<String>,
    /// Why it is dead: `outcome_unknown` where it may have happened.
    reason: Option<&'static str>,
    /// What the handler returned.
    result: Option<Raw>,
}

/// JSON byte for byte as it came, but for line breaks between its tokens, which an event could not hold.
struct Raw(Payload);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Inside a string JSON writes a line break as an escape.
        let text = self.0.as_str().replace(['\r', '\n'], " ");
        let raw: &RawValue = serde_json::from_str(&text).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl Document {
    pub(super) fn of(record: &JobRecord) -> Self {
        let job = &record.job;
        let (due_at, reason, result) = match &job.state {
            JobState::Pending { due_at }
            | JobState::Retrying { due_at, .. }
            | JobState::Verifying { due_at, .. } => (Some(*due_at), None, None),
            JobState::Succeeded { result, .. } => (None, None, Some(Raw(result.clone()))),
            JobState::Dead(death) => (None, Some(death.reason.as_str()), None),
            JobState::Running(_) | JobState::Cancelled { .. } | JobState::Ignored { .. } => {
                (None, None, None)
            }
        };
        Self {
            id: job.id.to_string(),
            kind: job.kind.to_string(),
            state: job.state.name().as_str(),
            settled: job.state.name().is_settled(),
            enqueued_at: rfc3339(job.enqueued_at),
            due_at: due_at.map(rfc3339),
            reason,
            result,
        }
    }
}

/// RFC 3339 in UTC with six digits of a second.
fn rfc3339(at: Timestamp) -> String {
    let since = SignedDuration::from_micros(at.as_micros());
    let time = DateTime::constant(1970, 1, 1, 0, 0, 0, 0).saturating_add(since);
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

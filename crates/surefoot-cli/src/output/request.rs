//! Requests of the front door for people.

use surefoot_core::effect::Witness;
use surefoot_core::port::RequestHead;
use surefoot_core::request::{Kept, Request, RequestState};

use super::table::{Table, plain};
use super::time::utc;

/// How much of a body is shown, in characters.
const BODY_CHARS_MAX: usize = 2000;

/// A line for each request.
pub(crate) fn requests_table(heads: &[RequestHead]) -> String {
    if heads.is_empty() {
        return "no requests".to_owned();
    }
    let mut table = Table::new([
        "key", "tenant", "request", "state", "since", "status", "why", "id",
    ]);
    for head in heads {
        let why = head.error.as_ref().map(ToString::to_string);
        let disputes = disputes(head.disputes);
        table.row([
            head.identity.key.to_string(),
            head.identity.tenant.to_string(),
            head.operation.to_string(),
            head.state.as_str().to_owned(),
            utc(head.since),
            head.status
                .map(|status| status.to_string())
                .unwrap_or_default(),
            format!("{}{disputes}", why.unwrap_or_default()),
            head.id.to_string(),
        ]);
    }
    table.text()
}

/// All that is on record about one.
pub(crate) fn request_text(request: &Request) -> String {
    let identity = &request.identity;
    let mut lines = vec![
        format!("request   {}", identity.key),
        format!("tenant    {}", identity.tenant),
        format!("asked     {}", request.operation),
        format!("id        {}", request.id),
        format!(
            "claimed   {}, {}",
            utc(request.claimed_at),
            times(request.epoch)
        ),
        format!("state     {}", request.state.name().as_str()),
    ];
    lines.extend(
        state_lines(&request.state)
            .into_iter()
            .map(|line| plain(&line)),
    );
    let times = [
        ("replayed until", request.expires_at()),
        ("key taken until", request.forget_at()),
    ];
    for (what, at) in times {
        if let Some(at) = at {
            lines.push(format!("{what} {}", utc(at)));
        }
    }
    for dispute in &request.disputes {
        let line = format!(
            "disputed  {} by {}: {}",
            utc(dispute.at),
            of_run(&dispute.by),
            dispute.said
        );
        lines.push(plain(&line));
    }
    lines.join("\n")
}

fn state_lines(state: &RequestState) -> Vec<String> {
    match state {
        RequestState::Claimed {
            holder,
            since,
            lease_until,
            ..
        } => vec![format!(
            "running   on {holder} since {}, until {} at most",
            utc(*since),
            utc(*lease_until)
        )],
        RequestState::Finished { at, kept, by } => {
            let mut lines = vec![format!("finished  {}, says {}", utc(*at), witness(by))];
            lines.extend(answer(kept));
            lines
        }
        RequestState::Unknown {
            since,
            ask_at,
            asked,
            error,
        } => vec![format!(
            "unknown   since {}: {error}; asked {}, next at {}",
            utc(*since),
            times(asked),
            utc(*ask_at)
        )],
        RequestState::NeedsHuman { since, error } => vec![
            format!("unknown   since {}: {error}", utc(*since)),
            "decide it with: surefoot requests resolve".to_owned(),
        ],
        RequestState::Released { at, by, error } => {
            vec![format!("released  {} by {}: {error}", utc(*at), of_run(by))]
        }
        RequestState::Expired { at, status } => vec![format!(
            "finished  {} with status {status}; the answer is kept no longer",
            utc(*at)
        )],
    }
}

fn answer(kept: &Kept) -> Vec<String> {
    match kept {
        Kept::Response(response) => {
            let mut lines = vec![format!("status    {}", response.status)];
            for (name, value) in &response.headers {
                lines.push(format!("  {name}: {}", String::from_utf8_lossy(value)));
            }
            lines.push(match std::str::from_utf8(&response.body) {
                Ok("") => "no body".to_owned(),
                Ok(text) if text.chars().count() <= BODY_CHARS_MAX => text.to_owned(),
                Ok(_) | Err(_) => format!(
                    "a body of {} bytes; write it out with --body",
                    response.body.len()
                ),
            });
            lines
        }
        Kept::Tombstone(tombstone) => {
            let bytes = tombstone
                .body_bytes
                .map(|bytes| format!(", {bytes} bytes"))
                .unwrap_or_default();
            let why = tombstone.why.as_str();
            vec![format!(
                "status    {}; the answer is not kept ({why}{bytes})",
                tombstone.status
            )]
        }
    }
}

/// How often, in words.
pub(super) fn times(count: impl ToString) -> String {
    match count.to_string().as_str() {
        "1" => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// Who says it of a run that may have come to no service at all.
fn of_run(by: &Witness) -> String {
    match by {
        Witness::Answer => "the run itself".to_owned(),
        Witness::Query | Witness::Caller(_) | Witness::Person(_) => witness(by),
    }
}

fn witness(by: &Witness) -> String {
    match by {
        Witness::Answer => "the service".to_owned(),
        Witness::Query => "the service when it was asked".to_owned(),
        Witness::Caller(actor) => actor.to_string(),
        Witness::Person(by) => format!("{} ({})", by.actor, by.reason),
    }
}

fn disputes(count: u32) -> String {
    match count {
        0 => String::new(),
        1 => " (1 witness said something else)".to_owned(),
        count => format!(" ({count} witnesses said something else)"),
    }
}

#[cfg(test)]
mod tests {
    use surefoot_core::text::ErrorText;
    use surefoot_core::time::Timestamp;

    use super::*;

    #[test]
    fn a_run_that_reached_no_service_is_not_laid_to_one() {
        let state = RequestState::Released {
            at: Timestamp::MIN,
            by: Witness::Answer,
            error: ErrorText::from_bytes(b"connection refused"),
        };
        let expected = "released  1970-01-01 00:00:00Z by the run itself: connection refused";
        assert_eq!(state_lines(&state), [expected]);
    }

    #[test]
    fn once_is_no_plural() {
        assert_eq!(
            [times(0), times(1), times(21)],
            ["0 times", "once", "21 times"]
        );
    }
}

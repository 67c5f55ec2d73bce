//! `requests`: what is on record about requests of the front door, and the word of a person on what nobody knows.

use std::io::Write;

use serde_json::json;
use surefoot_core::effect::Witness;
use surefoot_core::port::{RequestFilter, Requests};
use surefoot_core::request::{Identity, Kept, Request, RequestState};
use surefoot_core::time::Timestamp;
use surefoot_http::Resolved;
use surefoot_server::documents;

use super::database::Place;
use crate::args::{RequestListArgs, RequestResolveArgs, RequestShowArgs, RequestsCommand};
use crate::exit::{Code, Failed};
use crate::output::{Output, request_text, requests_table, utc};
use crate::telemetry::{LogOptions, Telemetry};

pub(super) async fn run(
    place: &Place,
    command: RequestsCommand,
    output: Output,
) -> Result<(), Failed> {
    let ports = place.existing_ports().await?;
    let requests = &*ports.requests;
    match command {
        RequestsCommand::List(args) => list(requests, args, output).await,
        RequestsCommand::Show(args) => show(requests, &args, output).await,
        RequestsCommand::Resolve(args) => {
            let now = ports.store.database_now().await?;
            // No node sees it and none counts it: the log of this process says who said it and why, as that of a node would.
            let telemetry = Telemetry::start(&LogOptions {
                format: place.config.telemetry.log_format,
                otlp_endpoint: place.config.telemetry.otlp_endpoint.clone(),
            })?;
            let resolved = resolve(requests, &args, now, output).await;
            telemetry.stop().await;
            resolved
        }
    }
}

async fn list(
    requests: &dyn Requests,
    args: RequestListArgs,
    output: Output,
) -> Result<(), Failed> {
    let filter = RequestFilter {
        tenant: args.tenant,
        key: args.key,
        state: args.state,
    };
    let heads = requests
        .requests(&filter, args.before, args.limit + 1)
        .await?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let shown = &heads[..heads.len().min(limit)];
    let more = shown.last().filter(|_| heads.len() > limit);
    output.answer(&documents::requests(&heads, args.limit), || {
        let table = requests_table(shown);
        match more {
            Some(last) => format!("{table}\n\nmore with: --before {}", last.id),
            None => table,
        }
    })?;
    Ok(())
}

async fn show(
    requests: &dyn Requests,
    args: &RequestShowArgs,
    output: Output,
) -> Result<(), Failed> {
    let request = known(requests, &args.which.identity()).await?;
    if args.body {
        return body(&request);
    }
    output.answer(&documents::request(&request), || request_text(&request))?;
    Ok(())
}

/// The body of the answer, as it is replayed.
fn body(request: &Request) -> Result<(), Failed> {
    match &request.state {
        RequestState::Finished {
            kept: Kept::Response(response),
            ..
        } => {
            let mut out = std::io::stdout().lock();
            match out.write_all(&response.body).and_then(|()| out.flush()) {
                Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
                Ok(()) | Err(_) => Ok(()),
            }
        }
        RequestState::Finished {
            kept: Kept::Tombstone(_),
            ..
        }
        | RequestState::Expired { .. }
        | RequestState::Claimed { .. }
        | RequestState::Unknown { .. }
        | RequestState::NeedsHuman { .. }
        | RequestState::Released { .. } => Err(Failed::new(
            Code::Refused,
            format!("no answer is kept for {}", request.identity.key),
            "see what is known of it without --body",
        )),
    }
}

async fn resolve(
    requests: &dyn Requests,
    args: &RequestResolveArgs,
    now: Timestamp,
    output: Output,
) -> Result<(), Failed> {
    let identity = args.which.identity();
    let (verdict, by) = (args.verdict()?, Witness::Person(args.by.by()?));
    let said = verdict.as_str();
    let key = &identity.key;
    let resolved = surefoot_http::resolve(requests, &identity, verdict, by, now).await?;
    let (request, settled) = match resolved {
        Resolved::Settled(request) => (request, true),
        Resolved::Same(request) => (request, false),
        Resolved::Disputed(request) => {
            let state = request.state.name().as_str();
            return Err(Failed::new(
                Code::Refused,
                format!(
                    "somebody said otherwise of {key} before; what you said is on record as a dispute, and it is {state}"
                ),
                see(&identity),
            ));
        }
        Resolved::TooEarly { until } => {
            return Err(Failed::new(
                Code::Refused,
                format!(
                    "{key} may be running, or still take effect, until {}",
                    utc(until)
                ),
                "say it again after that",
            ));
        }
        Resolved::NoVerdict => {
            return Err(Failed::new(
                Code::Refused,
                "this says nothing about what happened",
                "",
            ));
        }
        Resolved::NotFound => return Err(no_such_request(&identity)),
    };
    let state = request.state.name().as_str();
    let document = json!({
        "tenant": identity.tenant.to_string(),
        "key": key.to_string(),
        "id": request.id.to_string(),
        "said": said,
        "state": state,
        "settled": settled,
    });
    output.answer(&document, || {
        if settled {
            format!("{said}: {key} is {state}")
        } else {
            format!("{said}: that was known before")
        }
    })?;
    Ok(())
}

async fn known(requests: &dyn Requests, identity: &Identity) -> Result<Request, Failed> {
    let found = requests.request(identity).await?;
    found.ok_or_else(|| no_such_request(identity))
}

fn no_such_request(identity: &Identity) -> Failed {
    let Identity { tenant, key } = identity;
    Failed::new(
        Code::NotFound,
        format!("tenant {tenant} has no request under the key {key}"),
        format!("see whose it is with: surefoot requests list --key '{key}'"),
    )
}

fn see(identity: &Identity) -> String {
    let Identity { tenant, key } = identity;
    format!("look at it with: surefoot requests show '{key}' --tenant {tenant}")
}

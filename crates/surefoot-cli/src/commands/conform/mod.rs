//! `conform`: the checklist of draft-ietf-httpapi-idempotency-key-header-07, and faults that guards are known for, against
//! any endpoint. It knows the endpoint only from outside.

mod cases;
mod on_demand;
mod target;

use serde_json::json;

use crate::args::ConformArgs;
use crate::exit::{Code, Failed};
use crate::output::{Output, Table};
use cases::CASES;
use target::Target;

/// What a case found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// It is as it should be.
    Fits,
    /// It is not.
    Fault(String),
    /// It cannot be said.
    Skipped(&'static str),
}

pub(super) async fn run(args: &ConformArgs, output: Output) -> Result<(), Failed> {
    let target = Target::new(args)?;
    let mut rows = Vec::new();
    for case in CASES {
        let found = match (case.look)(&target).await {
            Ok(found) => found,
            Err(error) if rows.is_empty() => {
                let what = format!("the endpoint did not answer: {error}");
                return Err(Failed::new(
                    Code::Failed,
                    what,
                    "check the URL and that the service runs",
                ));
            }
            Err(error) => Found::Fault(format!("no answer: {error}")),
        };
        rows.push((case, found));
    }
    let faults = rows
        .iter()
        .filter(|(_, found)| matches!(found, Found::Fault(_)))
        .count();
    let document = json!({
        "url": args.url.as_str(),
        "faults": faults,
        "cases": rows.iter().map(|(case, found)| {
            let (result, why) = told(found);
            json!({ "case": case.name, "requirement": case.requirement, "result": result, "why": why })
        }).collect::<Vec<_>>(),
    });
    output.answer(&document, || {
        let mut table = Table::new(["result", "case", "requirement", "why"]);
        for (case, found) in &rows {
            let (result, why) = told(found);
            table.row([
                result.to_owned(),
                case.name.to_owned(),
                case.requirement.to_owned(),
                why.to_owned(),
            ]);
        }
        table.text()
    })?;
    match faults {
        0 => Ok(()),
        _ => Err(Failed::new(
            Code::Failed,
            format!("{faults} of {} cases found a fault", rows.len()),
            "a fault of a repetition is a second charge, mail or order; --json tells each in full",
        )),
    }
}

fn told(found: &Found) -> (&'static str, &str) {
    match found {
        Found::Fits => ("ok", ""),
        Found::Fault(why) => ("FAULT", why),
        Found::Skipped(why) => ("skipped", why),
    }
}

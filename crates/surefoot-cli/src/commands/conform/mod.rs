//! `conform`: the checklist of draft-ietf-httpapi-idempotency-key-header-07, and faults that guards are known for, against
//! any endpoint. It knows the endpoint only from outside.

mod cases;
mod on_demand;
mod target;

use serde_json::json;

use super::check;
use crate::args::ConformArgs;
use crate::exit::{Code, Failed};
use crate::output::{Output, Table};
use cases::{CASES, Case};
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
    let faults = count(&rows, |found| matches!(found, Found::Fault(_)));
    let document = json!({
        "url": args.url.as_str(),
        "faults": faults,
        "cases": rows.iter().map(|(case, found)| {
            let (result, why) = told(found);
            json!({ "case": case.name, "requirement": case.requirement, "result": result, "why": why })
        }).collect::<Vec<_>>(),
    });
    output.answer(&document, || {
        let mut table = Table::new(["result", "case", "requirement", "why"]).wrapping_last();
        for (case, found) in &rows {
            let (result, why) = told(found);
            table.row([
                result.to_owned(),
                case.name.to_owned(),
                case.requirement.to_owned(),
                why.to_owned(),
            ]);
        }
        format!("{}\n\n{}", table.text(), closing(&rows))
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

/// How many cases found what.
fn closing(rows: &[(&Case, Found)]) -> String {
    let fit = count(rows, |found| *found == Found::Fits);
    let skipped = count(rows, |found| matches!(found, Found::Skipped(_)));
    let faults = count(rows, |found| matches!(found, Found::Fault(_)));
    format!("{fit} ok, {skipped} skipped, {}", check::faults(faults))
}

fn count(rows: &[(&Case, Found)], is_it: impl Fn(&Found) -> bool) -> usize {
    rows.iter().filter(|(_, found)| is_it(found)).count()
}

fn told(found: &Found) -> (&'static str, &str) {
    match found {
        Found::Fits => ("ok", ""),
        Found::Fault(why) => ("FAULT", why),
        Found::Skipped(why) => ("skipped", why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_what_was_found() {
        let found = [
            Found::Fits,
            Found::Skipped("no --slow-body"),
            Found::Fault("a second charge".to_owned()),
            Found::Fits,
        ];
        let rows: Vec<(&Case, Found)> = CASES.iter().zip(found).collect();
        assert_eq!(closing(&rows), "2 ok, 1 skipped, 1 fault");
        assert_eq!(closing(&rows[..2]), "1 ok, 1 skipped, 0 faults");
    }
}

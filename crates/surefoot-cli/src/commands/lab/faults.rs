//! `lab faults`: the fault matrix, measured.

use serde_json::json;
use surefoot_lab::faults::{Contestant, Fault, FaultOptions, Measured, measure_all};

use super::{program, stoppable};
use crate::args::FaultsArgs;
use crate::exit::{Code, Failed};
use crate::output::{Output, Table};

pub(super) async fn run(args: &FaultsArgs, output: Output) -> Result<(), Failed> {
    let options = FaultOptions {
        program: program()?,
        plain_worker: vec!["lab".to_owned(), "plain-worker".to_owned()],
        intents: args.intents,
    };
    let rows = stoppable(measure_all(&options)).await?;
    let holds = rows.iter().all(Measured::surefoot_holds);
    let document = json!({ "ok": holds, "intents": args.intents, "faults": rows });
    output.answer(&document, || text(args.intents, &rows))?;
    if holds {
        return Ok(());
    }
    Err(Failed::new(
        Code::Failed,
        "a number of Surefoot's is not 0",
        "this is a fault of Surefoot; please report it with the output of: surefoot lab faults --json",
    ))
}

fn text(intents: usize, rows: &[Measured]) -> String {
    let mut table = Table::new([
        "fault",
        "contestant",
        "hit",
        "charged twice",
        "never charged",
        "not terminal",
        "stale write",
        "told failed",
        "done",
        "waits for a person",
    ]);
    for row in rows {
        for cell in &row.cells {
            let count = &cell.count;
            table.row([
                letter(row.fault),
                cell.contestant.told().to_owned(),
                cell.hit.to_string(),
                count.charged_twice.to_string(),
                count.never_charged.to_string(),
                count.not_terminal.to_string(),
                count.stale_write.to_string(),
                count.told_failed.to_string(),
                count.done.to_string(),
                count.waits_for_person.to_string(),
            ]);
        }
    }
    let faults: Vec<&str> = Fault::ALL.map(Fault::told).into();
    format!(
        "{intents} intents for each fault and contestant, a provider that does not deduplicate, real processes\n\n\
         {}\n\n{}\n\n\
         hit            intents whose call was out when the fault struck\n\
         charged twice  the provider's books show more than one refund\n\
         never charged  they show none, and no person is asked\n\
         not terminal   neither ended nor waiting for a person\n\
         stale write    the outcome had been settled and changed afterwards\n\
         told failed    told as failed, though the books show a refund\n\n\
         {}",
        table.text(),
        faults.join("\n"),
        verdict(rows),
    )
}

/// The letter by which the legend names a fault.
fn letter(fault: Fault) -> String {
    fault.told().chars().take(3).collect()
}

fn verdict(rows: &[Measured]) -> String {
    let of = |contestant: Contestant| {
        rows.iter()
            .flat_map(|row| &row.cells)
            .filter(move |cell| cell.contestant == contestant)
    };
    let wrong = |contestant| of(contestant).filter(|cell| !cell.count.is_clean()).count();
    let told = |contestant: Contestant| {
        format!(
            "{}: {} of {} faults left something wrong",
            contestant.told(),
            wrong(contestant),
            of(contestant).count()
        )
    };
    Contestant::ALL.map(told).join("\n")
}

//! `lab chaos`: `kill -9` at random moments.

use serde_json::json;
use surefoot_lab::chaos::{self, ChaosOptions, ChaosReport};

use super::{program, stoppable};
use crate::args::ChaosArgs;
use crate::exit::{Code, Failed};
use crate::output::{Output, Progress, Table};

pub(super) async fn run(args: &ChaosArgs, output: Output) -> Result<(), Failed> {
    let options = ChaosOptions {
        program: program()?,
        seed: args.seed.unwrap_or_else(|| fastrand::u64(..)),
        rounds: args.rounds,
        nodes: args.nodes,
        postgres: args.postgres.clone(),
    };
    // Before anything can go wrong: whoever sees it fail wants to repeat it.
    eprintln!("seed {}", options.seed);
    let progress = Progress::steps(options.rounds as u64, "kills".to_owned());
    let report = stoppable(chaos::run(&options, |_| progress.step())).await?;
    drop(progress);
    let document = json!({ "ok": report.holds(), "report": report });
    output.answer(&document, || text(&report))?;
    if report.holds() {
        return Ok(());
    }
    Err(Failed::new(
        Code::Failed,
        format!(
            "not every intent is as it should be:\n{}",
            report.wrong.join("\n")
        ),
        format!("repeat the schedule with: --seed {}", report.seed),
    ))
}

fn text(report: &ChaosReport) -> String {
    let mut table = Table::new([
        "recovery",
        "intents",
        "charged twice",
        "never charged",
        "not terminal",
        "told failed",
        "done",
        "waits for a person",
    ]);
    for recovery in &report.recoveries {
        let count = &recovery.count;
        table.row([
            recovery.recovery.to_owned(),
            recovery.intents.to_string(),
            count.charged_twice.to_string(),
            count.never_charged.to_string(),
            count.not_terminal.to_string(),
            count.told_failed.to_string(),
            count.done.to_string(),
            count.waits_for_person.to_string(),
        ]);
    }
    format!(
        "{} kills of {} nodes (seed {}): {} attempts lost, {} answers dropped, {} look-ups\n\n{}",
        report.kills,
        report.nodes,
        report.seed,
        report.attempts_lost,
        report.unanswered,
        report.asked,
        table.text()
    )
}

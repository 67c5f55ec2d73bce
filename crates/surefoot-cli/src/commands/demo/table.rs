//! The table of both acts at the end, for people.

use surefoot_demo::{ActReport, Report};

use crate::args::DemoArgs;
use crate::output::Table;

pub(super) fn text(report: &Report, args: &DemoArgs) -> String {
    let mut table = Table::new(["", "act one: without protection", "act two: with Surefoot"]);
    let mut row = |what: &str, cell: fn(&ActReport) -> String| {
        let [one, two] = &report.acts;
        table.row([what.to_owned(), cell(one), cell(two)]);
    };
    row("user intents", |act| act.intents.to_string());
    row("provider calls", |act| act.provider_calls.to_string());
    row("questions to the provider", |act| act.asked.to_string());
    row("amplification in the outage", |act| {
        format!("{:.2}", act.amplification)
    });
    row("charged twice", |act| act.charged_twice.to_string());
    row("lost", |act| act.lost.to_string());
    row("charged, and told nothing", |act| {
        act.charged_unsaid.to_string()
    });
    row("page availability", |act| {
        format!("{:.2} %", act.page_availability * 100.0)
    });
    row("p99 to an answer", |act| seconds(act.p99_ms));
    row("p99 to a known outcome", |act| seconds(act.known_p99_ms));
    format!(
        "{}\n\nseed {}; what the figures mean: surefoot demo --help",
        table.text(),
        args.seed
    )
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

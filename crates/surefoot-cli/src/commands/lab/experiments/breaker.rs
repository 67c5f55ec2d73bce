//! `lab breaker`: call by call, what a breaker does while a service is down and comes back.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use surefoot_policy::breaker::BreakerOptions;
use surefoot_policy::lab::{Step, TraceRow, breaker_trace};

use super::super::expected::{self, Figure};
use super::draw;
use super::plot::{Series, lines};
use crate::args::PlotArgs;
use crate::exit::Failed;
use crate::output::{Output, Table};

const NAME: &str = "breaker";
const TITLE: &str =
    "calls that reach a service behind a breaker (3 failures in a row open it, 1 s, one probe)";

/// When a call is made, and whether the service is up: it is down for two seconds.
const SCRIPT: [(u64, bool); 8] = [
    (0, false),
    (0, false),
    (0, false),
    (0, false),
    (0, false),
    (1200, false),
    (2300, true),
    (2300, true),
];

/// One call.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Row {
    t_ms: u64,
    dependency: &'static str,
    answer: &'static str,
    state_after: &'static str,
    /// How many calls have reached the service so far.
    calls_to_dependency: u32,
}

pub(in crate::commands) fn run(args: &PlotArgs, output: Output) -> Result<(), Failed> {
    let rows = measure();
    draw(args.svg.as_deref(), || svg(&rows))?;
    output.answer(&json!({ "trace": rows }), || text(&rows))?;
    Ok(())
}

/// Each call beside the one that must come out.
pub(in crate::commands) fn figures() -> Vec<Figure> {
    let (rows, expected) = (measure(), expected::of(NAME));
    let calls = expected.as_array().map_or(0, Vec::len).max(rows.len());
    let figure = |number: usize| {
        let row = rows.get(number).map(Row::cells);
        Figure::equal(NAME, format!("call {}", number + 1), &expected[number], row)
    };
    (0..calls).map(figure).collect()
}

fn measure() -> Vec<Row> {
    let cool_down = Duration::from_secs(1);
    let options = BreakerOptions {
        consecutive_failures: 3,
        open_for: cool_down,
        open_for_max: cool_down,
        open_jitter: 0.0,
        probes: 1,
        successes_to_close: 1,
        ramp: Duration::ZERO,
        ..BreakerOptions::default()
    };
    let script = SCRIPT.map(|(at_ms, up)| Step { at_ms, up });
    breaker_trace(&options, &script)
        .into_iter()
        .map(Row::from)
        .collect()
}

impl Row {
    /// In the order of the columns of the figures.
    fn cells(&self) -> Value {
        json!([
            self.t_ms,
            self.dependency,
            self.answer,
            self.state_after,
            self.calls_to_dependency
        ])
    }
}

impl From<TraceRow> for Row {
    fn from(row: TraceRow) -> Self {
        Self {
            t_ms: row.at_ms,
            dependency: if row.up { "up" } else { "down" },
            answer: if row.value { "value" } else { "fallback" },
            state_after: row.state,
            calls_to_dependency: row.calls,
        }
    }
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "ms",
        "service",
        "caller gets",
        "breaker then",
        "calls so far",
    ]);
    for row in rows {
        table.row([
            row.t_ms.to_string(),
            row.dependency.to_owned(),
            row.answer.to_owned(),
            row.state_after.to_owned(),
            row.calls_to_dependency.to_string(),
        ]);
    }
    format!("{TITLE}\n\n{}", table.text())
}

fn svg(rows: &[Row]) -> String {
    let made = |(number, _): (u32, &Row)| (f64::from(number), f64::from(number));
    let reached =
        |(number, row): (u32, &Row)| (f64::from(number), f64::from(row.calls_to_dependency));
    let series = [
        Series {
            name: "calls made",
            points: (1..).zip(rows).map(made).collect(),
        },
        Series {
            name: "calls that reach the service",
            points: (1..).zip(rows).map(reached).collect(),
        },
    ];
    lines(TITLE, "call", &series)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_is_the_one_that_must_come_out() {
        assert!(expected::hold(&figures()), "{:?}", figures());
        assert_eq!(figures().len(), SCRIPT.len());
    }
}

//! `lab amplification`: retries at every layer multiply; with a retry owner they do not.

use serde::Serialize;
use surefoot_policy::lab::amplification;

use super::super::expected::{self, Figure};
use super::draw;
use super::plot::bars;
use crate::args::AmplificationArgs;
use crate::exit::Failed;
use crate::output::{Output, Table};

const NAME: &str = "amplification";

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Amplification {
    layers: u32,
    tries: u32,
    /// Calls that reach the service for one request when every layer retries.
    retry_at_every_layer: u32,
    /// The same when the outermost layer tells the others that it retries.
    retry_at_one_layer: u32,
}

pub(in crate::commands) fn run(args: &AmplificationArgs, output: Output) -> Result<(), Failed> {
    let shown = measure(args.layers, args.tries);
    draw(args.plot.svg.as_deref(), || shown.svg())?;
    output.answer(&shown, || shown.text())?;
    Ok(())
}

/// Each figure beside the one that must come out, for three layers of four tries.
pub(in crate::commands) fn figures() -> [Figure; 2] {
    let (shown, expected) = (measure(3, 4), expected::of(NAME));
    let equal = |figure: &str, measured| Figure::equal(NAME, figure, &expected[figure], measured);
    [
        equal("retry_at_every_layer", shown.retry_at_every_layer),
        equal("retry_at_one_layer", shown.retry_at_one_layer),
    ]
}

fn measure(layers: u32, tries: u32) -> Amplification {
    Amplification {
        layers,
        tries,
        retry_at_every_layer: amplification(layers, tries, false),
        retry_at_one_layer: amplification(layers, tries, true),
    }
}

impl Amplification {
    fn title(&self) -> String {
        format!(
            "calls that reach a dead service for one request through {} layers of {} tries",
            self.layers, self.tries
        )
    }

    fn rows(&self) -> [(&'static str, u32); 2] {
        [
            ("every layer retries", self.retry_at_every_layer),
            ("one layer retries", self.retry_at_one_layer),
        ]
    }

    fn text(&self) -> String {
        let mut table = Table::new(["who retries", "calls"]);
        for (who, calls) in self.rows() {
            table.row([who.to_owned(), calls.to_string()]);
        }
        format!("{}\n\n{}", self.title(), table.text())
    }

    fn svg(&self) -> String {
        bars(
            &self.title(),
            &self.rows().map(|(who, calls)| (who, f64::from(calls))),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_that_must_come_out() {
        assert!(expected::hold(&figures()), "{:?}", figures());
    }

    #[test]
    fn the_plot_shows_both() {
        let shown = measure(3, 4);
        let svg = shown.svg();
        assert!(svg.contains(">64<") && svg.contains(">4<"), "{svg}");
    }
}

//! `lab all`: the five experiments, each figure beside the one that must come out.

use serde_json::json;

use super::expected::{self, Figure};
use super::experiments::{amplification, breaker, jitter};
use super::{consumer, double_charge, grounds};
use crate::args::Shared;
use crate::exit::Failed;
use crate::output::Output;

pub(super) async fn run(shared: &Shared, output: Output) -> Result<(), Failed> {
    let mut figures: Vec<Figure> = Vec::new();
    figures.extend(amplification::figures());
    figures.extend(jitter::figures());
    figures.extend(breaker::figures());
    figures.extend(double_charge::figures(
        &double_charge::measure(shared).await?,
    ));
    figures.extend(consumer::figures(&consumer::measure(shared).await?));
    let document = json!({ "ok": expected::hold(&figures), "figures": figures });
    output.answer(&document, || {
        let verdict = if expected::hold(&figures) {
            "all figures are those that must come out"
        } else {
            "figures differ"
        };
        let text = format!("{}\n\n{verdict}", expected::text(&figures));
        grounds::noted(shared, text)
    })?;
    expected::judge(&figures, "surefoot lab all")
}

//! `lab amplification`, `lab jitter`, `lab breaker`: small experiments on the production code of `surefoot-policy`, in
//! simulated time. They open no database and call nothing; the same seed gives the same figures.

pub(super) mod amplification;
pub(super) mod breaker;
pub(super) mod jitter;
mod plot;

use std::path::Path;

use crate::exit::{Code, Failed};

/// Writes a plot, where one is asked for.
fn draw(file: Option<&Path>, svg: impl FnOnce() -> String) -> Result<(), Failed> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, svg()).map_err(|error| {
        let what = format!("failed to write {}: {error}", file.display());
        Failed::new(Code::Failed, what, "")
    })
}

/// What an experiment must give, from the same file as the tests of `surefoot-policy`.
#[cfg(test)]
fn expected(experiment: &str) -> serde_json::Value {
    const FIGURES: &str = include_str!("../../../../../surefoot-policy/tests/fixtures/lab.json");
    let figures: serde_json::Value = serde_json::from_str(FIGURES).unwrap();
    figures[experiment]["expected"].clone()
}

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

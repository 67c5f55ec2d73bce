//! `demo`: Black Friday in two acts, with a live view, and a table of both at the end.

mod svg;
mod table;
mod text;
mod view;

use std::sync::Arc;

use surefoot_demo::checkout::{self, CheckoutOptions};
use surefoot_demo::{DemoOptions, Live};

use super::signals::Signals;
use crate::args::{DemoArgs, DemoCheckoutArgs};
use crate::exit::{Code, Failed};
use crate::output::{self, Output};
use view::View;

/// The hidden command that is started as the checkout.
pub(crate) const CHECKOUT: &str = "demo-checkout";

pub(super) async fn run(args: &DemoArgs, output: Output) -> Result<(), Failed> {
    let options = DemoOptions {
        program: std::env::current_exe()?,
        arguments: vec![CHECKOUT.to_owned()],
        seed: args.seed,
        pace: args.pace(),
    };
    let view = Arc::new(View::open(output));
    let watcher = {
        let view = view.clone();
        Arc::new(move |live: &Live| view.show(live))
    };
    let mut signals = Signals::listen()?;
    let done = tokio::select! {
        done = surefoot_demo::run(&options, watcher) => done.map_err(Failed::from),
        () = signals.next() => Err(Failed::new(Code::Stopped, "stopped by a signal", "")),
    };
    view.close();
    let report = done?;
    if let Some(file) = &args.svg {
        std::fs::write(file, svg::draw(&report, &view.history()))?;
    }
    output.answer(&report, || table::text(&report, args))?;
    let misses = report.misses();
    if misses.is_empty() {
        return Ok(());
    }
    Err(Failed::new(
        Code::Failed,
        format!("act two does not hold: {}", misses.join("; ")),
        "this is a fault of Surefoot, or the host is too busy; please report it with the output of: surefoot demo --json",
    ))
}

/// One process of the checkout.
pub(super) async fn checkout(args: DemoCheckoutArgs) -> Result<(), Failed> {
    let options = CheckoutOptions {
        act: args.act,
        provider: args.provider,
        folder: args.folder,
    };
    // Whoever started it waits for a line.
    Ok(checkout::serve(options, output::write_line).await?)
}

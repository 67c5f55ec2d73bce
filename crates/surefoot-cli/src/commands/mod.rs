//! One file for each command. A command opens what it needs, asks, and prints; decisions are core's and the store's.
//!
//! Commands on jobs work on the database itself, so they need no running server.

mod check;
mod cleanup;
mod config;
mod conform;
mod database;
mod dead;
mod demo;
mod descriptors;
mod effects;
mod explain;
mod front_door;
mod jobs;
mod lab;
mod messages;
mod migrate;
mod proxy;
mod queues;
mod replay;
mod requests;
mod review;
mod review_proxy;
mod serve;
mod signals;
mod verification;
mod welcome;

use clap::CommandFactory;

use crate::args::{Cli, Command};
use crate::exit::Failed;
use crate::output::Output;
use database::Place;

/// Runs the command that the arguments name.
///
/// # Errors
/// Why it did not do what it was asked to.
pub(crate) async fn run(cli: Cli) -> Result<(), Failed> {
    let output = Output::new(cli.shared.json);
    let shared = cli.shared;
    match cli.command {
        Command::Serve(args) => serve::run(&shared, &args, output).await,
        Command::Demo(args) => demo::run(&args, output).await,
        Command::DemoCheckout(args) => demo::checkout(args).await,
        Command::Proxy(args) => proxy::run(&shared, &args, output).await,
        Command::Conform(args) => conform::run(&args, output).await,
        Command::Check => check::run(&shared, output),
        Command::Config(command) => config::run(command),
        Command::Migrate => migrate::run(&shared, output).await,
        Command::Jobs(command) => jobs::run(&shared, command, output).await,
        Command::Dead(command) => dead::run(&Place::of_database(&shared)?, command, output).await,
        Command::Effects(command) => {
            effects::run(&Place::of_database(&shared)?, command, output).await
        }
        Command::Requests(command) => {
            requests::run(&Place::of_database(&shared)?, command, output).await
        }
        Command::Messages(command) => {
            messages::run(&Place::of_database(&shared)?, command, output).await
        }
        Command::Queues(command) => {
            queues::run(&Place::of_database(&shared)?, command, output).await
        }
        Command::Lab(command) => lab::run(&shared, command, output).await,
        Command::Completions { shell } => completions(shell),
    }
}

fn completions(shell: clap_complete::Shell) -> Result<(), Failed> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "surefoot", &mut script);
    crate::output::write_line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(())
}

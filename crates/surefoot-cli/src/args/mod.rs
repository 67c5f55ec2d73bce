//! What may stand on the command line. It parses and checks form; it opens nothing and decides nothing.
//!
//! Times are RFC 3339, durations are written as in the configuration, ids as they are printed.

mod config;
mod conform;
mod dead;
mod demo;
mod effects;
mod experiments;
mod jobs;
mod lab;
mod messages;
mod people;
mod proxy;
mod queues;
mod requests;
mod serve;
mod value;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueHint};

pub(crate) use config::ConfigCommand;
pub(crate) use conform::ConformArgs;
pub(crate) use dead::{DeadCommand, EditArgs, IgnoreArgs, ListArgs as DeadListArgs, ReplayArgs};
pub(crate) use demo::{DemoArgs, DemoCheckoutArgs};
pub(crate) use effects::{EffectsCommand, ResolveArgs};
pub(crate) use experiments::{AmplificationArgs, JitterArgs, PlotArgs};
pub(crate) use jobs::{CancelArgs, EnqueueArgs, JobsCommand, ListArgs};
pub(crate) use lab::{
    ChaosArgs, ConsumerManner, FaultsArgs, LabCommand, PaymentManner, PaymentServiceArgs,
    PointsConsumerArgs,
};
pub(crate) use messages::{AppendArgs, MessagesCommand, ParkedArgs, SteerArgs, WhichArgs};
pub(crate) use people::ActorUnknown;
pub(crate) use proxy::ProxyArgs;
pub(crate) use queues::{PauseArgs, QueuesCommand};
pub(crate) use requests::{
    ListArgs as RequestListArgs, RequestsCommand, ResolveArgs as RequestResolveArgs,
    ShowArgs as RequestShowArgs, ToldArgError,
};
pub(crate) use serve::ServeArgs;
pub(crate) use value::PayloadArgError;

/// Every side effect happens once, even when everything fails.
#[derive(Debug, Parser)]
#[command(name = "surefoot", version, propagate_version = true, after_help = crate::exit::TABLE)]
pub(crate) struct Cli {
    /// What all commands share.
    #[command(flatten)]
    pub(crate) shared: Shared,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What all commands share.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Shared {
    /// Print JSON: one document on standard output, errors on standard error
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The database: sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME [default: sqlite:surefoot.db]
    #[arg(
        long,
        global = true,
        env = "SUREFOOT_DATABASE",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(crate) database: Option<String>,
    /// The configuration [default: surefoot.toml, if it is there]
    #[arg(long, global = true, env = "SUREFOOT_CONFIG", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run jobs and serve the HTTP API until a signal to stop
    Serve(ServeArgs),
    /// Black Friday in two acts: the same shop without protection and with Surefoot, while everything breaks
    Demo(DemoArgs),
    /// One process of the demo
    #[command(hide = true)]
    DemoCheckout(DemoCheckoutArgs),
    /// Stand in front of a service and run each request with an Idempotency-Key once, until a signal to stop
    Proxy(Box<ProxyArgs>),
    /// Try an endpoint that takes an Idempotency-Key: what happens to repetitions, storms, mismatches and breaks
    Conform(Box<ConformArgs>),
    /// Check the configuration: every question with its answer, what a job may cost, every fault with its remedy
    Check,
    /// The configuration itself: its schema, for editors
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Create or update the schema of the database
    Migrate,
    /// Hand in jobs and look at them
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Dead letters: jobs that wait for a person
    #[command(subcommand)]
    Dead(DeadCommand),
    /// Effects: what jobs did outside, or may have done
    #[command(subcommand)]
    Effects(EffectsCommand),
    /// Requests of the front door: what is on record, and the word of a person on what nobody knows
    #[command(subcommand)]
    Requests(RequestsCommand),
    /// Messages of the outbox: hand in, look, what is parked, and the word of a person on it
    #[command(subcommand)]
    Messages(MessagesCommand),
    /// Queues: how much waits, pause and resume
    #[command(subcommand)]
    Queues(QueuesCommand),
    /// Break real processes on purpose and count what came of it, and small experiments with policies
    #[command(subcommand)]
    Lab(LabCommand),
    /// Print a completion script for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_a_hint() {
        let table = [
            ("surefoot jbos", "a similar subcommand exists: 'jobs'"),
            (
                "surefoot serve --lisen 127.0.0.1:1",
                "a similar argument exists: '--listen'",
            ),
            (
                "surefoot serve --listen localhost",
                "write an IP address and a port, such as 127.0.0.1:7070",
            ),
            (
                "surefoot jobs show nonsense",
                "not a job id; it looks like 01890a5d-ac96-774b-bcce-b302099a8057",
            ),
            (
                "surefoot jobs enqueue a%b",
                "kind holds the character '%' at byte 1",
            ),
            (
                "surefoot jobs enqueue k --payload {}{}",
                "payload is not JSON at byte 2",
            ),
            ("surefoot jobs enqueue k --in 5", "has no unit after 5"),
            (
                "surefoot jobs enqueue k --priority 101",
                "give a whole number from -100 to 100",
            ),
            (
                "surefoot jobs enqueue k --priority high",
                "give a whole number from -100 to 100",
            ),
            (
                "surefoot dead replay 01890a5d-ac96-774b-bcce-b302099a8057 --max 5 --reason r",
                "cannot be used with",
            ),
            (
                "surefoot dead list --limit 201",
                "give a whole number from 1 to 200",
            ),
            (
                "surefoot jobs enqueue k --run-at tomorrow",
                "is no time; write for example 2026-11-30T10:32:00Z",
            ),
            (
                "surefoot jobs enqueue k --payload 1 --payload-file x",
                "cannot be used with",
            ),
            (
                "surefoot jobs list --state done",
                "[possible values: pending, running, retrying",
            ),
            (
                "surefoot dead replay --reason x",
                "required arguments were not provided",
            ),
            ("surefoot messages append order-17-paid", "--topic <TOPIC>"),
            (
                "surefoot messages skip order-17-paid loyalty",
                "--reason <REASON>",
            ),
            (
                "surefoot messages parked --after 17",
                "not a delivery; it looks like 17:loyalty",
            ),
            (
                "surefoot dead replay 01890a5d-ac96-774b-bcce-b302099a8057",
                "--reason <REASON>",
            ),
            (
                "surefoot dead replay 01890a5d-ac96-774b-bcce-b302099a8057 --fingerprint 0 --reason x",
                "fingerprint",
            ),
            (
                "surefoot dead show 1900f47e16d77e7c",
                "see its letters with: surefoot dead list --fingerprint 1900f47e16d77e7c",
            ),
            (
                "surefoot dead ignore JOB --reason x",
                "not a job id; it looks like 01890a5d-ac96-774b-bcce-b302099a8057",
            ),
            (
                "surefoot conform 127.0.0.1:3000/charges",
                "write a whole URL, such as http://127.0.0.1:8080/charges",
            ),
            (
                "surefoot conform localhost:3000/charges",
                "write a whole URL, such as http://127.0.0.1:8080/charges",
            ),
        ];
        for (line, expected) in table {
            let error = Cli::try_parse_from(line.split(' ')).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(expected), "{line}: {text}");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_help_names_formats_defaults_and_limits() {
        let table = [
            (
                "surefoot jobs enqueue --help",
                "one JSON value; a new job or message without one is given null",
            ),
            (
                "surefoot jobs enqueue --help",
                "The earliest time it runs, such as 2026-11-30T10:32:00Z",
            ),
            ("surefoot jobs enqueue --help", "such as 90s, 15m or 2h30m"),
            ("surefoot jobs enqueue --help", "-100 to 100"),
            (
                "surefoot jobs list --help",
                "[possible values: pending, running, retrying, verifying,",
            ),
            ("surefoot jobs list --help", "1 to 200"),
            (
                "surefoot dead edit --help",
                "[default: $USER, $LOGNAME or $USERNAME]",
            ),
        ];
        for (line, expected) in table {
            let help = Cli::try_parse_from(line.split(' '))
                .unwrap_err()
                .to_string();
            let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words.contains(expected), "{line}: {words}");
        }
    }

    #[test]
    fn common_options_may_stand_anywhere() {
        let lines = [
            "surefoot --json jobs list",
            "surefoot jobs --json list",
            "surefoot jobs list --json",
        ];
        for line in lines {
            assert!(
                Cli::try_parse_from(line.split(' ')).unwrap().shared.json,
                "{line}"
            );
        }
    }
}

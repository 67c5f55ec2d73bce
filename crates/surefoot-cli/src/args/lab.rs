//! `lab`.

use std::path::PathBuf;

use surefoot_lab::{Database, chaos, faults};

use super::experiments::{AmplificationArgs, JitterArgs, PlotArgs};

/// What `lab` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum LabCommand {
    /// The fault matrix: five faults, Surefoot beside a plain retrying loop
    Faults(FaultsArgs),
    /// `kill -9` at random moments, round after round
    Chaos(ChaosArgs),
    /// One process of the plain loop
    #[command(hide = true)]
    PlainWorker(PlainWorkerArgs),
    /// Two requests with one key at the same moment: check-then-act beside claim-first
    DoubleCharge,
    /// A consumer of events that dies before it commits its offset: naive beside idempotent
    Consumer,
    /// The five experiments, each figure beside the one that must come out; `lab breaker` and so on say what theirs mean
    All,
    /// A payment service
    #[command(hide = true)]
    PaymentService(PaymentServiceArgs),
    /// One process of a consumer of events
    #[command(hide = true)]
    PointsConsumer(PointsConsumerArgs),
    /// How many calls reach a dead service when several layers retry
    Amplification(AmplificationArgs),
    /// How clients that failed together come back: all at once, or spread
    Jitter(JitterArgs),
    /// What a breaker does while a service is down and comes back
    Breaker(PlotArgs),
}

/// Arguments of `lab faults`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FaultsArgs {
    /// How many intents each contestant gets for each fault
    #[arg(long, default_value_t = 50, value_name = "COUNT", value_parser = counts(faults::INTENTS_MAX))]
    pub(crate) intents: usize,
}

/// Arguments of `lab chaos`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ChaosArgs {
    /// Repeats the schedule of an earlier run [default: a new one, which is told]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// How often a node is killed
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = counts(chaos::ROUNDS_MAX))]
    pub(crate) rounds: usize,
    /// How many nodes there are
    #[arg(long, default_value_t = 1, value_name = "COUNT", value_parser = counts(chaos::NODES_MAX))]
    pub(crate) nodes: usize,
    /// An empty PostgreSQL database, which is filled [default: a temporary SQLite file]
    #[arg(long, value_name = "URL")]
    pub(crate) postgres: Option<String>,
}

/// Arguments of `lab plain-worker`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlainWorkerArgs {
    /// The SQLite file with the rows
    pub(crate) rows: PathBuf,
    /// The provider's URL
    pub(crate) provider: String,
}

/// Arguments of `lab payment-service`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PaymentServiceArgs {
    /// What it does with a key
    pub(crate) manner: PaymentManner,
    /// The database of its payments
    #[arg(value_parser = database)]
    pub(crate) payments: Database,
    /// The provider's URL
    pub(crate) provider: String,
}

/// What a payment service does with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PaymentManner {
    /// It looks for the key, charges, and writes the payment down
    CheckThenAct,
    /// Nothing
    ChargeOnly,
}

/// Arguments of `lab points-consumer`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PointsConsumerArgs {
    /// What it asks about an event
    pub(crate) manner: ConsumerManner,
    /// The database of the account
    #[arg(value_parser = database)]
    pub(crate) account: Database,
    /// The broker's URL
    pub(crate) broker: String,
}

/// What a consumer asks about an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ConsumerManner {
    /// Nothing
    Naive,
    /// Whether it is new, in the transaction that applies it
    Idempotent,
}

/// The database of an experiment.
fn database(url: &str) -> Result<Database, String> {
    Database::parse(url).ok_or_else(|| "write sqlite:PATH or postgres://...".to_owned())
}

/// 1 to `most`.
fn counts(most: usize) -> impl Fn(&str) -> Result<usize, String> + Clone {
    move |text: &str| match text.parse() {
        Ok(count) if (1..=most).contains(&count) => Ok(count),
        Ok(_) | Err(_) => Err(format!("give a whole number from 1 to {most}")),
    }
}

//! `messages`.

use surefoot_core::id::{MessageId, OrderKey, SinkName, Tenant, Topic};
use surefoot_core::port::DeliveryId;

use super::jobs::limit;
use super::people::ByArgs;
use super::value::PayloadArgs;

/// What `messages` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum MessagesCommand {
    /// Append a message to the outbox; the same one is never appended twice
    Append(AppendArgs),
    /// Show one message with what became of it at each sink, and what people did
    Show {
        #[command(flatten)]
        which: WhichArgs,
    },
    /// List parked deliveries, in the order in which their messages arrived
    Parked(ParkedArgs),
    /// Try a parked delivery again, with its counts at zero
    Again(SteerArgs),
    /// End a parked delivery: its sink does not get the message, and those behind it under its key go on
    Skip(SteerArgs),
    /// List sinks: how much is open for each, and how long
    Sinks,
}

/// Which message.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct WhichArgs {
    /// The message's id
    #[arg(value_name = "MESSAGE")]
    pub(crate) id: MessageId,
    /// Whose it is: an id counts within one tenant
    #[arg(long, default_value = "default")]
    pub(crate) tenant: Tenant,
}

/// Arguments of `messages append`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct AppendArgs {
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// What it is about; sinks choose by it
    #[arg(long)]
    pub(crate) topic: Topic,
    /// Messages of one key are delivered to each sink one after the other, in their order
    #[arg(long)]
    pub(crate) key: Option<OrderKey>,
    #[command(flatten)]
    pub(crate) payload: PayloadArgs,
}

/// Arguments of `messages parked`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ParkedArgs {
    /// Only deliveries to this sink
    #[arg(long)]
    pub(crate) sink: Option<SinkName>,
    /// Only deliveries after this one: the last one of the page before
    #[arg(long, value_name = "NUMBER:SINK")]
    pub(crate) after: Option<DeliveryId>,
    /// How many at most, 1 to 200
    #[arg(long, default_value_t = 50, value_parser = limit)]
    pub(crate) limit: u32,
}

/// Arguments of `messages again` and `messages skip`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SteerArgs {
    #[command(flatten)]
    pub(crate) which: WhichArgs,
    /// To which sink
    pub(crate) sink: SinkName,
    #[command(flatten)]
    pub(crate) by: ByArgs,
}

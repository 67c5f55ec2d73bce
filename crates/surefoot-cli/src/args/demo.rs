//! `demo`, and the process of it that is killed.

use std::path::PathBuf;

use clap::ValueHint;
use surefoot_demo::{Act, Pace};

/// What `demo --help` says of its figures.
const FIGURES: &str = "\
What it shows, in both acts: a shop sells while its payment provider goes from 800 ms to 25 s, resets connections, charges \
without answering, and recovers; the checkout is killed (kill -9) with payments in flight. One second of the story lasts a \
quarter of a second. Everything runs over HTTP on free ports of the loopback, on SQLite in a temporary folder; the figures \
come from the provider's books and from what customers and visitors were answered.

Figures:
  user intents       what customers wanted: one for each order, however often
                     it was clicked
  provider calls     calls that reached the provider and were to charge
  questions          what became of a call: they charge nothing, and are no
                     calls in the rows around
  amplification      such calls for each intent, of the intents of the outage
                     (slow, resets, drops, kill)
  charged twice      intents for which the books show more than one charge
  lost               intents whose customer was told that it is paid though
                     the books show no charge, or was never told what became
                     of it: neither an outcome nor that a person looks into it
  charged, and told  intents that the books show as charged and whose customer
  nothing            was told nothing, or that it was refused
  page availability  the share of page views that showed a page within
                     2.5 s, 10 s of the story
  p99 to an answer   from the click to the first answer that says how it stands
                     (paid, refused, or being worked on and where to look), or
                     to giving up, in real seconds
  p99 to a known     the same to an answer that says how it ended: paid,
  outcome            refused, or for a person to look into; or to giving up

The same seed gives the same customers and the same whims of the provider, so intents, charged twice and lost are the same in \
every run. By the clock and the load of the host may differ: p99, page availability, the number of questions, and, by the few \
calls that the kill cuts off, the provider calls and amplification of act one.

It ends with 1 when act two charges anybody twice, loses an intent, needs more than 1.1 calls for an intent of the outage, or \
serves 99.9 % of the page views or less.";

/// Arguments of `demo`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = FIGURES)]
pub(crate) struct DemoArgs {
    /// As few customers as show it all: about a minute for both acts
    #[arg(long)]
    pub(crate) fast: bool,
    /// Where every random choice comes from
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    pub(crate) seed: u64,
    /// Draw both acts into this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) svg: Option<PathBuf>,
}

/// Arguments of `demo-checkout`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DemoCheckoutArgs {
    /// Which act
    #[arg(value_parser = act)]
    pub(crate) act: Act,
    /// The provider's URL
    pub(crate) provider: String,
    /// Where it keeps what it knows
    pub(crate) folder: PathBuf,
}

impl DemoArgs {
    pub(crate) const fn pace(&self) -> Pace {
        if self.fast { Pace::Fast } else { Pace::Full }
    }
}

fn act(text: &str) -> Result<Act, String> {
    let names = Act::ALL.map(Act::name).join(" or ");
    Act::parse(text).ok_or_else(|| format!("give {names}"))
}

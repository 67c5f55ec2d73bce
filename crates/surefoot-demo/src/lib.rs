//! Black Friday in two acts: `surefoot demo`. A small shop sells while its payment provider grows slow, resets connections,
//! charges without answering, and recovers; the checkout is killed in the middle. Act one is the shop without protection,
//! act two the same shop with Surefoot.
//!
//! Nothing is staged: both acts run over HTTP on the loopback, the checkout is a process that is really killed, and every
//! figure comes from the provider's own books or from what customers and visitors were answered. What the provider
//! does with a call depends on the seed, the order and on which call of that order it is, never on the clock.
//!
//! It uses Surefoot as a stranger would. The parts:
//!
//! - [`plan`]: who buys what, and what the provider makes of it. [`times`]: every time, beside that of the story.
//! - [`provider`], [`widget`]: what the shop calls. [`checkout`], [`pages`]: the shop, in both ways. [`gateway`]: what
//!   stands before it. [`customers`], [`visitors`]: who uses it.
//! - [`act`] puts one act on, [`report`] says how it went, [`live`] what it looks like meanwhile.

mod act;
pub mod checkout;
mod child;
mod customers;
mod error;
mod gateway;
mod listen;
mod live;
mod outbound;
mod pages;
mod plan;
mod provider;
mod report;
mod shop_process;
mod times;
mod visitors;
mod watching;
mod widget;

use std::path::PathBuf;

pub use act::Act;
pub use error::DemoError;
pub use live::{Live, Watcher};
pub use plan::{Pace, Phase};
pub use report::{ActReport, Report};

/// What a demo is made of.
#[derive(Clone, Debug)]
pub struct DemoOptions {
    /// The program that is started as the checkout.
    pub program: PathBuf,
    /// The arguments before those of [`checkout::CheckoutOptions::arguments`].
    pub arguments: Vec<String>,
    /// Where every random choice comes from.
    pub seed: u64,
    /// How many buy.
    pub pace: Pace,
}

/// Puts both acts on, one after the other, and says how they went. `watcher` is told several times a second what it looks
/// like. Dropping the future ends what was started.
///
/// # Errors
/// What kept an act from being put on. A figure that is bad is no error.
pub async fn run(options: &DemoOptions, watcher: Watcher) -> Result<Report, DemoError> {
    let plain = act::put_on(Act::Plain, options, &watcher).await?;
    let guarded = act::put_on(Act::Guarded, options, &watcher).await?;
    Ok(Report {
        acts: [plain, guarded],
    })
}

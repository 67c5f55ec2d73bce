//! The claim, lease and effect protocol, explored exhaustively: every order in which two workers, a provider, webhooks,
//! a person and time can act on one job with one effect, over the core's own decisions and the real store in memory.
//!
//! Between any two steps a worker may be frozen for any time (the others go on), crash, or find its write taken effect and
//! its answer lost. Nothing here may decide what the core decides: a model of a model proves nothing.

mod act;
mod around;
mod call;
mod check;
mod explore;
mod provider;
mod quiet;
mod seen;
mod setup;
mod step;
mod worker;
mod world;

pub use explore::{Explored, Violation, explore, hunt};
pub use setup::{Keeps, Limits, Setup};

use surefoot_core::effect::VerifyPlan;
use surefoot_core::policy::JobPolicy;

/// What is explored, with what every step needs.
struct Protocol {
    setup: Setup,
    names: setup::Names,
    policy: JobPolicy,
    plan: VerifyPlan,
    seen: std::sync::Arc<seen::Seen>,
    arrived: quiet::Arrived,
}

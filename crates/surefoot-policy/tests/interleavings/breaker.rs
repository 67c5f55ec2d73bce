//! The breaker's sources as they are, without their own tests.
#![expect(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the sources offer more than is explored, to more readers than there are here"
)]

#[path = "../../src/breaker/kinds.rs"]
mod kinds;
#[path = "../../src/breaker/options.rs"]
mod options;
#[path = "../../src/breaker/permit.rs"]
mod permit;
#[path = "../../src/breaker/probes.rs"]
mod probes;
#[path = "../../src/breaker/state.rs"]
mod state;
#[path = "../../src/breaker/view.rs"]
mod view;
#[path = "../../src/breaker/word.rs"]
mod word;

pub use kinds::{BreakerState, Evidence, Force, Refusal, Transition};
pub use options::{BreakerMode, BreakerOptions, PROBES_MAX};
pub use permit::Permit;
pub use state::Breaker;

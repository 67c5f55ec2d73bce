//! Small experiments that show what the parts do, with the figures that must come out. They run the production
//! code in simulated time, need no runtime, and give the same figures for the same seed.

mod amplification;
mod breaker;
mod jitter;

pub use amplification::amplification;
pub use breaker::{Step, TraceRow, breaker_trace};
pub use jitter::{Spread, herd};

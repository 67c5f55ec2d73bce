//! The plain retrying loop that Surefoot is measured beside: claim a row, call, mark it; on any error try again later; a
//! row whose claim ran out is claimed again. Most queues are this loop. It is written as well as such a loop is: claims
//! are atomic and durable, calls time out before claims run out, tries are bounded and spaced.
//!
//! What it does not have is what this project is about: it knows "failed", not "unknown"; and its mark does not say
//! under which claim it is made.
//!
//! Beside it stand the parts of the experiments as they are usually written: a service that takes payments ([`payments`]) and a
//! consumer of events ([`points`]).

pub mod payments;
pub mod points;
mod table;
mod worker;

pub(crate) use table::{Row, Table};
pub use worker::{WorkerOptions, work};

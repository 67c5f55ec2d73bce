//! Programs: lists of operations over the port that run on any store and leave a transcript. The same program has the
//! same transcript on every store; a difference is a fault of one of them. Nothing here may depend on a clock, on
//! chance outside the seed, or on what the port leaves open.

mod draft;
mod effects;
mod machine;
mod news;
mod op;
mod requests;
mod same;
mod take;

use std::sync::Arc;

use proptest::strategy::Strategy;
use surefoot_core::port::Store;

use machine::Machine;
use op::Op;
pub use requests::{request_program, same_requests_as_model};
pub use same::{drawn, same_as_model};

/// Operations to be carried out one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    ops: Vec<Op>,
}

/// The most operations that a drawn program has.
pub const OPS_MAX: usize = 80;

/// Programs of up to `ops_max` operations: few keys, kinds and queues, so that everything meets everything.
pub fn programs(ops_max: usize) -> impl Strategy<Value = Program> {
    proptest::collection::vec(op::op(), 1..=ops_max.max(1)).prop_map(|ops| Program { ops })
}

/// Runs a program over an empty store: a line for what each operation answered, then everything that is on record.
/// Ids are written `j1`, `j2`, .. in the order in which the program made them.
///
/// # Panics
/// When a verb errs: no operation of a program gives a sound store a reason to.
pub async fn run(store: Arc<dyn Store>, program: &Program) -> Vec<String> {
    let mut machine = Machine::new(store);
    for op in &program.ops {
        machine.step(op).await;
    }
    machine.finish().await
}

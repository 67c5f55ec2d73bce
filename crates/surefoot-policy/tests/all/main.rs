//! Properties of the policy stack, its figures, and its doors. One binary, fully parallel.

mod allocations;
mod lab;
mod outage;
mod properties;
mod races;

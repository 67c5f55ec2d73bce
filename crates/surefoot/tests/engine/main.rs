//! The engine from outside: in virtual time over the store in memory, but for the few tests that need real threads.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod basics;
mod checklist;
mod crash;
mod drain;
mod effects;
mod effects_faults;
mod effects_flow;
mod effects_pull;
mod effects_witness;
mod effects_world;
mod faults;
mod flow;
mod idle;
mod panics;
mod picky;
mod pull;
mod real_time;
mod relay;
mod relay_killed;
mod relay_sqlite;
mod retry;
mod sqlite;
mod symptoms;
mod timeouts;
mod watch;
mod world;

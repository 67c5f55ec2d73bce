//! The engine from outside: in virtual time over the store in memory, but for the few tests that need real threads.

mod basics;
mod crash;
mod drain;
mod flow;
mod panics;
mod pull;
mod real_time;
mod retry;
mod timeouts;
mod watch;
mod world;

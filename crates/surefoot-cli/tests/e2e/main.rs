//! The real binary, started as a process and used from outside: over HTTP, on its command line, by signals.
//! A test ends every process that it started, by its id, also when it fails.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it expects"
)]

mod api;
mod asking;
mod check;
mod config_schema;
mod conform;
mod crash;
mod dead_letters;
mod demo;
mod dependencies;
mod drain;
mod effects;
mod front_door;
mod http_kinds;
mod jobs_command;
mod lab;
mod messages;
mod postgres;
mod process;
mod proxy;
mod pull_workers;
mod refusals;
mod requests_killed;
mod requests_many;
mod telemetry;

//! The configuration: one TOML file, read whole, checked whole. Every fault of a file is reported at once, each with
//! file, line, column, what is wrong and what to do; nothing is guessed and no unknown key is passed over.
//!
//! - [`load`] reads a file, [`parse`] a text. What comes out of them has been checked.
//! - One file for each section: [`server`], [`engine`], [`telemetry`], [`dependency`] with [`policy`], [`job`] with [`backoff`] and [`recovery`],
//!   [`answers`] in words. [`facts`]: what the checklist of core is asked with.
//! - [`section`] reads fields, [`duration`] durations, [`environment`] fills `${NAME}`, [`fault`] reports, [`excerpt`]
//!   shows the place.

mod answers;
mod backoff;
mod dependency;
pub(crate) mod duration;
mod engine;
mod environment;
mod excerpt;
mod facts;
mod fault;
mod file;
mod job;
mod policy;
mod policy_fault;
mod recovery;
mod section;
mod server;
mod telemetry;

pub(crate) use dependency::Dependency;
pub(crate) use fault::{Placed, Unloadable};
pub(crate) use file::{Config, LoadError, database_url, load, load_database};
pub(crate) use job::{JobKind, Request};
pub(crate) use recovery::{KEY, RequestRecovery, Verification};
pub(crate) use telemetry::LogFormat;

#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod recovery_tests;
#[cfg(test)]
mod tests;

//! The configuration: one TOML file, read whole, checked whole. Every fault of a file is reported at once, each with
//! file, line, column, what is wrong and what to do; nothing is guessed and no unknown key is passed over.
//!
//! - [`load`] reads a file, [`parse`] a text. What comes out of them has been checked.
//! - One file for each section: [`server`], [`engine`], [`telemetry`], [`dependency`] with [`policy`], [`job`] with
//!   [`backoff`] and [`recovery`], [`answers`] in words. [`facts`]: what the checklist of core is asked with.
//! - [`proxy`] with [`route`], [`route_list`] and [`tenants`]: the front door.
//! - [`keys`] declares every key, once; [`schema`] publishes them for editors.
//! - [`section`] reads fields into a [`field`], [`value`] what stands there, [`duration`] durations, [`environment`] fills
//!   `${NAME}`, [`fault`] reports, [`key_at`] says which key is meant, [`excerpt`] shows the place.

mod answers;
mod backoff;
mod dependency;
pub(crate) mod duration;
mod engine;
mod environment;
mod excerpt;
mod facts;
mod fault;
mod field;
mod file;
mod job;
mod key_at;
mod keys;
mod policy;
mod policy_fault;
mod proxy;
mod recovery;
mod route;
mod route_list;
pub(crate) mod schema;
mod section;
mod server;
mod telemetry;
mod tenants;
mod value;

pub(crate) use dependency::Dependency;
pub(crate) use fault::{Placed, Unloadable};
pub(crate) use file::{Config, LoadError, database_url, load, load_database, load_proxy};
pub(crate) use job::{JobKind, Request};
pub(crate) use proxy::{ProxySection, documentation};
pub(crate) use recovery::{CallRecovery, KEY, Verification};
pub(crate) use route::RouteKeys;
pub(crate) use route_list::RouteEntry;
pub(crate) use telemetry::LogFormat;
pub(crate) use tenants::TenantKeys;

#[cfg(test)]
mod answers_tests;
#[cfg(test)]
mod mutated_tests;
#[cfg(test)]
mod policy_tests;
#[cfg(test)]
mod proxy_tests;
#[cfg(test)]
mod recovery_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;

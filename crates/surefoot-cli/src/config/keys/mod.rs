//! Every key of the configuration, once: what may stand there, what it does, what holds without it. The parser reads no
//! key that is not here, the published schema is made of this, and tests hold parser, schema and document together.
//!
//! - [`shape`]: the words in which it is said, [`pattern`]: the forms of texts.
//! - One file for each section: [`node`] has the small ones, [`job`] with [`recovery`], [`dependency`] with [`policy`],
//!   [`breaker`] and [`fallback`], [`proxy`] with [`route`].

mod breaker;
mod dependency;
mod fallback;
mod job;
mod node;
mod pattern;
mod policy;
mod proxy;
mod recovery;
mod route;
mod shape;

use std::sync::LazyLock;

pub(super) use shape::{Key, Shape, Table};

static FILE: LazyLock<Table> = LazyLock::new(|| {
    let mut keys = node::keys();
    keys.extend([proxy::key(), dependency::key(), job::key()]);
    Table::new("The configuration of surefoot.", keys)
});

/// The whole file.
pub(super) fn file() -> &'static Table {
    &FILE
}

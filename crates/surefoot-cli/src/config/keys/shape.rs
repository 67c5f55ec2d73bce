//! What a configuration may say, as data: tables, their keys, and what may stand at each. It describes form only; what
//! values mean together is not its business.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use crate::config::duration::written;

/// A table whose keys are known.
pub(in crate::config) struct Table {
    /// What it is for.
    pub(in crate::config) what: String,
    /// Its keys.
    pub(in crate::config) keys: Vec<Key>,
}

/// One key of a table.
pub(in crate::config) struct Key {
    pub(in crate::config) name: &'static str,
    /// What it does, with its unit and what is not said by its shape.
    pub(in crate::config) what: String,
    /// What may stand there.
    pub(in crate::config) shape: Shape,
    /// Whether its table cannot do without it.
    pub(in crate::config) required: bool,
    /// What holds when it is not there, where that is one value.
    pub(in crate::config) default: Option<Value>,
    /// The keys of the same table that have to be there when this one is.
    pub(in crate::config) needs: &'static [&'static str],
}

/// What may stand at a place.
pub(in crate::config) enum Shape {
    /// Any text that this pattern fits: one that JavaScript and Rust read alike, without look-around.
    Text(String),
    /// One of these words.
    Words(Vec<&'static str>),
    /// A duration in quotes.
    Duration {
        /// Whether it may be zero.
        zero: bool,
        /// Whether microseconds and nanoseconds are taken, as in the policies of dependencies.
        fine: bool,
    },
    /// A whole number.
    Count(RangeInclusive<u64>),
    /// A number, whole or not.
    Number {
        least: f64,
        /// Whether `least` itself is out of bounds.
        above: bool,
        most: Option<f64>,
    },
    /// True or false.
    Truth,
    /// A list of so many.
    List(Box<Shape>, RangeInclusive<usize>),
    /// A table with known keys.
    Table(Table),
    /// A table whose keys are names that fit a pattern, such as the `[job.KIND]` sections: what stands at each of them.
    Named(String, Box<Shape>),
    /// Any one of these.
    AnyOf(Vec<Shape>),
}

impl Table {
    pub(super) fn new(what: impl Into<String>, keys: Vec<Key>) -> Self {
        Self {
            what: what.into(),
            keys,
        }
    }

    /// Whether it has this key.
    pub(in crate::config) fn has(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }
}

impl Key {
    /// One that need not be there.
    pub(super) fn new(name: &'static str, shape: Shape, what: impl Into<String>) -> Self {
        Self {
            name,
            what: what.into(),
            shape,
            required: false,
            default: None,
            needs: &[],
        }
    }

    /// The same, and its table cannot do without it.
    pub(super) fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    /// The same, with what holds when it is not there.
    pub(super) fn or(self, default: impl Into<Value>) -> Self {
        Self {
            default: Some(default.into()),
            ..self
        }
    }

    /// The same, with a duration that holds when it is not there.
    pub(super) fn or_time(self, default: Duration) -> Self {
        self.or(written(default))
    }

    /// The same, and with it these keys of its table have to be there.
    pub(super) fn with(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }
}

impl Shape {
    /// A text that this pattern fits.
    pub(super) fn text(pattern: impl Into<String>) -> Self {
        Self::Text(pattern.into())
    }

    /// A duration above zero.
    pub(super) const fn time() -> Self {
        Self::Duration {
            zero: false,
            fine: false,
        }
    }

    /// A duration that may be zero.
    pub(super) const fn time_or_zero() -> Self {
        Self::Duration {
            zero: true,
            fine: false,
        }
    }

    /// A whole number within a range of the parser.
    pub(super) fn count(range: RangeInclusive<u32>) -> Self {
        Self::Count(u64::from(*range.start())..=u64::from(*range.end()))
    }

    /// A list.
    pub(super) fn list(item: Shape, entries: RangeInclusive<usize>) -> Self {
        Self::List(Box::new(item), entries)
    }

    /// A table whose keys are names.
    pub(super) fn named(pattern: impl Into<String>, each: Shape) -> Self {
        Self::Named(pattern.into(), Box::new(each))
    }

    /// The tables that may stand here, or in a list or under a name here.
    pub(in crate::config) fn tables(&self) -> Vec<&Table> {
        match self {
            Self::Table(table) => vec![table],
            Self::List(each, _) | Self::Named(_, each) => each.tables(),
            Self::AnyOf(shapes) => shapes.iter().flat_map(Self::tables).collect(),
            Self::Text(_)
            | Self::Words(_)
            | Self::Duration { .. }
            | Self::Count(_)
            | Self::Number { .. }
            | Self::Truth => Vec::new(),
        }
    }
}

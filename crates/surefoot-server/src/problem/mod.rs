//! RFC 9457 problem documents. [`kind`] lists every kind there is, [`map`] says which refusal or fault becomes
//! which, [`document`] writes them, [`page`] explains each under its own type URI.

mod document;
pub(crate) mod kind;
mod map;
pub(crate) mod page;

pub(crate) use document::{CONTENT_TYPE, Problem, ProblemDocument, render};
pub(crate) use map::{method_not_allowed, panicked, unknown_route};

//! An effect as a text document, the same in every SQL store: a store keeps what it searches by in columns of its own
//! and all that is known of the effect in one document, which reads back exactly as it was written.
//!
//! [`encode`] and [`decode`] are the way in and out; `document` is the shape. What must never happen here: a number that
//! goes through floating point, a payload that changes by a byte, and a document that reads back as something else than
//! what was written.

mod decode;
mod document;
mod encode;
#[cfg(test)]
mod tests;

pub(crate) use decode::{decode, witness};
pub(crate) use document::Witness as WitnessDocument;
pub(crate) use encode::{encode, witness as witness_document};

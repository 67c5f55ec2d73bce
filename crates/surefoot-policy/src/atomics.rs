//! The atomics of the states whose interleavings are explored one by one: those of std. `tests/interleavings` reads the
//! same sources over loom's; nothing in them asks which they are.

pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

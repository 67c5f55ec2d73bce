//! What a failed call means: is it worth trying again, and may it have been applied all the same?
//! The two questions are answered apart, because a fault that passes (a gateway time-out) can hide
//! a call that went through. Nothing here decides what to do; it only reads the evidence.

mod class;
mod http;
mod io;
mod sqlstate;

pub use class::{Certainty, Class};
pub use http::{HttpClass, http_status, http_status_keyed};
pub use io::{io, io_certainty};
pub use sqlstate::sqlstate;

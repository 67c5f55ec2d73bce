//! One request of the front door, from its claim to the answer that every repetition gets. What may be done about it is
//! decided here, by pure functions of the record, the time and what is told: [`arrive`] when a request comes in,
//! [`finish`] when its handler ends, [`lapse`] when its holder is gone, [`asked`] and [`witnessed`] when somebody says
//! what became of it. Stores only keep what was decided ([`crate::port::Requests`]). Nothing here reads HTTP off a wire,
//! waits or reads a clock.
//!
//! - [`RequestKey`], [`Identity`], [`Operation`], [`Fingerprint`]: what was asked, and whether it is the same.
//! - [`Clocks`], [`RequestPolicy`], [`HeaderAllowList`]: how a route is guarded. [`Kept`]: what is kept of its answer.
//!
//! A key that was seen is never started a second time unless a witness, or the handler itself, said that nothing happened.

mod arrive;
mod clocks;
mod dispute;
mod fingerprint;
mod finish;
mod headers;
mod identity;
mod key;
mod policy;
mod response;
mod state;
mod told;
mod verdict;

pub use arrive::{Arrived, NewRequest, RETRY_AFTER_MAX, RETRY_AFTER_MIN, arrive};
pub use clocks::{CLOCK_MAX, Clocks, Horizon};
pub use fingerprint::{
    Content, FIELD_NAME_BYTES_MAX, FIELDS_MAX, FIELDS_NAMED_MAX, FINGERPRINT_VERSION, FieldDigest,
    Fingerprint,
};
pub use finish::{End, Finish, extend, finish, lapse};
pub use headers::{HEADERS_MAX, HeaderAllowList, HeaderRefused};
pub use identity::{Identity, Operation, RequestId, RequestIdError};
pub use key::{KEY_BYTES_MAX, KeyRefused, RequestKey};
pub use policy::{Answer, BODY_BYTES_MAX, Body, HEADER_BYTES_MAX, Keep, RequestPolicy};
pub use response::{Kept, NotKept, StoredResponse, Tombstone};
pub use state::{Request, RequestState, RequestStateName};
pub use told::ToldRefused;
pub use verdict::{RequestVerdict, Witnessed, asked, witnessed};

#[cfg(test)]
mod tests;

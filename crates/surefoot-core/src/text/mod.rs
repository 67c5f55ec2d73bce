//! Error texts that any store can keep, and the fingerprint that groups them. Both take whatever a
//! program or a provider said: nothing in here fails.

mod error_text;
mod fingerprint;
mod normal;

pub use error_text::{ERROR_TEXT_BYTES_MAX, ErrorText};
pub use fingerprint::{ErrorFingerprint, NotAFingerprint, fingerprint};

//! What is handed in: a refund under a name that the provider's books go by.

use serde_json::{Value, json};

/// What every intent asks for.
pub(crate) const AMOUNT: u64 = 1;
/// What is asked for when a key is handed in again with another payload.
pub(crate) const OTHER_AMOUNT: u64 = 2;

/// The payload, which is also the body of the call.
pub(crate) fn payload(intent: &str, amount: u64) -> Value {
    json!({ "intent": intent, "amount": amount })
}

//! A request as it arrives, in its plainest form, for tests that are not about what was asked.

#![expect(
    clippy::expect_used,
    reason = "what is written here fits, and a test fails by a panic"
)]

use surefoot_core::id::{Tenant, Worker};
use surefoot_core::request::{
    Clocks, Content, Fingerprint, Identity, NewRequest, Operation, RequestId, RequestKey,
};
use surefoot_core::time::Timestamp;

/// `POST /payments` with the body `100` under this key, arriving at `now`. Ids of the same time differ by their number.
///
/// # Panics
/// The key does not fit its bounds.
#[must_use]
pub fn arrival(key: &str, number: u8, now: Timestamp) -> NewRequest {
    let identity = Identity {
        tenant: Tenant::single(),
        key: RequestKey::new(key).expect("a key"),
    };
    let operation = Operation::new("POST", "/payments").expect("an operation");
    let content = Content {
        operation: &operation,
        path: "/payments",
        query: None,
        content_type: None,
        body: b"100",
    };
    NewRequest {
        id: RequestId::new(now, [number; 10]),
        fingerprint: Fingerprint::of(&identity, &content),
        identity,
        operation,
        clocks: Clocks::default(),
        holder: Worker::new("node-1").expect("a worker"),
    }
}

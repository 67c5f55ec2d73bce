//! The few names that programs use, and a job as a program spells it.

use std::time::Duration;

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use surefoot_core::id::{ConcurrencyKey, JobId, Key, Kind, OrderKey, Queue, Tenant};
use surefoot_core::payload::Payload;
use surefoot_core::port::NewJob;
use surefoot_core::time::Timestamp;

/// Payloads; the first two are the same value in two spellings.
const PAYLOADS: [&str; 4] = [
    r#"{"a":1,"b":2}"#,
    r#" {"b":2, "a":1} "#,
    r#"{"a":9007199254740993}"#,
    r#""\u0000\ud800""#,
];

/// A job to enqueue; small numbers stand for names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) tenant: u8,
    pub(super) kind: u8,
    pub(super) key: Option<u8>,
    pub(super) queue: u8,
    pub(super) priority: i8,
    pub(super) order_key: Option<u8>,
    pub(super) concurrency_key: Option<u8>,
    pub(super) payload: u8,
    pub(super) run_in: Option<u16>,
    pub(super) deadline_in: Option<u16>,
}

pub(super) fn draft() -> impl Strategy<Value = Draft> {
    let identity = (rarely(1), 0..3_u8, often(0..6), 0..2_u8);
    let flow = (-1..=1_i8, often(0..2), often(0..2));
    let rest = (0..4_u8, seldom(0..120_u16), seldom(1..240_u16));
    (identity, flow, rest).prop_map(|(identity, flow, rest)| Draft {
        tenant: identity.0,
        kind: identity.1,
        key: identity.2,
        queue: identity.3,
        priority: flow.0,
        order_key: flow.1,
        concurrency_key: flow.2,
        payload: rest.0,
        run_in: rest.1,
        deadline_in: rest.2,
    })
}

/// 0, or one time in eight `other`.
pub(super) fn rarely(other: u8) -> impl Strategy<Value = u8> {
    prop_oneof![7 => Just(0), 1 => Just(other)]
}

fn often(values: std::ops::Range<u8>) -> impl Strategy<Value = Option<u8>> {
    prop_oneof![1 => Just(None), 2 => values.prop_map(Some)]
}

fn seldom(values: std::ops::Range<u16>) -> impl Strategy<Value = Option<u16>> {
    (any::<[bool; 2]>(), values).prop_map(|(coins, value)| (coins == [true, true]).then_some(value))
}

impl Draft {
    pub(super) fn job(&self, id: JobId, now: Timestamp) -> NewJob {
        let later = |seconds: u16| now.after(Duration::from_secs(seconds.into()));
        NewJob {
            id,
            tenant: tenant(self.tenant),
            kind: kind(self.kind),
            key: self.key.map(|n| name(Key::new(format!("k{n}")))),
            queue: queue(self.queue),
            priority: self.priority.into(),
            order_key: self.order_key.map(|n| name(OrderKey::new(format!("o{n}")))),
            concurrency_key: self
                .concurrency_key
                .map(|n| name(ConcurrencyKey::new(format!("c{n}")))),
            payload: payload(self.payload),
            trace: None,
            run_at: self.run_in.map(later),
            deadline_at: self.deadline_in.map(later),
        }
    }
}

pub(super) fn tenant(number: u8) -> Tenant {
    name(Tenant::new(format!("t{number}")))
}

pub(super) fn kind(number: u8) -> Kind {
    name(Kind::new(format!("kind-{number}")))
}

pub(super) fn queue(number: u8) -> Queue {
    name(Queue::new(format!("queue-{number}")))
}

pub(super) fn payload(number: u8) -> Payload {
    Payload::from_store(PAYLOADS[usize::from(number) % PAYLOADS.len()].to_owned())
}

/// A name that is made here and fits its alphabet.
pub(super) fn name<T, E: std::fmt::Debug>(made: Result<T, E>) -> T {
    match made {
        Ok(name) => name,
        Err(error) => unreachable!("the names of programs are legal: {error:?}"),
    }
}

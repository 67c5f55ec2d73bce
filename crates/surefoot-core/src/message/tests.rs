//! Tables: the answer of a sink beside what follows from it.

use std::time::Duration;

use super::*;
use crate::backoff::{Backoff, Jitter};
use crate::failure::Failure;
use crate::id::{MessageId, OrderKey, Tenant, Topic};
use crate::payload::Payload;
use crate::time::{Roll, Timestamp};

const NOW: Timestamp = Timestamp::from_micros(1_000_000_000);

fn policy() -> DeliveryPolicy {
    DeliveryPolicy {
        attempts_max: 3,
        losses_max: 2,
        backoff: Backoff::List {
            delays: [5, 50].map(Duration::from_secs).to_vec(),
            jitter: Jitter::None,
        },
        ..DeliveryPolicy::default()
    }
}

fn waits(seconds: u64, text: &str, failed: u32) -> NextDelivery {
    NextDelivery::Waiting {
        due_at: NOW.after(Duration::from_secs(seconds)),
        error: Some(text.into()),
        failed,
    }
}

fn parks(text: &str, failed: u32) -> NextDelivery {
    NextDelivery::Parked {
        at: NOW,
        error: text.into(),
        failed,
    }
}

#[test]
fn each_answer_of_a_sink_has_its_consequence() {
    let seconds = Duration::from_secs;
    let table = [
        (0, Failure::transient("reset"), waits(5, "reset", 1)),
        (1, Failure::transient("reset"), waits(50, "reset", 2)),
        (2, Failure::transient("reset"), parks("reset", 3)),
        (
            u32::MAX,
            Failure::transient("reset"),
            parks("reset", u32::MAX),
        ),
        // Nobody knows whether the sink has it: it is sent again under the same id.
        (0, Failure::unknown("silent"), waits(5, "silent", 1)),
        (2, Failure::unknown("silent"), parks("silent", 3)),
        (0, Failure::permanent("no such"), parks("no such", 1)),
        (
            0,
            Failure::retry_after(seconds(7), "busy"),
            waits(7, "busy", 1),
        ),
        (
            0,
            Failure::retry_after(seconds(2), "busy"),
            waits(5, "busy", 1),
        ),
        (
            0,
            Failure::retry_after(Duration::MAX, "busy"),
            waits(24 * 60 * 60, "busy", 1),
        ),
        // Turned away before anything happened: nothing is used up, however often.
        (
            2,
            Failure::rate_limited(seconds(70), "429"),
            waits(70, "429", 2),
        ),
        (2, Failure::cancelled("drain"), waits(50, "drain", 2)),
    ];
    for (failed, failure, expected) in table {
        let next = delivered_or_not(Err(failure.clone()), failed, &policy(), NOW, Roll(0));
        assert_eq!(next, expected, "{failed} {failure:?}");
    }
    let proof = Proof::new("partition 3, offset 17");
    assert_eq!(
        delivered_or_not(Ok(proof.clone()), 2, &policy(), NOW, Roll(0)),
        NextDelivery::Delivered { at: NOW, proof }
    );
}

#[test]
fn a_message_that_kills_its_holders_is_parked() {
    assert_eq!(lost_too_often(1, 1, &policy(), NOW), None);
    let text = "its holder was lost 2 times while it was being delivered";
    assert_eq!(lost_too_often(1, 2, &policy(), NOW), Some(parks(text, 1)));
}

#[test]
fn every_fault_of_a_policy_is_reported_at_once() {
    assert_eq!(DeliveryPolicy::default().validate(), Vec::<String>::new());
    let unsound = DeliveryPolicy {
        timeout: Duration::ZERO,
        lease: Duration::ZERO,
        attempts_max: 0,
        losses_max: 1,
        concurrency: 0,
        per_key_max: PER_KEY_MAX + 1,
        ..DeliveryPolicy::default()
    };
    assert_eq!(unsound.validate().len(), 6, "{:?}", unsound.validate());
}

#[test]
fn a_message_is_the_same_by_what_it_says() {
    let message = Message {
        id: MessageId::new("m-1").unwrap(),
        tenant: Tenant::single(),
        topic: Topic::new("order.paid").unwrap(),
        key: Some(OrderKey::new("o-1").unwrap()),
        payload: Payload::parse(r#"{"a":1,"b":2}"#).unwrap(),
        trace: None,
        appended_at: NOW,
    };
    let later = Message {
        payload: Payload::parse(r#"{"b":2, "a":1}"#).unwrap(),
        appended_at: NOW.after(Duration::from_secs(9)),
        ..message.clone()
    };
    assert!(message.same_as(&later));
    let others = [
        Message {
            key: None,
            ..message.clone()
        },
        Message {
            topic: Topic::new("order").unwrap(),
            ..message.clone()
        },
        Message {
            payload: Payload::null(),
            ..message.clone()
        },
        Message {
            tenant: Tenant::new("b").unwrap(),
            ..message.clone()
        },
    ];
    for other in others {
        assert!(!message.same_as(&other), "{other:?}");
    }
}

#[test]
fn each_state_has_its_word() {
    for name in DeliveryStateName::ALL {
        assert_eq!(DeliveryStateName::parse(name.as_str()), Some(name));
    }
    assert_eq!(DeliveryStateName::parse("lost"), None);
}

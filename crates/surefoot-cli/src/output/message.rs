//! Messages, their deliveries and sinks for people.

use surefoot_core::message::{Delivery, DeliveryState};
use surefoot_core::port::{DeliveryOrder, MessageRecord, ParkedDelivery, SinkDepth};

use super::table::{Table, plain};
use super::time::utc;

/// All that is on record about a message.
pub(crate) fn message_text(record: &MessageRecord) -> String {
    let message = &record.message;
    let mut lines = vec![
        format!("message   {}", message.id),
        format!("tenant    {}", message.tenant),
        format!("topic     {}", message.topic),
    ];
    lines.extend(message.key.iter().map(|key| format!("key       {key}")));
    lines.push(format!("appended  {}", utc(message.appended_at)));
    lines.push(format!("payload   {}", plain(message.payload.as_str())));
    let mut text = lines.join("\n");
    text.push_str(&match deliveries(&record.deliveries) {
        Some(table) => format!("\n\ndeliveries\n{}", table.text()),
        None => "\n\nno sink has it or waits for it; a sink that comes later gets it where it begins with what is kept".to_owned(),
    });
    if let Some(table) = orders(&record.orders) {
        text.push_str(&format!("\n\nwhat people did\n{}", table.text()));
    }
    text
}

fn deliveries(deliveries: &[Delivery]) -> Option<Table> {
    let mut table = Table::new(["sink", "state", "failed", "lost", "when", "what"]).wrapping_last();
    for delivery in deliveries {
        let (when, what) = state_in_words(&delivery.state);
        table.row([
            delivery.sink.to_string(),
            delivery.state.name().as_str().to_owned(),
            delivery.failed.to_string(),
            delivery.lost.to_string(),
            when,
            what,
        ]);
    }
    (!deliveries.is_empty()).then_some(table)
}

/// What a state's time is, and what there is to say about it.
fn state_in_words(state: &DeliveryState) -> (String, String) {
    match state {
        DeliveryState::Waiting { due_at, error } => (
            format!("due {}", utc(*due_at)),
            error.as_ref().map(ToString::to_string).unwrap_or_default(),
        ),
        DeliveryState::Taken {
            holder,
            lease_until,
            ..
        } => (format!("until {}", utc(*lease_until)), holder.to_string()),
        DeliveryState::Delivered { at, proof } => (utc(*at), proof.as_str().to_owned()),
        DeliveryState::Parked { at, error } => (utc(*at), error.to_string()),
        DeliveryState::Skipped { at, by } => (utc(*at), format!("{}: {}", by.actor, by.reason)),
    }
}

fn orders(orders: &[DeliveryOrder]) -> Option<Table> {
    let mut table = Table::new(["when", "sink", "what", "by", "why"]);
    for order in orders {
        table.row([
            utc(order.at),
            order.sink.to_string(),
            order.verb.as_str().to_owned(),
            order.by.actor.to_string(),
            order.by.reason.to_string(),
        ]);
    }
    (!orders.is_empty()).then_some(table)
}

/// A line for each parked delivery.
pub(crate) fn parked_table(parked: &[ParkedDelivery]) -> String {
    if parked.is_empty() {
        return "nothing is parked".to_owned();
    }
    let mut table = Table::new([
        "message", "sink", "tenant", "topic", "key", "parked", "failed", "lost", "why",
    ]);
    for one in parked {
        let message = &one.message;
        table.row([
            message.id.to_string(),
            one.delivery.sink.to_string(),
            message.tenant.to_string(),
            message.topic.to_string(),
            message
                .key
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            utc(one.at),
            one.failed.to_string(),
            one.lost.to_string(),
            one.error.to_string(),
        ]);
    }
    table.text()
}

/// A line for each sink.
pub(crate) fn sinks_table(depths: &[SinkDepth]) -> String {
    if depths.is_empty() {
        return "no sink is on record; a relay puts its sinks there when it starts".to_owned();
    }
    let mut table = Table::new([
        "sink",
        "waiting",
        "taken",
        "parked",
        "oldest",
        "oldest parked",
    ]);
    for depth in depths {
        table.row([
            depth.sink.to_string(),
            depth.waiting.to_string(),
            depth.taken.to_string(),
            depth.parked.to_string(),
            depth.oldest.map(utc).unwrap_or_default(),
            depth.oldest_parked.map(utc).unwrap_or_default(),
        ]);
    }
    table.text()
}

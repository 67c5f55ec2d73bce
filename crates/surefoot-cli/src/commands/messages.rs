//! `messages`: the outbox, what is parked in it, and what a person does about that.

use serde_json::json;
use surefoot_core::id::{MessageId, SinkName, Tenant};
use surefoot_core::message::{DeliveryStateName, Message};
use surefoot_core::payload::Payload;
use surefoot_core::port::{
    Appended, DeliveryId, DeliverySteered, DeliveryVerb, MessageRecord, Messages,
};
use surefoot_core::time::Timestamp;
use surefoot_server::documents;
use surefoot_store::Ports;

use super::database::Place;
use crate::args::{AppendArgs, MessagesCommand, ParkedArgs, SteerArgs, WhichArgs};
use crate::exit::{Code, Failed};
use crate::output::{Output, message_text, parked_table, sinks_table};

pub(super) async fn run(
    place: &Place,
    command: MessagesCommand,
    output: Output,
) -> Result<(), Failed> {
    match command {
        MessagesCommand::Append(args) => {
            let payload = args.payload.read()?.unwrap_or_else(Payload::null);
            append(&place.existing_ports().await?, args, payload, output).await
        }
        MessagesCommand::Show { which } => {
            let ports = place.existing_ports().await?;
            let record = known(&*ports.messages, &which).await?;
            output.answer(&documents::message(&record), || message_text(&record))?;
            Ok(())
        }
        MessagesCommand::Parked(args) => {
            parked(&*place.existing_ports().await?.messages, &args, output).await
        }
        MessagesCommand::Again(args) => steer(place, &args, DeliveryVerb::Again, output).await,
        MessagesCommand::Skip(args) => steer(place, &args, DeliveryVerb::Skip, output).await,
        MessagesCommand::Sinks => {
            let depths = place
                .existing_ports()
                .await?
                .messages
                .message_depth()
                .await?;
            output.answer(&documents::sinks(&depths), || sinks_table(&depths))?;
            Ok(())
        }
    }
}

async fn append(
    ports: &Ports,
    args: AppendArgs,
    payload: Payload,
    output: Output,
) -> Result<(), Failed> {
    let message = Message {
        id: args.which.id.clone(),
        tenant: args.which.tenant.clone(),
        topic: args.topic,
        key: args.key,
        payload,
        trace: None,
        appended_at: ports.store.database_now().await?,
    };
    let messages = &*ports.messages;
    let appended = messages.append(std::slice::from_ref(&message)).await?;
    let Some(appended) = appended.first().copied() else {
        return Err(Failed::new(Code::Failed, "the append answered nothing", ""));
    };
    let (outcome, said) = match appended {
        Appended::Written(_) => ("written", "appended"),
        Appended::Already(_) => ("already", "had appended already:"),
        Appended::Conflict(_) => {
            let what = format!(
                "the id belongs to a message with another topic, key or payload: {}; nothing was appended",
                message.id
            );
            return Err(Failed::new(Code::Refused, what, see(&args.which)));
        }
    };
    let unwanted = unwanted(messages, &args.which, &message).await?;
    let document = json!({
        "outcome": outcome,
        "id": message.id.to_string(),
        "tenant": message.tenant.to_string(),
        "number": appended.number().0,
    });
    output.answer(&document, || {
        format!("{said} message {}{unwanted}", message.id)
    })?;
    Ok(())
}

/// A remark where no sink gets the message, as under a topic with a typing error.
async fn unwanted(
    messages: &dyn Messages,
    which: &WhichArgs,
    message: &Message,
) -> Result<String, Failed> {
    let record = messages.message(&which.tenant, &which.id).await?;
    let goes_nowhere = record.is_some_and(|record| record.deliveries.is_empty());
    Ok(if goes_nowhere {
        format!(
            "\nno sink on record wants the topic {}: it goes to whichever is subscribed to it while it is kept",
            message.topic
        )
    } else {
        String::new()
    })
}

async fn parked(messages: &dyn Messages, args: &ParkedArgs, output: Output) -> Result<(), Failed> {
    let (sink, after) = (args.sink.as_ref(), args.after.as_ref());
    let parked = messages.parked(sink, after, args.limit + 1).await?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let shown = &parked[..parked.len().min(limit)];
    let more = shown.last().filter(|_| parked.len() > limit);
    output.answer(&documents::deliveries(&parked, args.limit), || {
        let table = parked_table(shown);
        match more {
            Some(last) => format!("{table}\n\nmore with: --after {}", last.delivery),
            None => table,
        }
    })?;
    Ok(())
}

async fn steer(
    place: &Place,
    args: &SteerArgs,
    verb: DeliveryVerb,
    output: Output,
) -> Result<(), Failed> {
    let by = args.by.by()?;
    let ports = place.existing_ports().await?;
    let (messages, now): (_, Timestamp) = (&*ports.messages, ports.store.database_now().await?);
    let (which, sink) = (&args.which, &args.sink);
    let delivery = DeliveryId {
        number: known(messages, which).await?.number,
        sink: sink.clone(),
    };
    let id = &which.id;
    let (answer, state, text) = match verb {
        DeliveryVerb::Again => (
            messages.again(&delivery, &by, now).await?,
            DeliveryStateName::Waiting,
            format!("message {id} is delivered to {sink} again, by the next look of a relay"),
        ),
        DeliveryVerb::Skip => (
            messages.skip(&delivery, &by, now).await?,
            DeliveryStateName::Skipped,
            format!("skipped message {id} at {sink}; those behind it under its key go on"),
        ),
    };
    match answer {
        DeliverySteered::Done => {}
        DeliverySteered::Refused(state) => {
            let state = state.as_str();
            let what =
                format!("message {id} is {state} at {sink}; only a parked delivery can be steered");
            return Err(Failed::new(Code::Refused, what, see(which)));
        }
        DeliverySteered::NotFound => return Err(no_such_delivery(which, sink)),
    }
    let document = json!({
        "id": id.to_string(),
        "tenant": which.tenant.to_string(),
        "sink": sink.to_string(),
        "state": state.as_str(),
    });
    output.answer(&document, || text)?;
    Ok(())
}

async fn known(messages: &dyn Messages, which: &WhichArgs) -> Result<MessageRecord, Failed> {
    let WhichArgs { id, tenant } = which;
    let found = messages.message(tenant, id).await?;
    found.ok_or_else(|| no_such_message(tenant, id))
}

fn no_such_message(tenant: &Tenant, id: &MessageId) -> Failed {
    Failed::new(
        Code::NotFound,
        format!("tenant {tenant} has no message {id}"),
        "name its tenant with --tenant; a message that was delivered is forgotten when its time is over; see what is parked with: surefoot messages parked",
    )
}

fn no_such_delivery(which: &WhichArgs, sink: &SinkName) -> Failed {
    Failed::new(
        Code::NotFound,
        format!("message {} has no delivery to {sink}", which.id),
        see(which),
    )
}

fn see(which: &WhichArgs) -> String {
    let WhichArgs { id, tenant } = which;
    format!("look at it with: surefoot messages show '{id}' --tenant {tenant}")
}

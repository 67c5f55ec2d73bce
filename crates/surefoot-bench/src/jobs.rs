//! The job that is measured: it does nothing, and is as wide as a small real one. The floors write rows of the same
//! width.

use serde::{Deserialize, Serialize};
use surefoot::{Client, Intent, Job};
use surefoot_core::id::{Key, Kind};
use surefoot_core::payload::Payload;

use crate::Outcome;

/// What a job carries beside its number, to be as wide as a small order: about 100 bytes.
const NOTE: &str =
    "four boxes of blue paint, to the back door, ring twice, and mind the dog in the yard";

/// A job that does nothing.
#[derive(Serialize, Deserialize)]
pub(crate) struct Noop {
    pub(crate) number: u64,
    note: String,
}

impl Noop {
    pub(crate) fn new(number: u64) -> Self {
        Self {
            number,
            note: NOTE.to_owned(),
        }
    }
}

impl Job for Noop {
    const KIND: &'static str = "noop";
    type Output = ();
}

/// The payload of a job, for the floors.
pub(crate) fn payload(number: u64) -> Outcome<String> {
    Ok(Payload::from_serialize(&Noop::new(number))?.into_string())
}

/// A job that is like no other.
pub(crate) fn intent(number: u64) -> Outcome<Intent> {
    Ok(Intent::new(
        Kind::new(Noop::KIND)?,
        Payload::from_serialize(&Noop::new(number))?,
    ))
}

/// A job under a key.
pub(crate) fn intent_with_key(number: u64) -> Outcome<Intent> {
    Ok(Intent {
        key: Some(Key::new(format!("order-{number:012}"))?),
        ..intent(number)?
    })
}

/// Hands in `count` jobs in calls of at most `batch`.
pub(crate) async fn enqueue(client: &Client, count: usize, batch: usize) -> Outcome<()> {
    let numbers: Vec<u64> = (0..count as u64).collect();
    for chunk in numbers.chunks(batch) {
        let intents = chunk
            .iter()
            .map(|number| intent(*number))
            .collect::<Outcome<Vec<_>>>()?;
        client.enqueue_many(intents).await?;
    }
    Ok(())
}

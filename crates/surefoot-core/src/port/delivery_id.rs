//! A delivery's name as text, as it is printed and read back: `NUMBER:SINK`. Messages have it from their store, so it must
//! never be made up from anything else.

use std::fmt;
use std::str::FromStr;

use super::DeliveryId;
use crate::id::SinkName;
use crate::message::MessageNumber;

/// A text that names no delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a delivery; it looks like 17:loyalty, the number of its message and its sink")]
pub struct DeliveryIdError;

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.number.0, self.sink)
    }
}

impl FromStr for DeliveryId {
    type Err = DeliveryIdError;

    fn from_str(text: &str) -> Result<Self, DeliveryIdError> {
        let (number, sink) = text.split_once(':').ok_or(DeliveryIdError)?;
        Ok(Self {
            number: MessageNumber(number.parse().map_err(|_| DeliveryIdError)?),
            sink: SinkName::new(sink).map_err(|_| DeliveryIdError)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_reads_back_and_nothing_else_does() {
        for sink in ["loyalty", "webhook:acme/1"] {
            let delivery = DeliveryId {
                number: MessageNumber(17),
                sink: SinkName::new(sink).unwrap(),
            };
            assert_eq!(delivery.to_string(), format!("17:{sink}"));
            assert_eq!(delivery.to_string().parse(), Ok(delivery));
        }
        for text in ["", "17", "17:", ":loyalty", "x:loyalty", "1:a b"] {
            assert_eq!(text.parse::<DeliveryId>(), Err(DeliveryIdError), "{text}");
        }
    }
}
